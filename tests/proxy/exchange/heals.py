"""A looping first answer and any second one, on every wire, streamed and whole: what the provider says, and what a
strict reader makes of what the client gets."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import aiohttp

from proxy.demo.script import Line, Say, ScriptedCall, ScriptedFinish, Think, words
from proxy.demo.voices import voice_for
from tests.readers import Answer
from tests.readers.anthropic_messages import read as read_messages
from tests.readers.openai_chat import read as read_chat
from tests.readers.openai_completions import read as read_completions
from tests.readers.openai_responses import read as read_responses
from tests.upstream import Step, Upstream, chunk, end, head, reset, whole

PATHS = {
    "openai_chat": "chat/completions",
    "anthropic_messages": "messages",
    "openai_responses": "responses",
    "openai_completions": "completions",
}
READERS = {
    "openai_chat": read_chat,
    "anthropic_messages": read_messages,
    "openai_responses": read_responses,
    "openai_completions": read_completions,
}
START = (
    "The lamp in the hall had gone dark, so I went down to the cellar and opened the old grey box. "
    "There were nine fuses in it, and eight of them were whole. "
)
UNIT = "I took the ninth one out and held it to the light of the window. "
REST = (
    "Its wire had melted, so I put a new one of ten amperes in its place and closed the box again. Upstairs the lamp "
    "was burning, somebody had begun to cook, and the cat slept on the warm radiator as if nothing had been wrong."
)
THOUGHT = "Wait, the user asked for the date, so maybe I should think about the time zone first. "
COPIES = 30


def body(wire: str, stream: bool, **more: Any) -> dict[str, Any]:
    """A request of this wire."""
    turn = {"role": "user", "content": "Why was it dark?"}
    own: dict[str, dict[str, Any]] = {
        "openai_chat": {"messages": [turn]},
        "anthropic_messages": {"messages": [turn], "max_tokens": 4000},
        "openai_responses": {"input": "Why was it dark?", "store": False},
        "openai_completions": {"prompt": "Why was it dark? "},
    }
    options = {"stream_options": {"include_usage": True}} if stream and wire.startswith("openai_c") else {}
    return {"model": "m", "stream": stream, "temperature": 0.2, **own[wire], **options, **more}


def loops() -> list[Line]:
    """Text that loops until its limit."""
    return [*words(START), *(w for _ in range(COPIES) for w in words(UNIT)), ScriptedFinish("length")]


def thinks() -> list[Line]:
    """Reasoning that loops until its limit."""
    return [Think("The date. "), *(Think(w.text) for _ in range(COPIES) for w in words(THOUGHT)), ScriptedFinish()]


def calls() -> list[Line]:
    """A call whose argument loops."""
    return [ScriptedCall("write", ('{"text": "', *[UNIT] * COPIES, '"}')), ScriptedFinish("tool_calls")]


def says(text: str, reason: str = "stop") -> list[Line]:
    """An answer of this text."""
    return [*words(text), ScriptedFinish(reason)]


def speaks(wire: str, ask: dict[str, Any], lines: Iterable[Line], number: int = 1) -> tuple[Step, ...]:
    """The provider's steps for these lines."""
    kind = voice_for("/v1/" + PATHS[wire])
    assert kind is not None
    voice = kind(ask, number)
    said = [voice.head()]
    reason, ended = "stop", False
    for line in lines:
        match line:
            case Say(text):
                said.append(voice.say(text))
            case Think(text):
                said.append(voice.think(text))
            case ScriptedCall(name, fragments):
                said += [voice.call(name, part, new=at == 0) for at, part in enumerate(fragments)]
            case ScriptedFinish(why):
                reason, ended = why, True
                said.append(voice.finish(why))
    if ask.get("stream"):
        return (head(), *(chunk(raw) for raw in said if raw), end() if ended else reset())
    return whole(voice.whole(reason)) if ended else (head(), reset())


@dataclass
class Got:
    """What the client got."""

    status: int
    raw: bytes
    answer: Answer | None
    """As a strict reader reads a stream; None for a whole answer."""
    body: dict[str, Any]
    """A whole answer."""

    @property
    def text(self) -> str:
        if self.answer is not None:
            return self.answer.text
        if "choices" in self.body:
            choice = self.body["choices"][0]
            return str(choice["text"] if "text" in choice else choice["message"].get("content") or "")
        if "output" in self.body:
            return "".join(p["text"] for i in self.body["output"] if i["type"] == "message" for p in i["content"])
        return "".join(block.get("text", "") for block in self.body["content"])

    @property
    def marker(self) -> dict[str, Any]:
        told = self.answer.marker if self.answer is not None else self.body.get("streamfuse")
        return told or {}

    @property
    def result(self) -> str:
        return str(self.marker.get("heal", {}).get("result", ""))

    @property
    def end(self) -> str:
        if self.answer is not None:
            return self.answer.end.removeprefix("0:")
        if "choices" in self.body:
            return str(self.body["choices"][0]["finish_reason"])
        return str(self.body.get("stop_reason") or self.body.get("status"))

    @property
    def usage(self) -> dict[str, Any]:
        return (self.answer.usage if self.answer is not None else self.body.get("usage")) or {}


async def asks(
    port: int, client: aiohttp.ClientSession, wire: str, ask: dict[str, Any], headers: dict[str, str] | None = None
) -> Got:
    """Ask, and read what comes strictly."""
    url = f"http://127.0.0.1:{port}/v1/{PATHS[wire]}"
    async with client.post(url, json=ask, headers=headers or {}) as reply:
        raw = await reply.read()
        if reply.status != 200 or not ask.get("stream"):
            return Got(reply.status, raw, None, json.loads(raw))
        return Got(reply.status, raw, READERS[wire](raw), {})


QUIET = {
    "openai_chat": "stop",
    "openai_completions": "stop",
    "anthropic_messages": "end_turn",
    "openai_responses": "completed",
}
__all__ = ["Got", "Upstream", "asks", "body", "loops", "says", "speaks", "thinks"]
