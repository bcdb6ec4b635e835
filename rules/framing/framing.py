"""How the events of a stream are framed in bytes. A wire names the framing of each answer, and the engine needs nothing
else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from .json_array import ArrayDecoder
from .ndjson import LineDecoder
from .sse import Decoder, Event
from .sse_line_ends import KeepingDecoder

_BLANK: Final = b"\xef\xbb\xbf \t\r\n"


class EventDecoder(Protocol):
    """Bytes to events, however the bytes are cut."""

    repaired: int
    """Events whose broken characters were put right."""

    @property
    def mark(self) -> bytes:
        """The bytes that end every event; b"" where none do, and each event must come through the decoder."""

    @property
    def clear(self) -> bool:
        """Nothing is unfinished, so bytes that are whole events in their final form may bypass the decoder."""

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete. Raises EventTooLarge."""

    def eof(self) -> list[Event]:
        """Whole events that an unterminated rest holds."""


@dataclass(frozen=True, slots=True)
class Framing:
    """One way to write events into a body."""

    name: str
    media_type: str
    """The Content-Type of such a body."""
    decoder: Callable[[int], EventDecoder]
    """Makes a decoder; the argument is the limit of one event, in bytes."""
    opening: bytes = b""
    """The byte that a body begins with, where that is JSON's."""

    @property
    def sse(self) -> bool:
        """Are these server-sent events?"""
        return not self.opening

    def begins(self, start: bytes) -> bool:
        """Do these first bytes, which look like JSON, begin such a stream?"""
        return bool(self.opening) and start.lstrip(_BLANK).startswith(self.opening)


SSE: Final = Framing("sse", "text/event-stream; charset=utf-8", Decoder)
"""Server-sent events, with LF as line ends whatever came."""
SSE_AS_SENT: Final = Framing("sse", "text/event-stream; charset=utf-8", KeepingDecoder)
"""Server-sent events with the line ends of their server."""
NDJSON: Final = Framing("ndjson", "application/x-ndjson", LineDecoder, b"{")
JSON_ARRAY: Final = Framing("json_array", "application/json; charset=UTF-8", ArrayDecoder, b"[")


def by_first_bytes(start: bytes) -> Framing:
    """The framing of a recorded stream."""
    head = start.lstrip(_BLANK)
    return NDJSON if head.startswith(b"{") else JSON_ARRAY if head.startswith(b"[") else SSE
