"""A JSON array that comes element by element, as Gemini streams where `alt=sse` is not asked for.

An element's event holds what stands before it, too (`lead`: the opening bracket, or a comma, and white space), so that
all events together are the very bytes of the array. What stands behind the last element is an event of its own, whose
data is the closing bracket; it comes at the end of the body. Elements that are not objects are `Torn` events.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from .sse import Event, EventTooLarge, Torn

CLOSED: Final = b"]"
"""The data of the last event."""
_BETWEEN: Final = re.compile(rb"[\s,\xef\xbb\xbf]*")
"""What may stand before an element, beside the opening bracket: white space, commas, a byte order mark."""
_WHITE: Final = re.compile(rb"[ \t\r\n]*")
_TOKEN: Final = re.compile(rb'["{}\[\]]')
_IN_STRING: Final = re.compile(rb'["\\]')


class Element(Event):
    """One element with what stands before it."""

    __slots__ = ("lead",)

    def __init__(self, lead: bytes, data: bytes) -> None:
        super().__init__(lead + data, "", data)
        self.lead = lead

    def rewrite(self, body: Any) -> None:
        self.data = orjson.dumps(body)
        self.raw = self.lead + self.data

    def led(self, lead: bytes) -> None:
        """Put other bytes before the element."""
        if self.data is not None:
            self.raw = lead + self.raw[len(self.lead) :]
            self.lead = lead

    def unname(self) -> None:
        """Elements have no names."""

    def renamed(self, name: str) -> None:
        """Elements have no names."""


class ArrayDecoder:
    """Bytes to elements, however the bytes are cut, in linear time."""

    __slots__ = (
        "_closed",
        "_depth",
        "_escaped",
        "_inside",
        "_lead",
        "_opened",
        "_tail",
        "dropped",
        "limit",
        "repaired",
    )

    mark = b""
    """No bytes end an element: only its brackets do."""

    def __init__(self, limit: int = 16 << 20) -> None:
        """`limit`: bytes of one element."""
        self.limit = limit
        self.repaired = 0
        self.dropped = 0
        self._lead = bytearray()
        self._tail = bytearray()
        """The element that has begun."""
        self._depth = 0
        self._inside = False
        """The scan stands inside a string."""
        self._escaped = False
        """The last byte was a backslash inside a string."""
        self._opened = False
        """The opening bracket has come: another one is no object."""
        self._closed = False
        """The closing bracket has come: white space behind it belongs to it."""

    @property
    def clear(self) -> bool:
        """Always False: no element can be read without the decoder."""
        return False

    def feed(self, chunk: bytes) -> list[Event]:
        """The elements that these bytes complete. Raises EventTooLarge."""
        events: list[Event] = []
        at = 0
        while at < len(chunk):
            if self._closed:
                self._behind(chunk, at)
                break
            if not self._tail:
                between = _BETWEEN.match(chunk, at)
                assert between is not None  # it also matches nothing
                self._lead += between[0]
                at = between.end()
                if at == len(chunk):
                    break
                if chunk[at] == 0x5B and not self._opened:  # [
                    self._opened = True
                    self._lead += b"["
                    at += 1
                    continue
                if chunk[at] == 0x5D:  # ]
                    self._closed = True
                    self._lead += CLOSED
                    at += 1
                    continue
                if chunk[at] != 0x7B:  # {
                    at = self._stray(chunk, at, events)
                    continue
                rest = chunk[at:].rstrip()
                if rest.endswith(b"}") and len(rest) <= self.limit and self._alone(rest, events):  # as most reads are
                    at += len(rest)
                    continue
            at = self._scan(chunk, at, events)
        if len(self._tail) + len(self._lead) > self.limit:
            raise EventTooLarge(self.limit, events)
        return events

    def eof(self) -> list[Event]:
        """The closing bracket. Half an element is discarded, and so is anything but white space behind the bracket."""
        if not self._closed:
            return []
        raw = bytes(self._lead)
        self._lead.clear()
        self._closed = False
        return [Event(raw, "", CLOSED)]

    def _behind(self, chunk: bytes, at: int) -> None:
        """Keep white space behind the closing bracket, up to anything else, which would make the array no JSON."""
        if self.dropped:
            return
        blank = _WHITE.match(chunk, at)
        assert blank is not None  # it also matches nothing
        self._lead += blank[0]
        self.dropped = int(blank.end() < len(chunk))

    def _stray(self, chunk: bytes, at: int, events: list[Event]) -> int:
        """Something that is no object, up to the next separator. Returns where it ends."""
        end = min((found for mark in (b",", b"]", b"{", b"\n") if (found := chunk.find(mark, at)) >= 0), default=-1)
        stop = max(at + 1, len(chunk) if end < 0 else end)
        self._lead.clear()
        events.append(Torn(chunk[at:stop]))
        return stop

    def _scan(self, chunk: bytes, at: int, events: list[Event]) -> int:
        """Take bytes of an element up to its end. Returns where the chunk goes on."""
        start = at
        if self._escaped:
            self._escaped = False
            at += 1
        while True:
            found = (_IN_STRING if self._inside else _TOKEN).search(chunk, at)
            if found is None:
                break
            token = found[0]
            at = found.end()
            if token == b'"':
                self._inside = not self._inside
            elif token == b"\\":
                at += 1
                self._escaped = at > len(chunk)
            elif token in b"{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 0:
                    self._tail += chunk[start:at]
                    data = bytes(self._tail)
                    self._tail.clear()
                    if len(data) > self.limit:
                        raise EventTooLarge(self.limit, events)
                    self._element(data, events)
                    return at
        self._tail += chunk[start:]
        return len(chunk)

    def _alone(self, data: bytes, events: list[Event]) -> bool:
        """Take these bytes where they are one whole element."""
        try:
            body = orjson.loads(data)
        except ValueError:
            return False
        element = Element(bytes(self._lead), data)
        element._json = body
        self._lead.clear()
        events.append(element)
        return True

    def _element(self, data: bytes, events: list[Event]) -> None:
        lead = bytes(self._lead)
        self._lead.clear()
        events.append(Element(lead, data) if _is_utf8(data) else Torn(data))


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
