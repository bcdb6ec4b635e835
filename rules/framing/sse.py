"""Server-sent events: bytes in, events out. Only CR, LF and CRLF end a line; nothing here knows a protocol.

The usual block (`data: {…}` alone, LF) is cut out with `split` and keeps its own bytes. Input on which known clients
break is normalised (the table in docs/sources.md): line ends become LF, several data lines one, `id:`, `retry:`, empty
data and events without data are removed, a comment becomes one line without a blank one. An event that has lost bytes
comes as a `Torn` event in its place, and the wire's codec decides what the loss means. Only an event without end
raises.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from typing import Any

import orjson

from ..values.json import lenient
from .characters import joined

_BOM = b"\xef\xbb\xbf"
_DONE = b"[DONE]"
_COLON = 0x3A
_MARKS = frozenset(b'{}"')
"""Bytes that occur in every JSON object and in no keep-alive word."""
_IGNORED = frozenset({b"id", b"retry"})


class EventTooLarge(Exception):
    """An event (or its header, or a comment) is longer than the limit. `events`: the whole events before it."""

    def __init__(self, limit: int, events: list[Event]) -> None:
        super().__init__(f"an event of the stream is larger than {limit} bytes")
        self.limit = limit
        self.events = events


class Event:
    """One whole event. `raw`: the bytes to forward, normalised only where known clients break on the original.

    `name` is the `event:` field ("" where there was none), `data` the joined data lines as bytes, None for a
    comment or keep-alive. `json` is the parsed data: None where it is not JSON (parsed once, on first use).
    """

    __slots__ = ("_json", "data", "name", "raw")

    _json: Any
    torn = False
    """Some of its bytes are certainly lost."""

    def __init__(self, raw: bytes, name: str = "", data: bytes | None = None) -> None:
        self.raw = raw
        self.name = name
        self.data = data

    @property
    def json(self) -> Any:
        """The parsed data, or None."""
        try:
            return self._json
        except AttributeError:  # not set until it is asked for: one of these is made for every event
            try:
                # OpenAI's last line, which no parser need find out about (two exceptions and 25 calls a stream).
                self._json = None if self.data is None or self.data == _DONE else lenient(self.data)
            except ValueError:
                self._json = None
            return self._json

    @property
    def unreadable(self) -> bool:
        """May this have been an object of the wire before some bytes were lost? False for a word, a ping, and other
        JSON."""
        if self.torn:
            return True
        return self.json is None and self.data is not None and not _MARKS.isdisjoint(self.data)

    def rewrite(self, body: Any) -> None:
        """Replace the body: the parsed data, the bytes and what is forwarded."""
        self.data = orjson.dumps(body)
        self.raw = encode(self.data, self.name)

    def unname(self) -> None:
        """Drop the `event:` line, for wires that have none."""
        if self.name and self.data is not None:
            self.name = ""
            self.raw = encode(self.data.replace(b"\n", b" "))

    def renamed(self, name: str) -> None:
        """Change the name in the `event:` line."""
        if self.data is not None:
            self.name = name
            self.raw = encode(self.data.replace(b"\n", b" "), name)

    def copy(self) -> Event:
        """The same event, to be rewritten without this one."""
        other = copy(self)
        other.rest()
        return other

    def rest(self) -> None:
        """Drop the parsed data (ten times the bytes) while the event waits; it is parsed again on use."""
        with suppress(AttributeError):
            del self._json

    def __repr__(self) -> str:
        return f"<Event {self.name or '-'} {len(self.raw)} bytes>"


class Torn(Event):
    """An event that has lost bytes. It cannot be read and is never forwarded."""

    __slots__ = ()
    torn = True

    def __init__(self, data: bytes, name: str = "") -> None:
        super().__init__(b"", name, data)
        self._json = None

    def rest(self) -> None:
        """Nothing to drop."""


class Whole(Event):
    """A whole JSON body in the shape of one event, already parsed. A codec reads it, and it is never written or
    forwarded. Writing it out and parsing it again took half of the time that a body of 50 kB needs."""

    __slots__ = ()

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(b"", "", b"")
        self._json = body

    def rewrite(self, body: Any) -> None:
        """Nothing to write."""


def encode(data: bytes, name: str = "") -> bytes:
    """Write one compact event: an `event:` line only where there is a name, never `id:` or `retry:`."""
    if name:
        return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
    return b"data: " + data + b"\n\n"


class Decoder:
    """Bytes to events, however the bytes are cut. `repaired` counts events whose characters were not whole UTF-8 and
    could be put right, `dropped` empty ones."""

    __slots__ = (
        "_cr", "_fresh", "_from", "_lines", "_multi", "_owed", "_single", "_tail", "dropped", "limit", "repaired",
    )  # fmt: skip

    mark: bytes = b"\n\n"
    """The bytes that end an event."""

    def __init__(self, limit: int = 16 << 20) -> None:
        """`limit`: bytes of one event. A limit of 64 KiB is a common mistake: images in Responses are megabytes."""
        self.limit = limit
        self.repaired = 0
        self.dropped = 0
        self._tail = bytearray()
        """The unfinished block. Never starts with a line end, once looked at."""
        self._fresh = True
        """No byte has passed yet: a byte order mark may still come."""
        self._cr = False
        """The last byte was a CR, already taken as a line end: an LF right after it belongs to it."""
        self._lines = False
        """The tail holds a line end."""
        self._multi = False
        """The tail is an event of several lines: wait for its blank line."""
        self._single = False
        """This server puts one line end between events: a whole JSON line is an event at once."""
        self._from = 0
        """Where in the tail to look for the next line end."""
        self._owed = b""
        """The beginning of a character whose rest the next event must bring."""

    @property
    def clear(self) -> bool:
        """Nothing is unfinished: bytes that are whole events as they are forwarded need not come through here."""
        return not (self._tail or self._cr or self._fresh or self._owed)

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete, comments among them. Raises EventTooLarge."""
        if self._fresh:
            chunk = self._skip_bom(chunk)
        if self._cr or b"\r" in chunk:
            chunk = self._unify(chunk)
        tail = self._tail
        events: list[Event] = []
        if not tail and chunk.endswith(b"\n\n"):  # whole events, as most reads are
            self._blocks(chunk[:-2], events)
            return events
        if tail:
            seam = len(tail) - 1
            tail += chunk
            end = tail.rfind(b"\n\n", seam)
            if end < 0:
                rest = chunk
            else:
                complete = bytes(memoryview(tail)[:end])
                rest = bytes(memoryview(tail)[end + 2 :])
                tail.clear()
                tail += rest
        else:
            end = chunk.rfind(b"\n\n")
            if end < 0:
                rest = chunk
            else:
                complete = chunk[:end]
                rest = chunk[end + 2 :]
            tail += rest
        if end >= 0:
            self._lines = self._multi = False
            self._from = 0
            self._blocks(complete, events)
        if tail:
            if b"\n" in rest:
                self._lines = True
            if self._lines and not self._multi:
                self._early(events)
            if len(tail) > self.limit:
                raise EventTooLarge(self.limit, events)
        return events

    def eof(self) -> list[Event]:
        """The event in an unterminated tail, where it is whole: a JSON object or `[DONE]`. Half a line is discarded."""
        tail = bytes(self._tail)
        self._tail.clear()
        events: list[Event] = []
        if tail and not self._fresh:
            self._blocks(tail, events)
        return [event for event in events if event.data is not None and _whole(event.data)]

    # the start of the stream and its line ends -----------------------------------------------------------
    def _skip_bom(self, chunk: bytes) -> bytes:
        head = bytes(self._tail) + chunk
        self._tail.clear()
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._tail += head
            return b""
        self._fresh = False
        return head[len(_BOM) :] if head.startswith(_BOM) else head

    def _unify(self, chunk: bytes) -> bytes:
        """CR and CRLF to LF. A CR at the end ends its line at once: waiting for an LF would delay the event."""
        if not chunk:
            return chunk
        if self._cr and chunk[0] == 0x0A:
            chunk = chunk[1:]
        self._cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    # whole blocks ----------------------------------------------------------------------------------------
    def _blocks(self, complete: bytes, events: list[Event]) -> None:
        """Blocks between blank lines. Only an event of one or two lines stays here; the rest is read line by line."""
        valid = complete.isascii() or _is_utf8(complete)
        small = len(complete) <= self.limit
        for block in complete.split(b"\n\n"):
            if not (small or len(block) <= self.limit):
                raise EventTooLarge(self.limit, events)
            if self._owed or not (valid or _is_utf8(block)):
                block = self._ahead_of_damage(block, events)
            if self._owed or not (valid or _is_utf8(block)):
                whole = self._joined(block)
                if whole is None:
                    events.append(Torn(block.strip(b"\n")))
                    continue
                block = whole
            if block.startswith(b"data: ") and b"\n" not in block and len(block) > 6:
                events.append(Event(block + b"\n\n", "", block[6:]))
            elif block.startswith(b"event: ") and block.count(b"\n") == 1 and b"\ndata: " in block:
                line = block.index(b"\n")
                data = block[line + 7 :]
                if data:
                    events.append(Event(block + b"\n\n", block[7:line].decode(), data))
                else:
                    self._empty(block[7:line].decode(), events)
            elif block:
                self._block(block, events)

    def _ahead_of_damage(self, block: bytes, events: list[Event]) -> bytes:
        """Take whole events off the beginning of a damaged block, as when they come alone (see `_early`). Returns the
        rest of the block."""
        while True:
            if block.startswith((b"\n", b":")) and b"\n" in block:
                line, _, block = block.partition(b"\n")
                if line:
                    events.append(Event(_repair(self, line + b"\n")))
                continue
            start = block.find(b"\n") + 1 if block.startswith(b"event:") else 0
            end = block.find(b"\n", start)
            if end < 0 or not block.startswith(b"data:", start):
                return block
            if not self._single and not block.startswith((b"data:", b"event:"), end + 1):
                return block
            if not _whole(_value(block[start:end])):
                return block
            self._single = True
            self._blocks(block[:end], events)
            block = block[end + 1 :]

    def _joined(self, block: bytes) -> bytes | None:
        """Put whole characters into a block that is not UTF-8, or that must bring the rest of a character. None where
        characters are lost; in comments a loss does not matter."""
        if not block or block[0] == _COLON:
            return _repair(self, block)
        came = joined(block, self._owed)
        self._owed = b"" if came is None else came[1]
        self.repaired += 1
        return None if came is None else came[0]

    def _empty(self, name: str, events: list[Event]) -> None:
        """An event without data. Keep-alives have names of one word. A name of several words is an event of a wire, so
        its data may be lost."""
        self.dropped += 1
        if "." in name or "_" in name:
            events.append(Event(b"", name, b""))

    def _block(self, block: bytes, events: list[Event]) -> None:
        """A block of any form. A line of whole JSON with another data or event line behind it is an event itself.

        Google writes an error into a stream as bare JSON over several lines, without any field name."""
        if block.startswith(b"{") and _whole(block):
            bare = block.replace(b"\n", b" ")
            events.append(Event(encode(bare), "", bare))
            return
        name = ""
        data: list[bytes] = []
        fields = False
        for line in block.split(b"\n"):
            line = line.removeprefix(_BOM)
            if not line:
                continue
            if line[0] == _COLON:
                events.append(Event(line + b"\n"))
                continue
            fields = True
            field, _, value = line.partition(b":")
            if value[:1] == b" ":
                value = value[1:]
            if field in (b"data", b"event", b"error") and len(data) == 1 and _whole(data[0]):
                self._emit(name, data, events)
                self._single = True
                name, data, fields = "", [], False
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
            elif field == b"error":
                events.append(_error(value))
                fields = False
            elif field not in _IGNORED and not _MARKS.isdisjoint(line):
                # Part of an object without its field name: the line was broken, or the name was damaged.
                events.append(Event(encode(line, name), name, line) if _whole(line) else Torn(line, name))
                fields = False
        if data:
            self._emit(name, data, events)
        elif fields:
            self._empty(name, events)

    def _emit(self, name: str, lines: list[bytes], events: list[Event]) -> None:
        data = b"\n".join(lines)
        if not data.strip():
            self.dropped += 1
            return
        if len(lines) > 1 and not _whole(data) and any(map(_whole, lines)):
            # One line is broken and others are whole: lose one event and keep the others.
            broken = b" ".join(line for line in lines if not _whole(line))
            events.append(Event(encode(broken, name), name, broken))
            events.extend(Event(encode(line, name), name, line) for line in lines if _whole(line))
            return
        # In JSON a line end is only ever white space between tokens, so one line says the same.
        events.append(Event(encode(data.replace(b"\n", b" "), name), name, data))

    # the unfinished block --------------------------------------------------------------------------------
    def _early(self, events: list[Event]) -> None:
        """Take what is complete out of the tail: comments at its start, and events of servers that send no blank
        lines."""
        tail = self._tail
        while tail:
            if tail[0] == 0x0A:
                del tail[:1]
                continue
            if tail[0] == _COLON:
                end = tail.find(b"\n", self._from)
                if end < 0:
                    break
                events.append(Event(_repair(self, bytes(memoryview(tail)[: end + 1]))))
            else:
                start = tail.find(b"\n") + 1 if tail.startswith(b"event:") else 0
                if not tail.startswith(b"data:", start):
                    # It is too short to tell, or its fields come in an order that needs the whole block.
                    self._multi = len(tail) - start >= 5
                    return
                end = tail.find(b"\n", max(self._from, start))
                if end < 0:
                    break
                after = end + 1
                if not self._single and not tail.startswith((b"data:", b"event:"), after):
                    self._multi = len(tail) - after >= 6
                    return
                if not _whole(_value(bytes(memoryview(tail)[start:end]))):
                    self._multi = True
                    return
                self._single = True
                self._blocks(bytes(memoryview(tail)[:end]), events)
            del tail[: end + 1]
            self._from = 0
        self._lines = b"\n" in tail
        self._from = len(tail)


def _whole(data: bytes) -> bool:
    """Is this the whole data of an event: a JSON object, or the end mark?"""
    data = data.strip()
    if data == _DONE:
        return True
    if not data.startswith(b"{") or not data.endswith(b"}"):
        return False
    try:
        lenient(data)
    except ValueError:
        return False
    return True


def _value(line: bytes) -> bytes:
    return line[6:] if line.startswith(b"data: ") else line[5:]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _repair(decoder: Decoder, data: bytes) -> bytes:
    if _is_utf8(data):
        return data
    decoder.repaired += 1
    return data.decode("utf-8", "replace").encode()


def _error(value: bytes) -> Event:
    """llama.cpp before 2025-12 wrote `error: {…}` as a field of its own; clients only see `error` inside data."""
    try:
        body = lenient(value)
    except ValueError:
        body = value.decode("utf-8", "replace")
    if not isinstance(body, dict):
        body = {"message": str(body)}
    data = orjson.dumps(body if "error" in body else {"error": body})
    return Event(encode(data, "error"), "error", data)
