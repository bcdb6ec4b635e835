"""One answer of a provider in the making, whatever its wire: what is said, and the frames that say it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import orjson

Json = dict[str, Any]


def frame(data: Json | str, name: str = "") -> bytes:
    """One server-sent event; an `event:` line only where there is a name."""
    body = data.encode() if isinstance(data, str) else orjson.dumps(data)
    return (b"event: " + name.encode() + b"\n" if name else b"") + b"data: " + body + b"\n\n"


class Voice(ABC):
    """One answer in the making. Every method gives the frames to send, b"" where the wire says nothing then; `whole` is
    the answer as one JSON body."""

    media_type = "text/event-stream"
    """Of a stream."""

    def __init__(self, ask: Mapping[str, Any], number: int) -> None:
        """`ask`: the request's parsed body. `number` makes the answer's ids unique."""
        self.ask = ask
        self.number = number
        self.model = str(ask.get("model") or "demo")
        self.text = ""
        self.thoughts = ""
        self.calls: list[list[str]] = []
        """[name, arguments so far] of each tool call."""
        self.words = 0
        self.left = False
        """The client left before the answer's end."""

    @property
    def streaming(self) -> bool:
        """Was a stream asked for?"""
        return self.ask.get("stream") is True

    def say(self, text: str) -> bytes:
        """Visible text."""
        opening = b"" if self.text else self._open_text()
        self.text += text
        self.words += 1
        return opening + self._text(text)

    def think(self, text: str) -> bytes:
        """Reasoning."""
        opening = b"" if self.thoughts else self._open_thought()
        self.thoughts += text
        self.words += 1
        return opening + self._thought(text)

    def call(self, name: str, fragment: str, *, new: bool) -> bytes:
        """A fragment of a tool call's arguments; `new` begins another call."""
        opening = b""
        if new:
            self.calls.append([name, ""])
            opening = self._open_call(name)
        self.calls[-1][1] += fragment
        self.words += 1
        return opening + self._call(fragment)

    @abstractmethod
    def head(self) -> bytes: ...
    @abstractmethod
    def finish(self, reason: str) -> bytes:
        """End legally; `reason` in the words of chat completions: stop, length, tool_calls, content_filter."""

    @abstractmethod
    def fault(self, message: str) -> bytes:
        """The wire's own error inside a stream."""

    @abstractmethod
    def whole(self, reason: str) -> Json:
        """Everything said so far as a `stream: false` body."""

    @staticmethod
    def refuse(status: int, message: str) -> Json:
        """The body of an HTTP error."""
        kind = {429: "rate_limit_error", 400: "invalid_request_error"}.get(status, "server_error")
        code = {429: "rate_limit_exceeded", 400: "invalid_value"}.get(status, "server_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def _open_text(self) -> bytes:
        return b""

    def _open_thought(self) -> bytes:
        return b""

    @abstractmethod
    def _text(self, text: str) -> bytes: ...
    @abstractmethod
    def _thought(self, text: str) -> bytes: ...
    @abstractmethod
    def _open_call(self, name: str) -> bytes: ...
    @abstractmethod
    def _call(self, fragment: str) -> bytes: ...
