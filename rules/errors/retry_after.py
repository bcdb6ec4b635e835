"""Reads the upstream's wait in seconds from headers, sentences and members. Long waits are not clamped here, because
`decide` compares the hint with the budget."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from .resets import EPOCH, date, moment, reset
from .wait_words import sentence

FLOOR = 0.1
"""Seconds. A shorter hint counts as this (MiMo-Code)."""
FAR = (2**31 - 1) / 1000
"""Seconds. The longest header hint, 2^31 - 1 ms (MiMo-Code)."""

_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+", re.ASCII)

_SECONDS = frozenset(
    {"retry_after", "retryafter", "retry_after_seconds", "retryafterseconds", "retry_after_secs", "retry_after_s",
     "retry_in", "retry_in_seconds", "retry_delay", "retrydelay", "wait", "wait_seconds", "wait_time", "cooldown",
     "cooldown_seconds", "resets_in_seconds", "reset_in_seconds", "resets_in", "reset_in", "reset_after",
     "reset_after_seconds", "estimated_time", "resets_at", "reset_at", "resetat", "resetsat", "reset_time",
     "resettime", "retry_at", "available_at"}
)  # fmt: skip
"""Members of an error body that say when to come back, in lower case, `-` as `_`: numbers (seconds, or unix time),
lengths ("6m0s") or dates. Google's RetryInfo.retryDelay, Hugging Face's estimated_time, OpenAI's resets_in_seconds."""
_MILLISECONDS = frozenset({"retry_after_ms", "retryafterms", "retry_after_millis", "wait_ms", "reset_in_ms"})
_NODES = 64
"""Objects of a body that are searched, at most."""


def from_headers(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait by retry-after-ms, x-ms-retry-after-ms or retry-after (seconds or a date, `now` being unix
    time); the first that can be read. Names in any case; malformed, negative and past ones are ignored."""
    named = {name.lower(): value for name, value in headers.items()}
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if (written := named.get(name)) is not None and _PLAIN.fullmatch(written.strip()):
            return _clamped(float(written))
    written = named.get("retry-after", "").strip()
    if not written:
        return None
    if _PLAIN.fullmatch(written):
        return _clamped(float(written) * 1000)
    at = date(written)
    return _clamped(round((at - now) * 1000, 3)) if at is not None and at > now else None


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """The upstream's own x-should-retry, None where it says neither true nor false."""
    said = next((value for name, value in headers.items() if name.lower() == "x-should-retry"), "").strip().lower()
    return {"true": True, "false": False}.get(said)


def from_resets(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until the limit that is used up is open again, by the headers of the limits (`resets`)."""
    wait = reset(headers, now)
    return None if wait is None else _clamped(round(wait * 1000, 3))


def from_message(message: str) -> float | None:
    """Seconds to wait by a sentence like "try again in 7.66s" or "请在20秒后重试": the first one, at least 0.1 s.

    MiMo-Code cuts it to 5 minutes, and so comes back too early; a wait that is too long is for `decide` to refuse.
    """
    wait = sentence(message)
    return None if wait is None else _clamped(round(wait * 1000, 6))


def from_body(body: Any, now: float | None = None) -> float | None:
    """Seconds to wait by the members of a parsed error body, wherever it keeps them: Google's RetryInfo.retryDelay
    ("26s"), Hugging Face's estimated_time, `retry_after`, the limits' headers that OpenRouter quotes in its metadata.
    `now`: unix time; without it points in time are not read."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return None
    # Beside an answer only the error itself is searched, because the model's own text is no wait.
    left: list[Any] = [body.get("error")] if "choices" in body or "output" in body else [body]
    for _ in range(_NODES):
        if not left:
            return None
        node = left.pop(0)
        if isinstance(node, list):
            left += node[:8]
            continue
        if not isinstance(node, Mapping):
            continue
        for name, value in list(node.items())[:_NODES]:
            if (wait := _member(str(name), value, now)) is not None:
                return wait
            if isinstance(value, Mapping | list):
                left.append(value)
        if now is not None and (wait := from_resets(_texts(node), now)) is not None:
            return wait
    return None


def _member(name: str, value: Any, now: float | None) -> float | None:
    name = name.lower().replace("-", "_")
    if name not in _SECONDS and name not in _MILLISECONDS:
        return None
    written = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if name in _MILLISECONDS:
        return _clamped(float(written)) if _PLAIN.fullmatch(written) else None
    if now is None and (len(written) > 32 or (_PLAIN.fullmatch(written) and float(written) >= EPOCH)):
        return None
    wait = moment(written, now or 0.0) if written else None
    return None if wait is None or wait > FAR else _clamped(round(wait * 1000, 6))


def _texts(node: Mapping[str, Any]) -> dict[str, str]:
    return {
        str(name): str(value) for name, value in list(node.items())[:_NODES] if isinstance(value, str | int | float)
    }


def _clamped(milliseconds: float) -> float:
    """Whole milliseconds, rounded up, within FLOOR and FAR."""
    return max(FLOOR, math.ceil(min(milliseconds, FAR * 1000)) / 1000)
