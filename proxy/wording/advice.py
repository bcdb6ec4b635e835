"""What a failure that we describe ourselves says beyond itself: which provider it was, at which host, and what to do.

Only our own words are added to: an error that the provider wrote passes as it came. The address is the host and the
port, never a path, a query or a credential.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from rules import Failure, Kind, Phase

OURS = frozenset({"streamfuse_internal", "streamfuse_ring", "streamfuse_draining", "streamfuse_queue_full"})
"""Failures that are not the provider's, or that name it already."""

HINTS = (
    ("TLS handshake", "if it speaks plain HTTP, write http:// in its base_url"),
    ("not trusted", "if its certificate is signed by an authority of your own, name it in ca_file"),
    ("could not be resolved", "is its base_url right?"),
    ("cannot connect", "does it run, and is its base_url right?"),
    ("proxy refused", "is proxy_url (or HTTPS_PROXY) right?"),
    ("SOCKS proxy", "is proxy_url (or ALL_PROXY) right?"),
    ("not valid HTTP", "if it speaks TLS, write https:// in its base_url"),
    ("not a valid URL", "write its base_url as http(s)://host[:port]/path"),
    ("with HTTP 404", "is its base_url right up to its version (…/v1)?"),
    ("with an HTML page", "is its base_url right up to its version (…/v1)?"),
    ("content-encoding", "let it send gzip, br, zstd or nothing"),
)
"""What to do, by words of our own messages."""


def host_of(base_url: str) -> str:
    """Host and port of an address, as they are written there."""
    return urlsplit(base_url).netloc.rpartition("@")[2]


def advised(failure: Failure, provider: str, base_url: str) -> Failure:
    """The failure with provider, host and advice in its message, where the message is ours."""
    if failure.body is not None or failure.code in OURS:
        return failure
    message = failure.message or "The upstream failed."
    hint = next((hint for words, hint in HINTS if words in message), "")
    if not hint and failure.kind is Kind.STALL:
        hint = "timeouts in the config say how long it may be silent"
    if not hint and failure.phase is not Phase.CONNECT and failure.kind in (Kind.NETWORK, Kind.STREAM):
        hint = "its own log may tell why"
    where = f"provider {provider} at {host_of(base_url)}" + (f"; {hint}" if hint else "")
    return replace(failure, message=f"{message.rstrip('.')} ({where}).")
