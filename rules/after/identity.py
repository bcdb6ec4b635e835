"""Recognises the retries of one logical request: they share the key of one account.

Keys are digests: neither a prompt nor a credential can be read back from them. Without a correlation header, or a
session header together with the body, there is no key. Nothing is guessed from bodies alone, because two people may ask
the same thing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

CORRELATION = "x-streamfuse-correlation-id"
"""The header that names a logical request; it takes precedence over all others."""

LOOSE = frozenset({"stream", "stream_options", "max_tokens", "max_completion_tokens", "max_output_tokens"})
"""Members that the key leaves out: Claude Code retries the same request without `stream`, and clients lower their token
limits between retries."""


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
) -> Identity:
    """The identity of a request. `headers` are looked up by the names given (any case where the mapping allows it).

    `correlation`: names of headers that name a logical request, in order, after `x-streamfuse-correlation-id`;
    `session`: names of headers that name a session. `credential`: the client's; only its digest is used. The same
    body with another credential or to another provider is another request.
    """
    run = _first(headers, session)
    run_key = None if run is None else digest("session", provider, credential, run)
    named = _first(headers, (CORRELATION, *correlation))
    if named is not None:
        return Identity(digest("named", provider, credential, named), run_key)
    if run is None or body is None or (same := canonical(body)) is None:
        return Identity(None, run_key)
    return Identity(digest("body", provider, credential, run, same), run_key)


def canonical(body: Mapping[str, Any]) -> bytes | None:
    """The request with sorted members, because Codex changes their order between retries; None where it cannot be
    written as JSON."""
    try:
        return orjson.dumps({k: v for k, v in body.items() if k not in LOOSE}, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None


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
