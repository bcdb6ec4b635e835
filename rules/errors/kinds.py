"""Which kind of failure do an error's status and words mean?

The questions come in MiMo-Code's order (retry.ts: quota, status, stream, network, rate limit, overload, status again),
extended by the errors that providers really send. The first question that answers decides. The words stand in
`error_words`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ..values.failures import Kind, Phase
from . import error_words as known
from .error_body import BASE_RESP, ErrorWords


def kind_of(
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
    """The (kind, code, phase where it is forced) of an error. `status`: the HTTP status, None where there is none.
    `said`: the parsed words; `text`: the whole body as text; `message`: what people read. `inside`: the error came in
    a 200. `flagged`: the upstream itself says that it may be tried again.
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
    if quota_spent(said, message, parsed, hint):
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


def quota_spent(said: ErrorWords, message: str, parsed: Any, hint: float | None) -> bool:
    """Is a quota used up that no wait fills within the budgets' time? `hint`: the wait that the upstream names, in
    seconds."""
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
    raw = dumped(details)
    return b"PerDay" in raw or b'"quotaValue":"0"' in raw


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


def dumped(body: Any) -> bytes:
    """The body as JSON, b"" where it cannot be written as such."""
    try:
        return orjson.dumps(body)
    except (TypeError, orjson.JSONEncodeError):
        return b""


def _text(of: Mapping[str, Any], key: str) -> str:
    value = of.get(key)
    return value if isinstance(value, str) else ""
