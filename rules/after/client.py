"""Reads from a request how long its client waits in silence, and whether it retries by itself.

Both decide how long a failure may be kept from the client. A client that retries must see a status while it has retries
left, because no SDK retries once a 200 has begun. A client that waits must get some bytes before its own timer rings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

SHARE = 0.8
"""Share of a client's time-out that may pass in silence; the rest is for the answer to arrive."""

LONG = 120.0
"""Seconds. A client with a longer time-out before the first byte expects slow models. A shorter one is there to find a
dead connection, so it rings as it would without streamfuse."""


class Client(NamedTuple):
    """What is known about the waiting client."""

    timeout: float | None = None
    """Seconds of silence after which it gives up a call; None = unknown."""
    retries: bool = False
    """It retries by itself after a status that may pass."""
    idle: float | None = None
    """Seconds of silence inside an answer after which it gives up, where the request says so."""
    agent: bool = False
    """It is known by its name to retry by itself, and after more than the SDKs do: after a failure inside a 200, or
    although the answer says x-should-retry: false."""
    calm: float = 0.0
    """Seconds until its own first retry, where these are two or more: a sooner one of ours would be an extra call."""

    @property
    def silence(self) -> float | None:
        """Seconds that it may be left without a byte; None = unknown."""
        return None if self.timeout is None else self.timeout * SHARE


_AGENTS: tuple[tuple[str, float, bool, float], ...] = (
    ("claude-cli/", 299.0, True, 0.0),
    ("codex", 300.0, True, 0.0),
    ("opencode/", 300.0, True, 2.0),
    ("ai-sdk", 300.0, True, 2.0),
    ("geminicli", 300.0, True, 5.0),
    ("node", 300.0, False, 0.0),
    ("undici", 300.0, False, 0.0),
    ("bun/", 300.0, False, 0.0),
    ("google-genai-sdk/", 300.0, False, 0.0),
    ("ollama-python/", 300.0, False, 0.0),
    ("ollama-js/", 300.0, False, 0.0),
)
"""(beginning of a word of User-Agent, seconds of silence, asks again, after how many seconds where they are two or
more). Claude Code 2.1 gives up a silent stream after 299 s, Codex 0.171 after its stream_idle_timeout_ms of 300 s,
OpenCode 1.18 after its request time-out of 300 s; the AI SDK sits on Node's fetch, whose undici waits 300 s for headers
and between two reads, as Bun's does. The SDKs of Google and Ollama set no time-out (in Python they waited for an hour,
measured), and in JavaScript they sit on the same fetch. The AI SDK calls itself ai-sdk/… or
ai-sdk-openai-compatible/…, by its version."""

_READ, _CALL = "x-stainless-read-timeout", "x-stainless-timeout"
"""Seconds, sent by the SDKs that Stainless generates (OpenAI, Anthropic and others); 600 unless the caller chose.
Python's hold for every read of an answer, Node's only until its headers."""


def client(headers: Mapping[str, str]) -> Client:
    """Read a Client from a request's headers (any case, where the mapping allows it). Never raises."""
    idle = _seconds(headers.get(_READ))
    first = idle if idle is not None else _seconds(headers.get(_CALL))
    known = [] if first is None else [first]
    seconds, retries, calm = _agent(headers.get("user-agent", ""))
    if seconds is not None:
        known.append(seconds)
    tries = retries or "x-stainless-retry-count" in headers
    return Client(min(known, default=None), tries, idle, retries, calm)


@lru_cache(256)
def _agent(named: str) -> tuple[float | None, bool, float]:
    """(seconds of silence, asks again, after so many seconds) by User-Agent. Cached: few come again and again."""
    words = named.lower().split()
    known = [agent for agent in _AGENTS if any(word.startswith(agent[0]) for word in words)]
    seconds = min((agent[1] for agent in known), default=None)
    return seconds, any(agent[2] for agent in known), max((agent[3] for agent in known), default=0.0)


def _seconds(written: str | None) -> float | None:
    try:
        seconds = float(written or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None
