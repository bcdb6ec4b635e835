"""Recognises the retries of one logical request: they share the key of one account.

Keys are digests: neither a prompt nor a credential can be read back from them. Without a correlation header, or a
session header together with the body, there is no key. Nothing is guessed from bodies alone, because two people may ask
the same thing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

CORRELATION = "x-streamfuse-correlation-id"
"""The header that names a logical request; it takes precedence over all others."""

LOOSE = frozenset({"stream", "stream_options", "max_tokens", "max_completion_tokens", "max_output_tokens"})
"""Members that the key leaves out: Claude Code retries the same request without `stream`, and clients lower their token
limits between retries."""

HISTORIES = frozenset({"messages", "input", "contents"})
"""Lists whose items are digested one after the other, so that the digest of a longer list can go on from this one's."""


class Identity(NamedTuple):
    """The keys of a request: digests of 128 bits in hex; None where the request names none."""

    key: str | None = None
    """One logical request, its retries included."""
    session: str | None = None
    """One session of an agent."""


def identify(
    headers: Mapping[str, str],
    body: Mapping[str, Any] | None,
    *,
    provider: str,
    credential: str,
    correlation: Iterable[str] = (),
    session: Iterable[str] = (),
    digested: BodyDigest | None = None,
) -> Identity:
    """The identity of a request. `headers` are looked up by the names given (any case where the mapping allows it).

    `correlation`: names of headers that name a logical request, in order, after `x-streamfuse-correlation-id`;
    `session`: names of headers that name a session. `credential`: the client's; only its digest is used. The same
    body with another credential or to another provider is another request. `digested`: digests this body, from what is
    known of it.
    """
    run = _first(headers, session)
    run_key = None if run is None else digest("session", provider, credential, run)
    named = _first(headers, (CORRELATION, *correlation))
    if named is not None:
        return Identity(digest("named", provider, credential, named), run_key)
    if run is None or body is None:
        return Identity(None, run_key)
    same = canonical(body) if digested is None else digested.canonical(body)
    if same is None:
        return Identity(None, run_key)
    return Identity(digest("body", provider, credential, run, same), run_key)


def canonical(body: Mapping[str, Any]) -> bytes | None:
    """The request with sorted members, because Codex changes their order between retries, and with digests in the place
    of its histories; None where it cannot be written as JSON."""
    return BodyDigest().canonical(body)


class BodyDigest:
    """Digests one body. Of a history whose beginning was digested with an earlier request only the rest is read."""

    __slots__ = ("_member", "_members", "_new", "base", "marks")

    def __init__(
        self,
        member: str = "",
        members: Mapping[str, Any] | None = None,
        new: Sequence[Any] = (),
        items: int = 0,
        mark: bytes = b"",
    ) -> None:
        """`member`: the list whose `marks` are wanted. `members`: all other members; `new`: the list's items behind the
        first `items` ones, whose mark is `mark`; b"": nothing is known of it."""
        self._member = member
        self._members = members if mark else None
        self._new = new
        self.base = items if mark else 0
        self.marks: list[bytes] = [mark]
        """The digest of the list's first `base` items and of each longer beginning; [b""] while nobody has asked."""

    def at(self, items: int) -> bytes:
        """The mark of so many items; b"" where it is not known."""
        return self.marks[items - self.base] if 0 <= items - self.base < len(self.marks) else b""

    def canonical(self, body: Mapping[str, Any]) -> bytes | None:
        """As the function of this name."""
        try:
            told: dict[str, Any] = {}
            if self._members is not None:  # else the body may have to be parsed for this
                self.marks = _chain(self._new, self.marks[0])
                told[self._member] = {"": self.marks[-1].hex()}
                body = self._members
            for name, value in body.items():
                if name in LOOSE:
                    continue
                if name in HISTORIES and type(value) is list:
                    marks = _chain(value, b"")
                    if name == self._member:
                        self.marks = marks
                    value = {"": marks[-1].hex()}
                told[name] = value
            return orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
        except TypeError:
            return None


def _chain(items: Sequence[Any], mark: bytes) -> list[bytes]:
    """The mark of the list before these items, and behind each of them."""
    marks = [mark]
    for item in items:
        written = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        mark = hashlib.blake2b(mark + written, digest_size=16).digest()
        marks.append(mark)
    return marks


def digest(*parts: str | bytes) -> str:
    """128 bits in hex over the parts and their lengths."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "big"))
        state.update(raw)
    return state.hexdigest()


def _first(headers: Mapping[str, str], names: Iterable[str]) -> str | None:
    for name in names:
        value = headers.get(name)
        if value is not None and (value := value.strip()):
            return value
    return None
