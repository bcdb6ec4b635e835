"""When the upstream says to come back: headers, words and fields as seconds. Nothing is clamped from above here;
`decide` compares a hint with the budget."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

FLOOR = 0.1
"""Seconds. A shorter hint counts as this (seed 000)."""
FAR = (2**31 - 1) / 1000
"""Seconds. The longest header hint, 2^31 - 1 ms (seed 000)."""

_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+", re.ASCII)
_SPAN = r"[0-9]+(?:\.[0-9]+)?\s*(?:milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)(?![a-z])"
# The seed reads "1m30s" as one minute and "2 months" as two minutes; here spans add up and a unit is a whole word.
_SENTENCE = re.compile(
    rf"(?:try again|retry|retrying)\s+(?:in|after)\s+(?:about\s+)?({_SPAN}(?:\s*(?:and\s*)?{_SPAN})*)", re.I
)
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)", re.I)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DELAY = re.compile(r"([0-9]+(?:\.[0-9]+)?)s", re.ASCII)


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
    at = _date(written)
    return _clamped(round((at - now) * 1000, 3)) if at is not None and at > now else None


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """The upstream's own x-should-retry, None where it says neither true nor false."""
    said = next((value for name, value in headers.items() if name.lower() == "x-should-retry"), "").strip().lower()
    return {"true": True, "false": False}.get(said)


def from_message(message: str) -> float | None:
    """Seconds to wait by a sentence like "try again in 7.66s" or "retry after 1m30s": the first one, at least 0.1 s.

    The seed cuts it to 5 minutes, and so comes back too early; a wait that is too long is for `decide` to refuse.
    """
    found = _SENTENCE.search(message[:65536])
    if found is None:
        return None
    total = sum(float(number) * _unit(unit) for number, unit in _PART.findall(found[1]))
    return _clamped(round(total * 1000, 6))


def from_body(body: Any) -> float | None:
    """Seconds to wait by a parsed error body: Google's RetryInfo.retryDelay ("26s"), Hugging Face's estimated_time."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return None
    error = body.get("error")
    details = error.get("details") if isinstance(error, Mapping) else body.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and str(detail.get("@type", "")).endswith("RetryInfo"):
            written = _DELAY.fullmatch(str(detail.get("retryDelay", "")))
            if written is not None:
                return _clamped(float(written[1]) * 1000)
    loading = body.get("estimated_time")
    if isinstance(loading, int | float) and not isinstance(loading, bool) and 0 < loading < FAR:
        return _clamped(loading * 1000)
    return None


def _clamped(milliseconds: float) -> float:
    """Whole milliseconds, rounded up, within FLOOR and FAR."""
    return max(FLOOR, math.ceil(min(milliseconds, FAR * 1000)) / 1000)


def _date(written: str) -> float | None:
    """Unix time of an HTTP date (RFC 9110 §5.6.7) or an ISO one; None for anything else."""
    try:
        at = parsedate_to_datetime(written)
    except (ValueError, TypeError, IndexError):
        try:
            at = datetime.fromisoformat(written)
        except ValueError:
            return None
    try:
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


def _unit(word: str) -> float:
    word = word.lower()
    return _UNITS["ms"] if word.startswith(("ms", "mil")) else _UNITS[word[0]]
