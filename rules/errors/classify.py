"""Turns every way in which an attempt can fail into a Failure: HTTP errors, errors inside a 200, broken connections,
bad ends.

Each way has a function here; `kinds` decides which kind of failure an error's words mean. Input from the upstream is
never trusted: any bytes give a Failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from ..values.delta import Fault
from ..values.failures import Failure, Kind, Phase
from ..values.json import loads
from . import error_words as known
from . import retry_after
from .error_body import ErrorWords, read
from .kinds import dumped, kind_of, quota_spent

BODY: Final = 64 << 10
"""Bytes of an error body that are kept for the client and read."""

WORDS: Final = 300
"""Characters of a plain text, or of a page's title, that go into the message where it came instead of an answer."""

HANDED_ON = ("content-type", "retry-after", "retry-after-ms", "x-ms-retry-after-ms", "request-id", "x-request-id",
             "cf-ray", "x-generation-id", "mistral-correlation-id")  # fmt: skip
"""Headers of an error answer that are passed on to the client, besides those of rate limits."""

LIMITS: Final = (
    "x-ratelimit",
    "x-rate-limit",
    "anthropic-ratelimit-",
    "anthropic-priority-",
    "ratelimit",
    "rate-limit",
)
"""Prefixes of the headers of rate limits."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception as plain values. `code` is a system or library code (ECONNRESET), `status` an HTTP status."""

    name: str
    message: str = ""
    code: str | None = None
    status: int | None = None
    causes: tuple[Raised, ...] = ()

    def chain(self) -> Iterator[Raised]:
        """This and its causes, breadth first, at most 16 of them and 8 deep (MiMo-Code)."""
        level, seen = [self], 0
        for _ in range(8):
            following: list[Raised] = []
            for one in level:
                if seen == 16:
                    return
                seen += 1
                yield one
                following += one.causes
            level = following


# --- the five doors --------------------------------------------------------------------------------------------------
def response(
    status: int | None,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: float,
    phase: Phase = Phase.HEADERS,
    message: str = "",
    allow_404: bool = False,
) -> Failure:
    """An HTTP answer that is an error. `body` may be cut; `now` is unix time, for Retry-After dates.

    `message` is used where the body has none. `allow_404`: the provider is of the OpenAI-compatible family, where a
    404 that the upstream itself calls retryable is asked again.
    """
    parsed = _parsed(body[:BODY])
    said = read(parsed, body[:BODY])
    flag = retry_after.should_retry(headers)
    text = body[:BODY].decode("utf-8", "replace")
    told = retry_after.from_headers(headers, now)
    if told is None:
        told = retry_after.from_body(parsed, now)
    if told is None:
        told = retry_after.from_message(said.message) or retry_after.from_message(message)
    limit = retry_after.from_resets(headers, now) if told is None else None
    hint = told if told is not None else limit
    kind, code, where = kind_of(status, said, text, message, flag is True, allow_404, parsed, hint=hint)
    if kind is not Kind.RATE_LIMIT and status not in (402, 403, 429) and told is None:
        hint = None  # every answer reports its limits; only a refusal because of a limit has to wait for it
    tells = (
        said.message or message or (f"The upstream answered with HTTP {status}." if status else "The upstream failed.")
    )
    return Failure(
        where or phase,
        kind,
        tells,
        status=status,
        code=code,
        retry_after=hint,
        should_retry=flag,
        body=body[:BODY] or None,
        headers=handed_on(headers),
    )


def in_band(fault: Fault, now: float | None = None) -> Failure:
    """An error inside an answer that began as a 200. A numeric code of 400 to 599 counts as its HTTP status.
    `now`: unix time, for points in time that it names."""
    said = read(fault.body, b"")
    if not said.code and fault.code is not None:
        said = ErrorWords(str(fault.code), said.type, said.message or fault.message, said.details, said.param)
    status = said.status
    body = dumped(fault.body)
    message = said.message or fault.message
    hint = retry_after.from_body(fault.body, now)
    if hint is None:
        hint = retry_after.from_message(message)
    text = body.decode("utf-8", "replace")
    kind, code, _ = kind_of(status, said, text, message, False, False, fault.body, inside=True, hint=hint)
    return Failure(
        Phase.STREAM,
        kind,
        message or "The upstream reported an error inside its answer.",
        status=status,
        code=code,
        retry_after=hint,
        body=body or None,
        headers={"content-type": "application/json"} if body else {},
    )


