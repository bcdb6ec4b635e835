"""Newline-delimited JSON (NDJSON): one JSON value a line, as Ollama streams (https://docs.ollama.com/api/streaming).

A line keeps its own bytes. Empty lines are left out, because ollama-python parses every line and fails on them. A line
that has lost bytes comes as a `Torn` event, as in `sse`.
"""

from __future__ import annotations

from typing import Any

import orjson

from .characters import joined
from .sse import Event, EventTooLarge, Torn

_BOM = b"\xef\xbb\xbf"


class Line(Event):
    """One line with its line end."""

    __slots__ = ()

    def __init__(self, raw: bytes, data: bytes) -> None:
        super().__init__(raw, "", data)

    def rewrite(self, body: Any) -> None:
        self.data = orjson.dumps(body)
        self.raw = encode(self.data)

    def unname(self) -> None:
        """Lines have no names."""

    def renamed(self, name: str) -> None:
        """Lines have no names."""


def encode(data: bytes) -> bytes:
    """One line; `data` is JSON without line ends."""
    return data + b"\n"


class LineDecoder:
    """Bytes to lines, however the bytes are cut. `repaired`: lines whose characters were put together again; `dropped`:
    empty lines."""

    __slots__ = ("_fresh", "_from", "_owed", "_tail", "dropped", "limit", "repaired")

    mark = b"\n"

    def __init__(self, limit: int = 16 << 20) -> None:
        """`limit`: bytes of one line."""
        self.limit = limit
        self.repaired = 0
        self.dropped = 0
        self._tail = bytearray()
        self._from = 0
        """Where in the tail to look for the next line end."""
        self._fresh = True
        """No line has come yet: a byte order mark may stand before it."""
        self._owed = b""
        """The beginning of a character whose rest the next line must bring."""

    @property
    def clear(self) -> bool:
        """Nothing is unfinished, so bytes that are whole lines may bypass the decoder."""
        return not (self._tail or self._fresh or self._owed)

    def feed(self, chunk: bytes) -> list[Event]:
        """The lines that these bytes complete. Raises EventTooLarge."""
        tail = self._tail
        tail += chunk
        end = tail.rfind(b"\n", self._from) + 1
        self._from = len(tail)
        events: list[Event] = []
        if end:
            whole = bytes(memoryview(tail)[:end])
            del tail[:end]
            self._from = len(tail)
            for raw in whole.split(b"\n")[:-1]:
                if len(raw) > self.limit:
                    raise EventTooLarge(self.limit, events)
                self._line(raw, events)
        if len(tail) > self.limit:
            raise EventTooLarge(self.limit, events)
        return events

    def eof(self) -> list[Event]:
        """A last line without its line end, where it is a whole JSON object. Half a line is discarded."""
        tail = bytes(self._tail)
        self._tail.clear()
        self._from = 0
        events: list[Event] = []
        if tail.strip().endswith(b"}"):
            self._line(tail, events)
        return [event for event in events if isinstance(event.json, dict)]

    def _line(self, line: bytes, events: list[Event]) -> None:
        if self._fresh:
            line = line.removeprefix(_BOM)
        data = line.strip()
        if not data:
            self.dropped += 1
            return
        self._fresh = False
        if self._owed or not (line.isascii() or _is_utf8(line)):
            came = joined(line, self._owed)
            self._owed = b"" if came is None else came[1]
            self.repaired += 1
            if came is None:
                events.append(Torn(data))
                return
            line = came[0]
            data = line.strip()
        events.append(Line(encode(line), data))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
