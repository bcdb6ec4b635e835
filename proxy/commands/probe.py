"""One harmless question to each provider, the list of its models: is it there, is it who it says, does it take the key?

Nothing that a provider says is printed as it came: only its status, and what its answer looks like.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
from multidict import CIMultiDict

from rules import Failure, wire_named

from ..intake.ring import ANSWERED
from ..intake.routing import join, outgoing, place
from ..settings.load import Settings
from ..settings.sections.provider import KeyHeader, ProviderSettings
from ..settings.service.doors import loopback
from ..upstream.client import Upstream, UpstreamRequest, UpstreamResponse
from ..upstream.transport import Transport, environment, transport_to

PATIENCE = 10.0
"""Seconds for a provider to answer."""
LIST = 8 << 20
"""Most bytes of a list that are read."""
PLAIN = "if this is a plain http server, write http://"
X_API_KEY, AUTHORIZATION = "x-api-key", "authorization"
ANTHROPIC = {"anthropic-version": "2023-06-01"}


@dataclass(frozen=True, slots=True)
class Found:
    """What was found out of one provider: whether it will do, and the sentences that say why."""

    good: bool
    said: tuple[str, ...]


async def probe(settings: Settings) -> dict[str, Found]:
    """Every provider, all at once."""
    upstream = Upstream()
    await upstream.start()
    try:
        environ = environment(settings.network.proxy_env)
        every = settings.providers.values()
        found = await asyncio.gather(*(_one(upstream, provider, transport_to(provider, environ)) for provider in every))
    finally:
        await upstream.stop()
    return dict(zip(settings.providers, found, strict=True))


async def _one(upstream: Upstream, provider: ProviderSettings, to: Transport) -> Found:
    parts = urlsplit(provider.base_url)
    own_header = {wire_named(name).key_header for name in provider.wires} == {X_API_KEY}
    own_header = own_header or (parts.hostname or "").endswith("anthropic.com")
    try:
        async with asyncio.timeout(PATIENCE):
            answer, body = await _ask(upstream, provider, to, own_header)
            auto = provider.api_key is not None and provider.key_header is KeyHeader.AUTO
            if auto and not isinstance(answer, Failure) and answer.status in (401, 403):
                # Of the two places for a key the other one may be right; both are served by `auto`, by wire.
                second = await _ask(upstream, provider, to, not own_header)
                if not isinstance(second[0], Failure) and second[0].status < 300:
                    answer, body = second
    except TimeoutError:
        plain = parts.scheme == "https" and loopback(parts.hostname or "")
        return Found(False, (f"no answer within {PATIENCE:g} s", *([PLAIN] if plain else [])))
    if isinstance(answer, Failure):
        return Found(False, tuple(_unreachable(answer, parts.scheme)))
    reached = "reachable" + ({True: ", certificate good", False: ", certificate not checked"}[provider.verify_tls]
                             if parts.scheme == "https" else ", no TLS")  # fmt: skip
    good, said = _judged(answer, body, provider)
    return Found(good, (reached, said, f"watched: {', '.join(provider.wires)}"))


async def _ask(
    upstream: Upstream, provider: ProviderSettings, to: Transport, own_header: bool
) -> tuple[UpstreamResponse | Failure, bytes]:
    given = CIMultiDict(ANTHROPIC if own_header else {})
    call = UpstreamRequest(
        "GET",
        join(provider.base_url, place("/v1/models", ()), "", known=True),
        outgoing(given, provider, key_header=X_API_KEY if own_header else AUTHORIZATION),
        transport=to,
    )
    answer = await upstream.open(call)
    if isinstance(answer, Failure):
        return answer, b""
    try:
        return answer, await answer.beginning(LIST, PATIENCE)
    finally:
        answer.close()


def _unreachable(failure: Failure, scheme: str) -> Iterator[str]:
    yield f"not reachable: {failure.message}"
    if scheme == "https" and "TLS handshake" in failure.message:
        yield PLAIN
    if "not valid HTTP" in failure.message and scheme == "http":
        yield "if this server speaks TLS, write https://"
    if "not trusted" in failure.message:
        yield "a certificate of your own: name its authority in ca_file"


def _judged(answer: UpstreamResponse, body: bytes, provider: ProviderSettings) -> tuple[bool, str]:
    status, key = answer.status, "api_key" if provider.api_key is not None else "key"
    if ANSWERED in answer.headers:
        return False, "a streamfuse answers here: another one, or this one itself; give the provider's own address"
    if status in (401, 403):
        if provider.api_key is None:
            return True, f"it wants a key (HTTP {status}): the client's own, which passes through"
        return False, f"its api_key is refused (HTTP {status})"
    if 300 <= status < 400:
        return False, f"it redirects (HTTP {status}), and redirects are never followed: give the address it leads to"
    if status in (404, 405):
        return (
            True,
            f"it has no list of models at this address (HTTP {status}): is the base_url right up to its version?",
        )
    if status == 429:
        return True, f"{key} not refused, but it is busy (HTTP 429)"
    if status >= 400:
        hint = "; if it speaks TLS, write https://" if status == 400 and provider.base_url.startswith("http:") else ""
        return status < 500, f"it answers with HTTP {status}{hint}"
    names = _models(body)
    if names is None:
        return (
            False,
            "it answers, but with no list of models: is this an API, and the base_url right up to its version?",
        )
    taken = "api_key accepted" if provider.api_key is not None else "no key needed for that"
    return True, f"{taken}, {len(names)} model{'' if len(names) == 1 else 's'}"


def _models(body: bytes) -> list[Any] | None:
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    listed = read.get("data", read.get("models")) if isinstance(read, dict) else read
    return listed if isinstance(listed, list) else None
