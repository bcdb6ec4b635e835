"""The provider that real agents talk to in these tests: it plays a plot, and remembers all that was asked of it."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from proxy.demo.script import Break, End, Line, Say, ScriptedCall, ScriptedFault, ScriptedFinish, Think, play, words
from proxy.demo.voices import voice_for

ANSWER = "All is well: ANSWER-7421."
LOOPING = " Let me check the file again to be sure that the change is right."
SHELLS = ("bash", "shell", "exec_command", "run_command", "execute_command")


@dataclass
class Asked:
    """One request. `attempt` counts requests with the very same body, from 1."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    digest: str
    attempt: int
    chars: int = 0
    """Characters we spoke in answer."""
    gone: bool = False
    """The client left before our answer ended."""

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools offered, as {name, schema}, whatever the wire."""
        offered = []
        for tool in self.body.get("tools") or []:
            for inner in tool.get("functionDeclarations") or [tool.get("function") or tool]:
                named = ("parameters", "input_schema", "parametersJsonSchema")
                schema: Any = next((inner[name] for name in named if inner.get(name)), {})
                if inner.get("name"):
                    offered.append({"name": inner["name"], "schema": schema})
        return offered

    @property
    def shell(self) -> dict[str, Any] | None:
        """The tool that runs commands."""
        return next((tool for tool in self.tools if any(word in tool["name"].lower() for word in SHELLS)), None)

    @property
    def has_result(self) -> bool:
        """Does the history hold the result of a call of ours?"""
        results = b'"role":"tool"', b'"type":"function_call_output"', b'"type":"tool_result"', b'"functionResponse"'
        return any(mark in orjson.dumps(self.body) for mark in results)


Plot = Callable[[Asked], Iterable[Line]]


class Upstream:
    """A provider on loopback. The plot plays for main requests; side calls (titles, memory) get a short answer."""

    def __init__(self, plot: Plot, *, main: Callable[[Asked], bool]) -> None:
        """`main`: is this the request the test is about?"""
        self.plot = plot
        self.is_main = main
        self.asked: list[Asked] = []
        self._seen: Counter[str] = Counter()
        self._speaking = 0
        self._numbers = itertools.count(1)
        self._runner: web.AppRunner | None = None

    @property
    def main(self) -> list[Asked]:
        """The requests the plot was played for."""
        return [asked for asked in self.asked if self.is_main(asked)]

    async def start(self) -> str:
        """The root URL, without /v1."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, shutdown_timeout=0.5).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def settled(self) -> None:
        """Until every answer has ended: an upstream learns only at its next write that nobody listens any more."""
        for _ in range(200):
            if not self._speaking:
                return
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        voice = voice_for(request.path_qs)
        if voice is None or request.method != "POST":
            return web.json_response({"error": {"message": "not here", "type": "not_found_error"}}, status=404)
        body = orjson.loads(raw)
        digest = hashlib.sha1(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
        self._seen[digest] += 1
        asked = Asked(request.path_qs, body, dict(request.headers), digest, self._seen[digest])
        self.asked.append(asked)
        lines: Iterable[Line] = self.plot(asked) if self.is_main(asked) else _short()
        speaker = voice(body, next(self._numbers))
        self._speaking += 1
        try:
            return await play(request, speaker, lines)
        finally:
            self._speaking -= 1
            asked.chars = len(speaker.text) + len(speaker.thoughts) + sum(len(call[1]) for call in speaker.calls)
            asked.gone = speaker.left


def _short() -> Iterator[Line]:
    yield Say("A title")
    yield ScriptedFinish()


def answer() -> Iterator[Line]:
    """A good, final answer."""
    yield from words(ANSWER)
    yield ScriptedFinish()


def arguments(schema: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Arguments that satisfy a shell tool's schema: the command where it belongs, something harmless elsewhere."""
    fields = schema.get("properties") or {}
    target = next((name for name in fields if name.startswith(("command", "cmd"))), next(iter(fields)))
    made: dict[str, Any] = {}
    for name in dict.fromkeys([target, *(schema.get("required") or [])]):
        kind = fields.get(name, {}).get("type")
        value: Any = command if name == target else "touch a file"
        made[name] = {"array": [value], "boolean": False, "number": 10, "integer": 10}.get(kind, value)
    return made


def calls(command: str) -> Plot:
    """The model runs one command, sees its result, and answers."""

    def plot(asked: Asked) -> Iterator[Line]:
        if asked.shell is None or asked.has_result:
            yield from answer()
            return
        text = orjson.dumps(arguments(asked.shell["schema"], command)).decode()
        yield Say("I will do it now.")
        yield ScriptedCall(asked.shell["name"], tuple(text[at : at + 7] for at in range(0, len(text), 7)))
        yield ScriptedFinish("tool_calls")

    return plot


def loops(asked: Asked) -> Iterator[Line]:
    """The model repeats a sentence until its limit."""
    yield from words("I will make the change now.")
    for _ in range(400):
        yield from words(LOOPING)
    yield ScriptedFinish("length")


def circles(asked: Asked) -> Iterator[Line]:
    """The model thinks in circles until its limit, and never says a word."""
    yield Think("The user wants something.")
    for _ in range(400):
        yield from (Think(say.text) for say in words(LOOPING))
    yield ScriptedFinish("length")


def once(trouble: Iterable[Line], then: Plot) -> Plot:
    """Every request of one body meets trouble the first time, and never again."""

    def plot(asked: Asked) -> Iterable[Line]:
        return trouble if asked.attempt == 1 else then(asked)

    return plot


def half_call(command: str, end: Iterable[Line]) -> Plot:
    """The first call is cut in the middle of its arguments, right after a command that would run if repaired."""

    def plot(asked: Asked) -> Iterator[Line]:
        if asked.shell is None or asked.attempt > 1 or asked.has_result or _was_told(asked):
            yield from answer()
            return
        text = orjson.dumps(arguments(asked.shell["schema"], command)).decode()
        cut = text[: text.index(command) + len(command)]
        yield ScriptedCall(asked.shell["name"], tuple(cut[at : at + 7] for at in range(0, len(cut), 7)))
        yield from end

    return plot


def _was_told(asked: Asked) -> bool:
    """Is this a later turn, with an answer of ours in its history?"""
    turns = asked.body.get("messages") or asked.body.get("input") or []
    return any(isinstance(turn, dict) and turn.get("role") == "assistant" for turn in turns)


ENDS: dict[str, tuple[Line, ...]] = {
    "stop": (ScriptedFinish("stop"),),
    "tool_calls": (ScriptedFinish("tool_calls"),),
    "length": (ScriptedFinish("length"),),
    "fault": (ScriptedFault(),),
    "eof": (End(),),
    "reset": (Break(),),
}
"""The ways in which an upstream leaves a call half done."""
