"""Server-sent events: bytes in, events out. Only CR, LF and CRLF end a line; nothing here knows a protocol."""

from __future__ import annotations

from typing import Any

import orjson


class Event:
    """One event, whole. `raw` is what may be forwarded: normalised only where known clients break on the original.

    `name` is the `event:` field ("" where there was none), `data` the joined data lines as bytes, None for a
    comment or keep-alive. `json` is the parsed data: None where it is not JSON (parsed once, on first use).
    """

    __slots__ = ("_json", "_parsed", "data", "name", "raw")

    def __init__(self, raw: bytes, name: str = "", data: bytes | None = None) -> None:
        self.raw = raw
        self.name = name
        self.data = data
        self._json: Any = None
        self._parsed = False

    @property
    def json(self) -> Any:
        """The parsed data, or None."""
        if not self._parsed:
            self._parsed = True
            if self.data is not None:
                try:
                    self._json = orjson.loads(self.data)
                except orjson.JSONDecodeError:
                    self._json = None
        return self._json

    def __repr__(self) -> str:
        return f"<Event {self.name or '-'} {len(self.raw)} bytes>"


def encode(data: bytes, name: str = "") -> bytes:
    """One compact event: an `event:` line only where there is a name, never `id:` or `retry:` (protocols I6)."""
    if name:
        return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
    return b"data: " + data + b"\n\n"
