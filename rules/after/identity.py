"""What makes two requests one: the key of the account that a logical request and its retries share.

Keys are digests: neither a prompt nor a credential can be read back from one. Without an explicit header, and without a
session header to go with the body, there is no key: nothing is guessed from bodies alone, because two people may
well ask the same thing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

CORRELATION = "x-streamfuse-correlation-id"
"""The header that names a logical request outright; it wins over all others."""

LOOSE = frozenset({"stream", "stream_options", "max_tokens", "max_completion_tokens", "max_output_tokens"})
"""Members that do not make another request: Claude Code falls back to the same one without `stream`, and clients lower
their token caps between tries."""


class Identity(NamedTuple):
    """Who is asking. Digests of 128 bits in hex; None where the request does not say."""

    key: str | None = None
    """One logical request, its retries included."""
    session: str | None = None
    """One run of an agent."""


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
    `session`: those that name a session; `credential`: the client's, only digested. The same words from another
    credential or to another provider are another request.
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
    """The request as the same bytes however a client orders its members (Codex shuffles some between tries); None
    where it cannot be written as JSON."""
    try:
        return orjson.dumps({k: v for k, v in body.items() if k not in LOOSE}, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None


def digest(*parts: str | bytes) -> str:
    """128 bits in hex over the parts and where they end."""
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
