"""What a forgiving client makes of a stream, on every wire and in every framing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from .forms import ARRAY, LINES
from .healthy import WIRES


@dataclass
class Understood:
    """What a forgiving client makes of a stream."""

    text: str = ""
    thought: str = ""
    calls: dict[Any, str] = field(default_factory=dict)
    """Arguments of each call, as its fragments came."""
    finish: str | None = None
    error: Any = None
    done: bool = False
    """The wire's own last event came."""
    faults: list[str] = field(default_factory=list)
    """What breaks the wire's grammar."""

    @property
    def failed(self) -> bool:
        return bool(self.error) or self.finish == "error"


def events(raw: bytes) -> tuple[list[tuple[str, str]], bool]:
    """((name, data) of each event by the SSE standard, whether an unfinished one is left at the end)."""
    found: list[tuple[str, str]] = []
    data: list[str] = []
    name = ""
    lines = re.split("\r\n|\n|\r", raw.decode(errors="replace"))
    for line in lines[:-1]:
        if not line:
            if data:
                found.append((name, "\n".join(data)))
            name, data = "", []
        elif not line.startswith(":"):
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "event":
                name = value
            elif key == "data":
                data.append(value)
    return found, bool(data or lines[-1])


def elements(raw: bytes) -> tuple[list[tuple[str, str]], bool]:
    """As `events`, of a JSON array."""
    found: list[tuple[str, str]] = []
    text, at = raw.decode(errors="replace"), 0
    while at < len(text):
        if text[at] in "\ufeff[, \t\r\n":
            at += 1
            continue
        try:
            _, end = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(("", text[at:end]))
        at = end
    return found, text[at:].strip() != "]"


def lines(raw: bytes) -> tuple[list[tuple[str, str]], bool]:
    """As `events`, of one object a line."""
    *whole, rest = raw.decode(errors="replace").split("\n")
    return [("", line) for line in whole if line.strip()], bool(rest)


def without_bare_error(raw: bytes) -> bytes:
    """Google's server-sent events, without the bare error that may stand at their end: no reader of events sees it."""
    return re.sub(rb'(?<=\n)\{"error":.*\Z', b"", raw, flags=re.DOTALL)


def understand(wire: str, raw: bytes) -> Understood:
    """Read a stream of this wire."""
    seen = Understood()
    if wire == "gemini":
        raw = without_bare_error(raw)
    found, unfinished = {LINES.kind: lines, ARRAY.kind: elements}.get(WIRES[wire].form.kind, events)(raw)
    if unfinished:
        seen.faults.append("the last event is not ended")
    read: Any = {
        "anthropic_messages": _Message,
        "openai_responses": _Response,
        "ollama": _Spoken,
        "gemini": _Candidate,
        "gemini_array": _Candidate,
    }.get(wire, _Chunks)(seen)
    for name, data in found:
        if seen.done:
            seen.faults.append("an event after the end")
        if data == "[DONE]":
            seen.done = True
            continue
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = None
        if isinstance(body, dict):
            read(name, body)
        else:
            seen.faults.append("an event that is no object")
    if isinstance(read, _Candidate):
        read.ended(unfinished)
    return seen


class _Chunks:
    def __init__(self, seen: Understood) -> None:
        self.seen = seen

    def __call__(self, name: str, body: dict[str, Any]) -> None:
        seen = self.seen
        seen.error = seen.error or body.get("error")
        for choice in body.get("choices") or ():
            delta = choice.get("delta") or {}
            text = choice.get("text") or delta.get("content") or ""
            if text and seen.finish:
                seen.faults.append("text after the finish")
            seen.text += text
            seen.thought += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls") or ():
                key = (choice.get("index"), call.get("index"))
                seen.calls[key] = seen.calls.get(key, "") + ((call.get("function") or {}).get("arguments") or "")
            if choice.get("finish_reason"):
                if seen.finish:
                    seen.faults.append("a second finish")
                seen.finish = choice["finish_reason"]


