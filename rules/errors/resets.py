"""Reads the headers that say when a rate limit resets: x-ratelimit-reset*, anthropic-ratelimit-*-reset, RateLimit.

Providers send one for each of their limits (requests, tokens, a day), on every answer. A refusal waits for the limit
that is used up: its `remaining` is 0. Where it is not clear which of several limits that is, no wait is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from .wait_words import span

_NUMBER = re.compile(r"[0-9]{1,16}(?:\.[0-9]{1,9})?", re.ASCII)
_RESET = re.compile(r"(?:^|-)(?:reset(?:-after|-time|-at)?|timeremaining)(?=-|$)")
_LIMITS = re.compile(r"rate-?limit")
_ITEM = re.compile(r'(?:^|,)\s*(?:"[^"]{0,99}"|[\w.:*/-]{1,99})((?:\s*;\s*[\w-]{1,32}\s*=\s*"?[^;,"]{0,99}"?)*)')
_PARAMETER = re.compile(r';\s*([\w-]+)\s*=\s*"?([^;,"]*)"?')
_PAIR = re.compile(r"\b(limit|remaining|reset)\s*=\s*([0-9.]+)", re.I)

EPOCH = 1e9
"""Numbers from here on are points in time: seconds since 1970, or milliseconds from a thousand times that on."""


class Limit(NamedTuple):
    """One limit. `wait`: seconds until it is open again; `spent`: is it used up, None = not said."""

    wait: float
    spent: bool | None


def reset(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until the used-up limit resets; None where no header says so. `now`: unix time."""
    named = {name.lower(): value.strip() for name, value in headers.items()}
    limits = [*_listed(named, now), *_combined(named, now)]
    spent = [limit.wait for limit in limits if limit.spent]
    if spent:
        return max(spent)
    unsaid = [limit.wait for limit in limits if limit.spent is None]
    if len(unsaid) != len(limits) or not unsaid:
        return None
    return min(unsaid)


def spent(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until every limit that the headers of any answer call used up is open again; None where none is."""
    # Asked about every answer: most have no header of a limit. ("imit": however the name begins.)
    named = {name.lower(): value.strip() for name, value in headers.items() if "imit" in name or "IMIT" in name}
    if not named:
        return None
    waits = [limit.wait for limit in (*_listed(named, now), *_combined(named, now)) if limit.spent]
    return max(waits, default=None)


def moment(written: str, now: float) -> float | None:
    """Seconds from `now` of anything that providers write: a number of seconds, a length ("6m0s"), unix time in seconds
    or milliseconds, a date (RFC 3339 or HTTP). None for what is none of these, and for what is over."""
    written = written.strip()
    if _NUMBER.fullmatch(written):
        return ahead(float(written), now)
    wait = span(written)
    if wait is None and (at := date(written)) is not None:
        wait = at - now
    return wait if wait is not None and wait > 0 else None


def ahead(number: float, now: float) -> float | None:
    """The same for a bare number."""
    if number >= EPOCH * 1000:
        number = number / 1000 - now
    elif number >= EPOCH:
        number -= now
    return number if number > 0 else None


def date(written: str) -> float | None:
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


def _listed(named: Mapping[str, str], now: float) -> Iterator[Limit]:
    """One header for each limit: `…-reset` beside `…-remaining`, or beside `…-status` (Anthropic's unified limits)."""
    for name, value in named.items():
        if not _LIMITS.search(name) or not (where := _RESET.search(name)):
            continue
        wait = moment(value, now)
        if wait is None:
            continue
        before, after = name[: where.start()], name[where.end() :]
        kin = {f"{before}-{word}{after}".lstrip("-"): word for word in ("remaining", "status")}
        yield Limit(wait, next((_spent(word, named[other]) for other, word in kin.items() if other in named), None))


def _combined(named: Mapping[str, str], now: float) -> Iterator[Limit]:
    """RateLimit of the IETF's drafts: `"default";r=0;t=30`, or `limit=100, remaining=0, reset=30` of earlier ones."""
    value = named.get("ratelimit", "") or named.get("rate-limit", "")
    if not value:
        return
    pairs = {key.lower(): number for key, number in _PAIR.findall(value[:1024])}
    if "reset" in pairs and (wait := moment(pairs["reset"], now)) is not None:
        yield Limit(wait, _spent("remaining", pairs["remaining"]) if "remaining" in pairs else None)
    for parameters in _ITEM.findall(value[:1024]):
        said = {key.lower(): what.strip() for key, what in _PARAMETER.findall(parameters)}
        if "t" in said and (wait := moment(said["t"], now)) is not None:
            yield Limit(wait, _spent("remaining", said["r"]) if "r" in said else None)


def _spent(word: str, value: str) -> bool | None:
    if word == "status":
        return value.lower() in ("rejected", "exceeded", "blocked")
    try:
        return float(value) <= 0
    except ValueError:
        return None
