"""Turns every way in which an attempt can fail into a Failure: HTTP errors, errors inside a 200, broken connections,
bad ends.

The order of the questions is MiMo-Code's (retry.ts: quota, status, stream, network, rate limit, overload, status
again), extended by the errors that providers really send. Input from the upstream is never trusted: any bytes give a
Failure.
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
from .error_body import BASE_RESP, ErrorWords, read

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
    kind, code, where = _kind(status, said, text, message, flag is True, allow_404, parsed, hint=hint)
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
    body = _dump(fault.body)
    message = said.message or fault.message
    hint = retry_after.from_body(fault.body, now)
    if hint is None:
        hint = retry_after.from_message(message)
    text = body.decode("utf-8", "replace")
    kind, code, _ = _kind(status, said, text, message, False, False, fault.body, inside=True, hint=hint)
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
        kind, said_code, where = _kind(status, said, exc.message, exc.message, False, False, None)
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


# --- the order of the questions --------------------------------------------------------------------------------------
def _kind(
    status: int | None,
    said: ErrorWords,
    text: str,
    message: str,
    flagged: bool,
    allow_404: bool,
    parsed: Any,
    *,
    inside: bool = False,
    hint: float | None = None,
) -> tuple[Kind, str | None, Phase | None]:
    """(kind, code, phase where it is forced). `flagged`: the upstream itself says that it may be tried again.
    `hint`: the wait that it names, in seconds."""
    code = said.code or said.type or None
    code = code[:128] if code else None
    names = (said.code.lower(), said.type.lower())
    if said.code == "bad_response_status_code" and said.param.isdigit():
        # A relay's wrapper: the status of the relay's own upstream counts.
        status = int(said.param)
        said = ErrorWords("", "", said.message, said.details, "")
    if any(word in text for word in known.PREPAID):
        return Kind.TERMINAL, code, None
    if said.type == BASE_RESP:
        return known.BASE_RESP_KINDS.get(said.code, Kind.TERMINAL), code, None
    if _quota(said, message, parsed, hint):
        return Kind.TERMINAL, code or known.QUOTA, None
    if _context(status, said, message):
        return Kind.TERMINAL, known.CONTEXT, None
    if status in known.ALWAYS_TERMINAL:
        if _in_flight(parsed):
            return Kind.RATE_LIMIT, code, None
        return Kind.TERMINAL, code, None
    if status == 404 and not allow_404:
        return Kind.TERMINAL, code, None
    if said.code == "stream_read_error" or said.type == "upstream_error":
        return Kind.STREAM, code, Phase.STREAM
    if message == known.READ_TIMED_OUT:
        return Kind.STREAM, code, None
    if status is None and known.NETWORK_TEXT.search(message):
        # MiMo-Code calls a reset inside an API error unknown; here it is the network, wherever it is reported.
        return Kind.NETWORK, code, None
    if (
        said.type.lower() == "too_many_requests"
        or any("rate_limit" in name for name in names)
        or said.code == "429"
        or names[0] in ("throttlingexception", "too_many_requests")
        or known.RATE_TEXT.search(said.message)
        or known.RATE_TEXT.search(message)
    ):
        return Kind.RATE_LIMIT, code, None
    # MiMo-Code looks for these in lower case only and so misses Google's RESOURCE_EXHAUSTED.
    if "exhausted" in names[0] or "unavailable" in names[0]:
        return (Kind.RATE_LIMIT if status == 429 else Kind.SERVER), code, None
    if status in (408, 425, 429) or (status is not None and 500 <= status <= 599):
        return (Kind.RATE_LIMIT if status == 429 else Kind.SERVER), code, None
    if status in known.TERMINAL:
        if said.code == "tool_use_failed":
            # Groq: the model wrote a call that does not parse; a second try often does.
            return Kind.UNKNOWN, code, None
        return Kind.TERMINAL, code, None
    if flagged:
        return Kind.UNKNOWN, code, None
    return _rest(status, said, message, code, inside)


def _rest(
    status: int | None, said: ErrorWords, message: str, code: str | None, inside: bool
) -> tuple[Kind, str | None, Phase | None]:
    """Decide what MiMo-Code leaves to its client library's flag: by the status, or by the words of an error in a
    200."""
    if status in (409, 424):
        return Kind.UNKNOWN, code, None
    if status == 498:
        return Kind.SERVER, code, None
    if not inside:
        return Kind.TERMINAL, code, None
    if _refused(said) or (status is not None and 400 <= status < 500):
        return Kind.TERMINAL, code, None
    names = {said.code.lower(), said.type.lower()}
    if names & known.CAPACITY_CODES or names & known.SERVER_CODES or known.CAPACITY_TEXT.search(message):
        return Kind.SERVER, code, None
    if known.STREAM_TEXT.search(message):
        return Kind.STREAM, code, None
    return Kind.UNKNOWN, code, None


def spent(failure: Failure) -> bool:
    """Do the upstream's words mean that no further call can help, whichever client makes it?"""
    parsed = _parsed(failure.body) if failure.body else None
    said = read(parsed, failure.body or b"")
    return failure.kind is Kind.TERMINAL and _quota(said, failure.message, parsed, failure.retry_after)