class _Message:
    def __init__(self, seen: Understood) -> None:
        self.seen, self.begun, self.open, self.ever = seen, False, set[int](), set[int]()

    def __call__(self, name: str, body: dict[str, Any]) -> None:
        seen, kind, at = self.seen, body.get("type"), body.get("index", -1)
        if kind != name:
            seen.faults.append(f"{kind} under another name")
        if kind == "error":
            seen.error, seen.done = body["error"], True
        elif kind == "message_start":
            if self.begun:
                seen.faults.append("a second start")
            self.begun = True
        elif kind == "content_block_start":
            if at in self.ever:
                seen.faults.append("a block's index twice")
            self.ever.add(at)
            self.open.add(at)
            if body["content_block"]["type"] == "tool_use":
                seen.calls[at] = ""
        elif kind == "content_block_delta":
            if at not in self.open:
                seen.faults.append("a delta of a block that is not open")
            delta = body["delta"]
            seen.text += delta.get("text", "")
            seen.thought += delta.get("thinking", "")
            if "partial_json" in delta:
                seen.calls[at] = seen.calls.get(at, "") + delta["partial_json"]
        elif kind == "content_block_stop":
            self.open.discard(at)
        elif kind == "message_delta":
            if seen.finish:
                seen.faults.append("a second finish")
            seen.finish = body["delta"].get("stop_reason")
        elif kind == "message_stop":
            seen.done = True
            if self.open:
                seen.faults.append("the end with open blocks")


class _Response:
    def __init__(self, seen: Understood) -> None:
        self.seen, self.last, self.begun = seen, -1, False

    def __call__(self, name: str, body: dict[str, Any]) -> None:
        seen, kind, at = self.seen, body.get("type"), body.get("output_index")
        number = body.get("sequence_number")
        if number is not None:
            if number <= self.last:
                seen.faults.append("a sequence_number that does not rise")
            self.last = number
        if kind == "response.created":
            if self.begun:
                seen.faults.append("a second start")
            self.begun = True
        elif kind == "response.output_text.delta":
            seen.text += body["delta"]
        elif kind == "response.reasoning_summary_text.delta":
            seen.thought += body["delta"]
        elif kind == "response.output_item.added" and body["item"]["type"] == "function_call":
            seen.calls[at] = ""
        elif kind == "response.function_call_arguments.delta":
            seen.calls[at] = seen.calls.get(at, "") + body["delta"]
        elif kind in ("response.completed", "response.incomplete"):
            seen.finish, seen.done = kind.removeprefix("response."), True
        elif kind in ("response.failed", "error"):
            seen.error, seen.done = (body.get("response") or {}).get("error") or body, True


class _Spoken:
    """Ollama."""

    def __init__(self, seen: Understood) -> None:
        self.seen = seen

    def __call__(self, name: str, body: dict[str, Any]) -> None:
        seen, said = self.seen, body.get("message") or {}
        seen.text += said.get("content") or ""
        seen.thought += said.get("thinking") or ""
        for call in said.get("tool_calls") or ():
            seen.calls[len(seen.calls)] = json.dumps(call["function"]["arguments"])
        if body.get("error"):
            seen.error, seen.done = body["error"], True
        elif body.get("done"):
            # `done` is the end. A reason that is no word is the server's own and passes, as it would directly.
            seen.finish, seen.done = body.get("done_reason") or "unknown", True


class _Candidate:
    """Gemini. Its streams have no end mark: the end of the body ends a candidate that has a finish reason."""

    def __init__(self, seen: Understood) -> None:
        self.seen, self.pieces = seen, dict[str, str]()
        self.open = False

    def __call__(self, name: str, body: dict[str, Any]) -> None:
        seen = self.seen
        if body.get("error"):
            seen.error, seen.done = body["error"], True
        for candidate in body.get("candidates") or ():
            for part in (candidate.get("content") or {}).get("parts") or ():
                if "functionCall" in part:
                    self._call(part["functionCall"])
                elif part.get("thought"):
                    seen.thought += part.get("text") or ""
                else:
                    seen.text += part.get("text") or ""
            if candidate.get("finishReason"):
                seen.finish = candidate["finishReason"]

    def _call(self, call: dict[str, Any]) -> None:
        """Whole, or in pieces whose values belong to paths."""
        for piece in call.get("partialArgs") or ():
            path = piece["jsonPath"].removeprefix("$.")
            value = piece.get("stringValue", piece.get("numberValue"))
            self.pieces[path] = self.pieces[path] + value if path in self.pieces else value
        self.open = call.get("willContinue") is True
        if not self.open:
            whole, self.pieces = call.get("args") or self.pieces, {}
            self.seen.calls[len(self.seen.calls)] = json.dumps(whole)

    def ended(self, unfinished: bool) -> None:
        """The body has ended."""
        seen = self.seen
        if self.open:
            seen.calls["open"] = json.dumps(self.pieces)
        seen.done = seen.done or (seen.finish is not None and not unfinished)