def raised(exc: Raised, phase: Phase, *, reused: bool = False) -> Failure:
    """An exception of the transport. `reused`: it happened before any response byte on a connection that had
    served before, so the request was never read and one more try is free."""
    chain = list(exc.chain())
    code = next((one.code for one in chain if one.code), None)
    kind = Kind.TERMINAL
    if exc.name in known.NAMED_TERMINAL or any(_aborted(one) for one in chain):
        kind = Kind.TERMINAL
    elif any(_is_network(one) for one in chain):
        kind = Kind.NETWORK
        if reused and phase is not Phase.STREAM:
            code = "streamfuse_stale_connection"
    else:
        status = next((one.status for one in chain if one.status is not None), None)
        said = read(_parsed(exc.message.encode("utf-8", "replace")), b"")
        kind, said_code, where = kind_of(status, said, exc.message, exc.message, False, False, None)
        return Failure(where or phase, kind, exc.message or exc.name, status=status, code=code or said_code)
    return Failure(phase, kind, exc.message or exc.name, code=code)


def finish(reason: str) -> Failure | None:
    """The failure that a finish reason means; None for reasons that end an answer normally."""
    kind = known.BAD_FINISH.get(reason)
    if kind is None:
        return None
    return Failure(
        Phase.STREAM, kind, f"The upstream ended the answer with {reason!r}.", code=f"streamfuse_finish_{reason}"
    )


def ended(events: int) -> Failure:
    """A clean end of the body without a finish. `events`: how many had content."""
    if events == 0:
        return Failure(Phase.STREAM, Kind.STREAM, "The upstream's answer was empty.", code="streamfuse_empty_stream")
    return Failure(
        Phase.STREAM, Kind.STREAM, "The upstream's answer ended without a finish.", code="streamfuse_truncated"
    )


def unreadable() -> Failure:
    """The failure where an event cannot be read that may have carried text, or half of a call."""
    return Failure(
        Phase.STREAM, Kind.STREAM, "An event of the upstream's answer could not be read.", code="streamfuse_unreadable"
    )


def strange(status: int, content_type: str, body: bytes, headers: Mapping[str, str], *, now: float) -> Failure:
    """A 2xx whose body is not an answer of the wire: an error in JSON, an HTML page, anything else."""
    parsed = _parsed(body[:BODY])
    said = read(parsed, b"")
    if said.code or said.type or said.message:
        failure = in_band(Fault(None, "", parsed[0] if isinstance(parsed, list) else parsed), now)
        hint = retry_after.from_headers(headers, now)
        if hint is None and failure.retry_after is None and failure.kind is Kind.RATE_LIMIT:
            hint = retry_after.from_resets(headers, now)
        return replace(
            failure,
            retry_after=failure.retry_after if hint is None else hint,
            should_retry=retry_after.should_retry(headers),
            headers={**handed_on(headers), **failure.headers},
        )
    what = "an HTML page" if _html(content_type, body) else f"{content_type or 'something'} that is not an answer"
    words = read(None, body[:BODY]).message[:WORDS] if parsed is None else ""
    return Failure(
        Phase.STREAM,
        Kind.SERVER,
        f"The upstream answered HTTP {status} with {what}{': ' + words if words else '.'}",
        code="streamfuse_not_an_answer",
        retry_after=retry_after.from_headers(headers, now),
        headers=handed_on(headers),
    )


def handed_on(headers: Mapping[str, str]) -> dict[str, str]:
    """The upstream's headers that are passed on to the client with an error."""
    return {
        name.lower(): value
        for name, value in headers.items()
        if name.lower() in HANDED_ON or name.lower().startswith(LIMITS)
    }


def spent(failure: Failure) -> bool:
    """Do the upstream's words mean that no further call can help, whichever client makes it?"""
    parsed = _parsed(failure.body) if failure.body else None
    said = read(parsed, failure.body or b"")
    return failure.kind is Kind.TERMINAL and quota_spent(said, failure.message, parsed, failure.retry_after)


def _aborted(one: Raised) -> bool:
    return (one.name == "AbortError" and one.code != "UND_ERR_ABORTED") or one.code == "ABORT_ERR"


def _is_network(one: Raised) -> bool:
    return (
        one.code in known.NETWORK_CODES
        or one.name in known.NETWORK_NAMES
        or bool(known.NETWORK_TEXT.search(one.message))
    )


def _html(content_type: str, body: bytes) -> bool:
    start = body[:256].lstrip().lower()
    return "html" in content_type.lower() or start.startswith((b"<!doctype html", b"<html"))


def _parsed(body: bytes) -> Any:
    try:
        return loads(body)
    except orjson.JSONDecodeError:
        return None
