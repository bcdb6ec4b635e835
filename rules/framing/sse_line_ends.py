"""Server-sent events with the line ends of their server: Google ends lines with CRLF, and all its clients read that.

Clients of other wires fail on CRLF, so only wires whose own servers write it use this decoder.
"""

from __future__ import annotations

from .sse import Decoder, Event


class KeepingDecoder(Decoder):
    """As `Decoder`; the events of a server that writes CRLF keep it."""

    __slots__ = ("mark",)

    def __init__(self, limit: int = 16 << 20) -> None:
        super().__init__(limit)
        self.mark = b"\n\n"

    def feed(self, chunk: bytes) -> list[Event]:
        if self.mark == b"\n\n" and b"\r" in chunk:
            self.mark = b"\r\n\r\n"
        return self._kept(super().feed(chunk))

    def eof(self) -> list[Event]:
        return self._kept(super().eof())

    def _kept(self, events: list[Event]) -> list[Event]:
        if self.mark == b"\r\n\r\n":
            for event in events:
                event.raw = event.raw.replace(b"\n", b"\r\n")
        return events