def _quota(said: ErrorWords, message: str, parsed: Any, hint: float | None) -> bool:
    codes = {said.code.lower(), said.type.lower(), _text(said.details, "error_code").lower()}
    text = said.message or message
    if codes & known.QUOTA_CODES or known.SPENT_TEXT.search(text) or known.NOTHING_TEXT.search(text):
        return True
    if known.TOO_LARGE_TEXT.search(text) or _asks_too_much(text):
        return True
    # Google says "exceeded your current quota" of minutes and of days. With a RetryInfo it is a limit by the minute,
    # unless the quota's name holds PerDay.
    if _per_day(parsed):
        return True
    lasting = codes & known.LONG_CODES or known.LONG_TEXT.search(text) is not None
    return bool(lasting) and (hint is None or hint > known.LONG)


def _asks_too_much(text: str) -> bool:
    """Does this one request ask for more than the whole limit?"""
    found = known.ASKED_TEXT.search(text)
    if found is None:
        return False
    limit, asked = (part.replace(",", "") for part in found.groups())
    return limit.isdigit() and asked.isdigit() and int(asked) > int(limit)


def _per_day(parsed: Any) -> bool:
    """Does Google's error carry a QuotaFailure of a whole day, or of a quota of zero? Its message is not read."""
    body = parsed[0] if isinstance(parsed, list) and parsed else parsed
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    if not isinstance(details, list):
        return False
    dumped = _dump(details)
    return b"PerDay" in dumped or b'"quotaValue":"0"' in dumped


def _context(status: int | None, said: ErrorWords, message: str) -> bool:
    if status == 413 or {said.code.lower(), said.type.lower()} & known.CONTEXT_CODES:
        return True
    text = said.message or message
    if known.CONTEXT_TEXT.search(text):
        return True
    return status != 429 and known.CONTEXT_LIMIT_TEXT.search(text) is not None and not known.RATE_TEXT.search(text)


def _refused(said: ErrorWords) -> bool:
    """Does the error say that the request is at fault?"""
    names = {said.code, said.type, said.code.lower(), said.type.lower()}
    # Mistral calls an overload "invalid_request_error", too.
    if known.CAPACITY_TEXT.search(said.message):
        names.discard("invalid_request_error")
    return bool(names & known.REFUSED_CODES)


def _in_flight(parsed: Any) -> bool:
    """OpenRouter's 402 that only means too many requests at once."""
    error = parsed.get("error") if isinstance(parsed, Mapping) else None
    metadata = error.get("metadata") if isinstance(error, Mapping) else None
    return isinstance(metadata, Mapping) and metadata.get("limit_source") == "openrouter_in_flight_budget"


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


def _dump(body: Any) -> bytes:
    try:
        return orjson.dumps(body)
    except (TypeError, orjson.JSONEncodeError):
        return b""


def _text(of: Mapping[str, Any], key: str) -> str:
    value = of.get(key)
    return value if isinstance(value, str) else ""
