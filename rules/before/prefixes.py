"""Requests whose beginning was seen before: only what is new in them is parsed.

An agent's next request is the last one with a few messages more, so most of its bytes are known. `PrefixCache` keeps
numbers of bodies that were parsed: where the array of messages begins, where its last message ended, and a hash of all
bytes up to there, but none of the bytes. Where a body begins in the same bytes, JSON behind them is read as if it stood
alone. Both readings are equal: what stands before is the beginning of valid JSON with that array open, so the whole is
valid if, and only if, the rest of it is (RFC 8259 has no other state).

The ends of the array are found by a mark: a string that occurs nowhere in the body is put in as its first and last
message before the body is parsed. Where the array of the result begins and ends in it, it stood where it should.

Hashes are Python's over blocks of bytes (SipHash of 64 bits, with a new key in every process): 690 kB take 0.3 ms,
where parsing them takes 1 to 2.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Generator, Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from ..values.json import LONG, loads
from .past import Past

BLOCK = 4096
"""Bytes that are hashed at once."""
TURN = 256
"""Blocks that are hashed in one turn: 0.5 ms."""
LEAST = 2 * BLOCK
"""Bytes of a body from which it is worth it: a shorter one is parsed in 10 µs."""
MOST = 512
"""Beginnings that one process remembers: some 2 MB."""
CROWD = 8
"""Beginnings that end in the same block, after the same bytes before it."""
TRIES = 256
"""Brackets at the end of a body that are tried as the end of its array: tools may stand behind it."""
ENDS = 8
"""Lengths of what stood behind an array that are tried first: a client writes the same there each time."""

FARTHEST = 64 << 10
"""Bytes at the end of the messages in which the beginning of the newest ones is looked for."""

_BARE = b"\x7f" * 32
_MARK = b'"%b"' % _BARE
_MARKED = _BARE.decode()
_SPACE = b" \t\r\n"
_CLOSE, _COMMA, _BRACE = ord("]"), ord(","), ord("}")
_OPENING = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*\[[ \t\r\n]*\{")
_BEHIND = re.compile(rb'[ \t\r\n]*(?:,[ \t\r\n]*"|\}[ \t\r\n]*\Z)')


class Prefix(NamedTuple):
    """The beginning of a body that was seen."""

    member: str
    start: int
    """Offset behind the bracket that opens the array."""
    end: int
    """Offset behind its last message."""
    number: int
    """Hash of the bytes from the last whole block to `end`."""
    past: Past
    parent: tuple[int, int]
    """Key and end of the beginning that it grew from, which is forgotten with its next growth; (0, 0) = none."""


class ArrayPlace(NamedTuple):
    """Where the array of messages is in a body."""

    member: str
    start: int
    end: int
    hashes: Sequence[int] = ()
    """Of the body, as far as they are known."""


class Begun(NamedTuple):
    """A body that begins as none that was worth remembering, so its array was not looked for: that costs a third
    to two thirds of parsing it, and large requests outside of agents mostly never go on."""

    first: int
    """Hash of its first block."""


class Parsed(NamedTuple):
    """A body that was parsed whole."""

    body: Any
    place: ArrayPlace | Begun | None
    """None: it cannot be told, so nothing of this body will be remembered."""


class Continued(NamedTuple):
    """A body of which only the new part was parsed."""

    members: dict[str, Any]
    """All members but the array of messages."""
    new: list[Any]
    """The messages behind those that were seen before."""
    prefix: Prefix
    end: int
    """Offset behind the last message."""
    hashes: Sequence[int]
    """Of the body, by the number of its blocks."""

    @property
    def key(self) -> int:
        """By which the beginning was found."""
        return self.hashes[self.prefix.end // BLOCK]


class PrefixCache:
    """The beginnings that one process remembers."""

    __slots__ = ("_ends", "_firsts", "_kept", "_members", "_most")

    def __init__(self, members: Iterable[str], most: int = MOST) -> None:
        """`members`: names that an array of messages may have."""
        self._members = tuple(dict.fromkeys(members))
        self._most = most
        self._kept: OrderedDict[int, list[Prefix]] = OrderedDict()
        """By the hash of all blocks before the one in which the beginning ends."""
        self._firsts: OrderedDict[int, None] = OrderedDict()
        """Hashes of the first blocks of bodies that were worth remembering: other bodies are only parsed."""
        self._ends: dict[str, list[int]] = {}
        """For each member, how many bytes stood behind its last message, bracket included, newest first."""

    def going_on(self, data: bytes) -> Generator[None, None, Continued | list[int]]:
        """Parse what is new in this body. Where its beginning is not known, or more of it is needed: its hashes, as far
        as they were computed, for `whole`. It yields about every half millisecond, so that other tasks can run."""
        hashes = [0]
        if not LEAST <= len(data) < LONG - 64 or _first(data) not in self._firsts:
            return hashes
        while len(hashes) <= len(data) // BLOCK:
            _hash_more(data, hashes, len(hashes) + TURN)
            if len(hashes) <= len(data) // BLOCK:
                yield
        found = self._find(data, hashes)
        return (found and self._rest(data, hashes, found)) or hashes

    def whole(self, data: bytes, hashes: Sequence[int] = ()) -> Parsed:
        """Parse a body. Raises orjson.JSONDecodeError where it is not JSON."""
        if not LEAST <= len(data) < LONG - 64:
            return Parsed(loads(data), None)
        if (first := _first(data)) not in self._firsts:
            return Parsed(loads(data), Begun(first))
        marked = self._marked(data)
        if marked is None:
            return Parsed(loads(data), None)
        body, place = marked
        return Parsed(body, place._replace(hashes=hashes))

    def remember(
        self, data: bytes, read: ArrayPlace | Begun | Continued, pasts: Sequence[Past]
    ) -> Generator[None, None, None]:
        """This body was looked at, and this is what came of all its messages and, after that, of its beginnings with
        fewer of them. Of a body that begins in a new way only that is remembered; the next one like it is looked at
        more closely. It yields as `going_on` does."""
        if isinstance(read, Begun):
            self._worth(read.first)
            return
        if isinstance(read, ArrayPlace):
            member, start, end, _ = read
            least, parent = start, (0, 0)
        else:
            prefix, end = read.prefix, read.end
            member, start, least, parent = prefix.member, prefix.start, prefix.end, (read.key, prefix.end)
            if end > least:
                key, old = prefix.parent
                if key in self._kept:
                    self._kept[key] = [one for one in self._kept[key] if one.end != old]
                    if not self._kept[key]:
                        del self._kept[key]
        if end < BLOCK:
            return
        hashes = [*(read.hashes or (0,))]
        while len(hashes) <= end // BLOCK:
            _hash_more(data, hashes, min(end // BLOCK, len(hashes) + TURN))
            if len(hashes) <= end // BLOCK:
                yield
        self._worth(hashes[1])
        for past in pasts:
            at = _back(data, least, end, pasts[0].items - past.items)
            if at > least and at >= BLOCK:
                self._keep(hashes[at // BLOCK], data, Prefix(member, start, at, 0, past, parent))

    def __len__(self) -> int:
        return len(self._kept)

    def _worth(self, first: int) -> None:
        self._firsts[first] = None
        self._firsts.move_to_end(first)
        if len(self._firsts) > self._most:
            self._firsts.popitem(last=False)

    def _keep(self, key: int, data: bytes, prefix: Prefix) -> None:
        end = prefix.end
        number = hash(data[end // BLOCK * BLOCK : end])
        kept = [one for one in self._kept.get(key, ()) if one.end != end or one.number != number]
        self._kept[key] = [*kept[-CROWD + 1 :], prefix._replace(number=number)]
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def _find(self, data: bytes, hashes: list[int]) -> Prefix | None:
        """The longest beginning of this body that was seen."""
        for whole in range(len(hashes) - 1, -1, -1):
            for prefix in reversed(self._kept.get(hashes[whole], ())):
                if prefix.end <= len(data) and hash(data[whole * BLOCK : prefix.end]) == prefix.number:
                    self._kept.move_to_end(hashes[whole])
                    return prefix
        return None

    def _rest(self, data: bytes, hashes: Sequence[int], prefix: Prefix) -> Continued | None:
        """Parse what stands around the messages that were seen. None where that is not enough."""
        try:
            head = orjson.loads(data[: prefix.start] + b"]}")
        except orjson.JSONDecodeError:
            return None
        member = prefix.member
        before = b'{"%b":[%b' % (member.encode(), _MARK)
        text = before + data[prefix.end :]
        tail, end = self._ended(text, member, len(before))
        if tail is None or type(head) is not dict:
            return None
        new = tail.pop(member)
        head.pop(member, None)
        if not head.keys().isdisjoint(tail):
            return None  # the later one of two equal names counts
        return Continued({**head, **tail}, new[1:], prefix, prefix.end + end - len(before), hashes)

    def _marked(self, data: bytes) -> tuple[dict[str, Any], ArrayPlace] | None:
        """Parse a body and find its array of messages. None where it was not found."""
        if _BARE in data:
            return None
        for member in self._members:
            start = _opening(data, member)
            if not start:
                continue
            text = b"%b%b,%b" % (data[:start], _MARK, data[start:])
            more = len(text) - len(data)
            body, end = self._ended(text, member, start + more)
            if body is None:
                return None
            del body[member][0]
            return body, ArrayPlace(member, start, end - more)
        return None

    def _ended(self, text: bytes, member: str, least: int) -> tuple[dict[str, Any] | None, int]:
        """(The parsed text, offset behind the last message), where the array of this member begins with the mark, which
        stands nowhere else; (None, 0) where its end was not found. `least`: the end is not before this."""
        known = self._ends.setdefault(member, [])
        tried = -1
        for behind in known:
            end = len(text) - behind
            if end > least and text[end] == _CLOSE and _may_end(text, end):
                body, last = _with_end(text, member, end, least)
                if body is not None:
                    return body, last
                tried = end
                break
        end = _first_end(text, least)
        if end < 0 or end == tried:
            return None, 0
        body, last = _with_end(text, member, end, least)
        if body is not None:
            known.insert(0, len(text) - end)
            del known[ENDS:]
        return body, last


def _with_end(text: bytes, member: str, end: int, least: int) -> tuple[dict[str, Any] | None, int]:
    """As `PrefixCache._ended`, if this bracket ends the array."""
    last = end
    while text[last - 1] in _SPACE:
        last -= 1
    if last < least:
        return None, 0
    try:
        body = orjson.loads(b"%b,%b%b" % (text[:last], _MARK, text[end:]))
    except orjson.JSONDecodeError:
        return None, 0
    items = body.get(member) if type(body) is dict else None
    if type(items) is not list or len(items) < 2 or not (items[0] == items[-1] == _MARKED):
        return None, 0
    items.pop()
    return body, last


def _first_end(text: bytes, least: int) -> int:
    """The first of the newest brackets behind which only members of the outermost object stand; -1 = none of them. The
    array of messages ends there: no bracket inside of it has such a rest."""
    first, at = -1, len(text)
    for _ in range(TRIES):
        at = text.rfind(b"]", least, at)
        if at < 0:
            break
        if _may_end(text, at):
            first = at
    return first


def _back(data: bytes, least: int, end: int, items: int) -> int:
    """Offset behind the message before so many of the last ones; 0 where it was not found. `end`: the offset behind the
    last message. What is valid as a list of so many messages is those messages: from any other place on, brackets or
    quotes would be left over."""
    if not items:
        return end
    at = end
    for _ in range(TRIES):
        at = data.rfind(b"{", least, at)
        if at < 0 or end - at > FARTHEST:
            break
        last = at
        while last > least and data[last - 1] in _SPACE:
            last -= 1
        if data[last - 1] != _COMMA:
            continue
        last -= 1
        while last > least and data[last - 1] in _SPACE:
            last -= 1
        if data[last - 1] != _BRACE:
            continue
        try:
            read = orjson.loads(b"[%b]" % data[at:end])
        except orjson.JSONDecodeError:
            continue
        if len(read) >= items:
            return last if len(read) == items else 0
    return 0


def _may_end(text: bytes, end: int) -> bool:
    """May this bracket end an array that is a member of the outermost object? If not, nothing is parsed anew."""
    if _BEHIND.match(text, end + 1) is None:
        return False
    rest = text[end + 1 :].lstrip(_SPACE)
    try:
        orjson.loads(b"{" + (rest if rest[:1] == b"}" else rest[1:]))
    except orjson.JSONDecodeError:
        return False
    return True


def _opening(data: bytes, member: str) -> int:
    """Offset behind the bracket that seems to open this member's array of objects; 0 = there is none."""
    name = b'"%b"' % member.encode()
    at = data.find(name)
    while at >= 0:
        at += len(name)
        if _OPENING.match(data, at) is not None:
            return data.index(b"[", at) + 1
        at = data.find(name, at)
    return 0


def _first(data: bytes) -> int:
    """The hash of the first block, as in `_hash_more`."""
    return hash((0, hash(data[:BLOCK])))


def _hash_more(data: bytes, hashes: list[int], most: int) -> None:
    """Add to these, which are for each number of whole blocks, from none on, a hash of all bytes in them; to `most` of
    them at most."""
    view = memoryview(data)
    number = hashes[-1]
    for at in range((len(hashes) - 1) * BLOCK, min(len(data) // BLOCK, most) * BLOCK, BLOCK):
        number = hash((number, hash(view[at : at + BLOCK])))
        hashes.append(number)
