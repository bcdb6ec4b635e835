"""A provider that needs no key and no network: the model's name says which trouble it plays, on every wire."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from .script import Break, Line, Refuse, Say, ScriptedCall, ScriptedFinish, Think, play, words
from .voices import voice_for

CLEAN = (
    "A fuse sits between the socket and the lamp. It does nothing for years, and that is its job: "
    "when the current runs away, it opens, and the house does not burn. Then you look at what happened."
)
LOOPING = " Let me check the file again to be sure that the change is right."
THINKING = " Wait, the user asked for the date. But maybe I should think about the time zone first."
ENDLESS = 160
"""Copies of a looping sentence; about 10,000 characters, past which even the demo's patience ends."""


def clean(_: int, __: Mapping[str, Any]) -> Iterator[Line]:
    """A good answer."""
    yield from words(CLEAN)
    yield ScriptedFinish()


def loop(_: int, __: Mapping[str, Any]) -> Iterator[Line]:
    """An answer that falls into a loop and runs until its limit."""
    yield from words("I will make the change now.")
    for _copy in range(ENDLESS):
        yield from words(LOOPING)
    yield ScriptedFinish("length")


def think(_: int, __: Mapping[str, Any]) -> Iterator[Line]:
    """Reasoning that goes round in circles and never comes to an answer."""
    yield Think("The user wants to know the date.")
    for _copy in range(ENDLESS):
        yield from (Think(say.text) for say in words(THINKING))
    yield ScriptedFinish("length")


def busy(attempt: int, ask: Mapping[str, Any]) -> Iterator[Line]:
    """Rate limited, every other time."""
    if attempt % 2:
        yield Refuse(429, {"Retry-After": "1"}, "Rate limit reached. Please try again in 1s.")
    else:
        yield from clean(attempt, ask)


def dies(attempt: int, ask: Mapping[str, Any]) -> Iterator[Line]:
    """The connection breaks right after the answer has begun, every other time."""
    yield from [Break()] if attempt % 2 else clean(attempt, ask)


def tool(_: int, ask: Mapping[str, Any]) -> Iterator[Line]:
    """The same tool call again and again, whatever its result says."""
    tools = ask.get("tools") or [{"name": "read_file"}]
    named = tools[0].get("function") or tools[0]
    yield Say("Reading the file.")
    yield ScriptedCall(str(named.get("name") or "read_file"), ('{"path":', ' "notes.txt"}'))
    yield ScriptedFinish("tool_calls")


MODELS = {"clean": clean, "loop": loop, "think": think, "busy": busy, "dies": dies, "tool": tool}
"""Model name → what it plays, from the number of the attempt (1, 2, …) and the request's body."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer as the provider saw it: `chars` it spoke (and would bill); `gone`: the client left before the end."""

    model: str
    status: int
    chars: int
    gone: bool


class ScriptedProvider:
    """The aiohttp application, and a count of what was asked of it."""

    def __init__(self, *, pace: float = 0.004) -> None:
        """`pace`: seconds between pieces (0.004: some 250 words a second)."""
        self.pace = pace
        self.attempts: Counter[str] = Counter()
        self.answers: list[Answered] = []
        self.speaking = 0
        """Answers not yet at their end."""
        self._numbers = itertools.count(1)
        self._runner: web.AppRunner | None = None

    async def start(self, port: int = 0) -> str:
        """Listen on loopback; the base URL, with /v1. Raises OSError where the port is taken."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, shutdown_timeout=0.5)
        await site.start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        """End it, with whatever answers still run."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        voice = voice_for(request.path_qs)
        if request.path.endswith("/models"):
            data = [{"id": name, "object": "model", "created": 1700000000, "owned_by": "demo"} for name in MODELS]
            return web.json_response({"object": "list", "data": data})
        try:
            ask = orjson.loads(raw)
        except orjson.JSONDecodeError:
            ask = None
        if voice is None or not isinstance(ask, dict):
            return web.json_response({"error": {"message": "no such thing here", "type": "not_found"}}, status=404)
        model = str(ask.get("model"))
        self.attempts[model] += 1
        lines: Iterable[Line] = MODELS.get(model, clean)(self.attempts[model], ask)
        speaker = voice(ask, next(self._numbers))
        self.speaking += 1
        try:
            response = await play(request, speaker, lines, pace=self.pace)
        finally:
            self.speaking -= 1
        spoken = len(speaker.text) + len(speaker.thoughts)
        self.answers.append(Answered(model, response.status, spoken, speaker.left))
        return response
