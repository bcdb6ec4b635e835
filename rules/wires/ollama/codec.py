"""One streamed answer of Ollama: each line is one piece of text, of thinking, or whole tool calls; the last has `done`.

Members: https://docs.ollama.com/api/chat and https://docs.ollama.com/api/generate. The two calls differ in where the
text stands: `message.content` and `message.thinking`, or `response` and `thinking`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from ...framing.ndjson import encode
from ...framing.varied import Varied
from ...values.delta import (
    Block,
    Channel,
    Close,
    Delta,
    Done,
    Fault,
    Finish,
    Head,
    Malformed,
    Open,
    Piece,
    Unknown,
    Usage,
)
from ...values.failures import Failure
from ..base import Ask, Codec, Ending, Misshapen
from ..error_shapes import sent_error
from ..said import Lost, Said

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript

TEXT: Final[Block] = (0, "text")
THINKING: Final[Block] = (0, "thinking")
COUNTS: Final = (
    "total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration",
)  # fmt: skip
"""Tokens, and nanoseconds."""
PROGRESS: Final = ("completed", "total")
"""Members of a line that tells how far an image has come; it has no text."""
CREATED: Final = re.compile(rb'"created_at": ?"([^"\\]*)"')
"""The time of a line, which differs in each."""
_LAST: Final = frozenset({"done_reason", "context", *COUNTS})
"""Members of the last line alone."""
_SILENT: Final = frozenset({"role", "content", "thinking", "tool_calls", "tool_name"})


class OllamaCodec(Codec):
    """Reads lines, ends streams. There is one choice."""

    strips = divides = True

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._headed = False
        self._spliced = False
        self._calls = 0
        self._template = Varied(CREATED)

    # reading -----------------------------------------------------------------------------------------------
    @property
    def quick(self) -> Callable[[bytes], Piece | None] | None:
        return None if self._spliced else self._template.match

    def read(self, event: Event) -> Sequence[Delta]:
        if event.data is None:
            return ()
        piece = self._template.match(event.raw)
        if piece is not None:
            self.again = True
            return (piece,)
        self.again = False
        body = event.json
        if type(body) is not dict:
            return (Malformed("not a JSON object", event.unreadable),)
        if body.get("error"):
            return (_fault(body),)
        message = body.get("message")
        if message is None and "response" not in body and body.get("done") is not True:
            if not body.keys().isdisjoint(PROGRESS):
                return (Piece(TEXT, Channel.TEXT, ""),)
            damaged = not body or "model" in body or "done" in body
            return (Malformed("no message", bool(body)) if damaged else Unknown("line"),)
        try:
            return self._line(event, body, message)
        except Misshapen as why:
            return (Malformed(str(why), True),)

    def _line(self, event: Event, body: dict[str, Any], message: Any) -> Sequence[Delta]:
        deltas: list[Delta] = []
        if not self._headed:
            self._headed = True
            head = {name: body[name] for name in ("model", "created_at") if type(body.get(name)) is str}
            deltas.append(Head({**head, "generates": message is None}))
        if message is not None and type(message) is not dict:
            raise Misshapen("the message is not an object")
        said = body if message is None else message
        thinking, text = said.get("thinking"), said.get("response" if message is None else "content")
        if (thinking and type(thinking) is not str) or (text and type(text) is not str):
            raise Misshapen("a text is no text")
        if thinking:
            deltas.append(Piece(THINKING, Channel.REASONING, thinking))
        if text or not (thinking or said.get("tool_calls")):
            deltas.append(Piece(TEXT, Channel.TEXT, text or ""))
        if message is not None:
            self._tools(message, deltas)
        if body.get("done") is True:
            counts = {name: body[name] for name in COUNTS if type(body.get(name)) is int}
            if counts:
                deltas.append(Usage(counts))
            if body.get("image"):
                deltas.append(Unknown("image"))
            reason = body.get("done_reason")
            deltas += [Finish(0, reason if type(reason) is str and reason else "stop"), Done()]
        elif len(deltas) == 1 and type(deltas[0]) is Piece and deltas[0].text:
            self._template.learn(event.raw, deltas[0])
        return deltas

    def _tools(self, message: dict[str, Any], deltas: list[Delta]) -> None:
        calls = message.get("tool_calls")
        if calls and type(calls) is not list:
            raise Misshapen("the tool calls are no list")
        for call in calls or ():
            function = call.get("function") if type(call) is dict else None
            if type(function) is not dict:
                raise Misshapen("a tool call without a function")
            name, arguments = function.get("name"), function.get("arguments")
            if type(arguments) not in (dict, str, type(None)):
                raise Misshapen("arguments are no object")
            block = (0, f"tool:{self._calls}")
            self._calls += 1
            deltas.append(Open(block, Channel.TOOL, name if type(name) is str else ""))
            deltas.append(Piece(block, Channel.TOOL, written(arguments)))
            deltas.append(Close(block))
        deltas += [Unknown(name) for name, value in message.items() if value and name not in _SILENT]

    # writing -----------------------------------------------------------------------------------------------
    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        body = event.json if self._spliced and self.shown is not None and event.data is not None else None
        if type(body) is not dict or self.shown is None:
            return event.raw
        changed = {"model": self.shown.head["model"]} if "model" in self.shown.head and "model" in body else {}
        if self.shown.earlier and type(body.get("eval_count")) is int:
            changed["eval_count"] = body["eval_count"] + self.shown.earlier
        if any(body[name] != value for name, value in changed.items()):
            event.rewrite({**body, **changed})
        return event.raw

    def splice(self, transcript: Transcript) -> None:
        self.bind(transcript)
        self._spliced = self._headed = True
        self._calls = sum(shape.channel is Channel.TOOL for shape in transcript.shapes.values())

    def only(self, event: Event, deltas: Sequence[Delta], wanted: Sequence[Delta | None]) -> Event | None:
        """The calls of a line stand behind its text, and what was not read of the message behind them."""
        part = event.copy()
        body = {name: value for name, value in part.json.items() if name not in _LAST}
        chats = type(body.get("message")) is dict
        said = dict(body["message"]) if chats else body
        left = Said(deltas, wanted)
        try:
            for name, needed in (("thinking", False), ("content" if chats else "response", not said.get("tool_calls"))):
                if said.get(name) or (needed and not said.get("thinking")):
                    said[name] = left.text(said.get(name)) or ""
            if chats:
                said["tool_calls"] = [call for call in said.get("tool_calls") or () if left.next() is not None]
                others = [name for name, value in said.items() if value and name not in _SILENT]
                gone = {name for name in others if left.next() is None}
                gone |= set() if said["tool_calls"] else {"tool_calls"}
                body["message"] = {name: value for name, value in said.items() if name not in gone}
        except Lost:
            return None
        part.rewrite({**body, "done": False})
        return part

    def _shorten(self, body: Any, chars: int) -> None:
        if type(body.get("message")) is dict:
            body["message"]["content"] = body["message"]["content"][chars:]
        else:
            body["response"] = body["response"][chars:]

    def lead_in(self, event: Event, deltas: Sequence[Delta], lead: str) -> Sequence[Delta]:
        body = event.json
        body["message"]["content"] = lead + (body["message"].get("content") or "")
        event.rewrite(body)
        return [Piece(TEXT, Channel.TEXT, lead), *deltas]

    def _lead(self, body: Any, text: str) -> None:
        if type(body.get("message")) is dict:
            body["message"]["content"] = text + body["message"]["content"] if body["message"].get("content") else ""
        elif body.get("response"):
            body["response"] = text + body["response"]

    def quieten(self, event: Event, choice: int, marker: Mapping[str, Any]) -> str:
        event.rewrite({**event.json, "done_reason": "stop", "streamfuse": dict(marker)})
        return "stop"

    # ending ------------------------------------------------------------------------------------------------
    def close_choice(self, transcript: Transcript, choice: int, ending: Ending) -> bytes:
        """The notice; the finish of the only choice is the last line itself."""
        return b"" if not ending.notice else self._line_of_ours(transcript, self._notice(transcript, ending))

    def close(self, transcript: Transcript, ending: Ending) -> bytes:
        if transcript.done or transcript.fault:
            return b""
        more: dict[str, Any] = {"done": True, "done_reason": ending.finish or "stop", **(transcript.usage or {})}
        if ending.marker:
            more["streamfuse"] = dict(ending.marker)
        return self._line_of_ours(transcript, self._notice(transcript, ending), more)

    def fail(self, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None) -> bytes:
        """A line with `error`: ollama-python and ollama-js raise at it, and nothing may follow."""
        if transcript.done or transcript.fault:
            return b""
        more = {"streamfuse": dict(marker)} if marker else {}
        _, beside = sent_error(failure)
        return encode(orjson.dumps({**beside, "error": failure.message or "The upstream failed.", **more}))

    def heartbeat(self, started: bool) -> bytes:
        """White space before the next line, which JSON allows. An empty line makes ollama-python fail."""
        return b" "

    @staticmethod
    def _notice(transcript: Transcript, ending: Ending) -> str:
        if not ending.notice:
            return ""
        return f"\n\n{ending.notice}" if transcript.text() or _texted(transcript) else ending.notice

    def _line_of_ours(self, transcript: Transcript, text: str, more: Mapping[str, Any] | None = None) -> bytes:
        head = transcript.head
        generates = head.get("generates", generate(self._ask))
        said = {"response": text} if generates else {"message": {"role": "assistant", "content": text}}
        known = {"model": head.get("model") or self._ask.model, "created_at": head.get("created_at") or EPOCH}
        return encode(orjson.dumps({**known, **said, "done": False, **(more or {})}))


EPOCH: Final = "1970-01-01T00:00:00Z"
"""The time in a line of ours where the upstream has told none: the engine has no clock."""


def generate(ask: Ask) -> bool:
    """Is this a call of /api/generate?"""
    return "/generate" in ask.call.partition("?")[0] or ("messages" not in ask.body and "prompt" in ask.body)


def written(arguments: Any) -> str:
    """The arguments of a call as JSON text."""
    if type(arguments) is str:
        return arguments
    return orjson.dumps(arguments if arguments is not None else {}).decode()


def _texted(transcript: Transcript) -> bool:
    return any(shape.block == TEXT and shape.chars for shape in transcript.shapes.values())


def _fault(body: Mapping[str, Any]) -> Fault:
    error = body["error"]
    if type(error) is dict:  # a gateway that writes OpenAI's errors
        return Fault(error.get("code") or error.get("type"), str(error.get("message") or error), body)
    code = body.get("code", body.get("StatusCode"))
    # A refusal comes as a status: what fails inside an answer is the runner.
    return Fault(code if type(code) in (int, str) else 500, str(error), body)
