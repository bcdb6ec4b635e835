"""How a failure is told to a client: the status, the error object, and the upstream's own words where it sent some."""

from __future__ import annotations

from typing import Any

import orjson

from ..values.failures import Failure, Kind, Phase
from ..values.json import loads

_STATUS = {
    Kind.TERMINAL: 400,
    Kind.RATE_LIMIT: 429,
    Kind.STALL: 504,
    Kind.LOOP: 400,  # the only class that no SDK retries by itself
}


_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    429: "rate_limit_error",
    504: "timeout_error",
}


def http_status(failure: Failure) -> int:
    """The HTTP status that reports a failure: the upstream's own error status, else one by kind (502 by default)."""
    if failure.status is not None and 400 <= failure.status <= 599:
        return failure.status
    return _STATUS.get(failure.kind, 502)


def openai_error_object(failure: Failure) -> dict[str, Any]:
    """The `error` member: as the upstream sent it in its stream, with our members where it has none. Its type must be
    right, because OpenCode decides by it whether to ask again."""
    status = http_status(failure)
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    ours = {
        "message": failure.message or "The upstream failed.",
        "type": kind,
        "param": None,
        "code": failure.code or f"upstream_{failure.kind.value}",
    }
    given, _ = sent_error(failure)
    return {**ours, **{name: value for name, value in given.items() if value is not None or name not in ours}}


def sent_error(failure: Failure) -> tuple[dict[str, Any], dict[str, Any]]:
    """(error object, members beside it) of the event that reported this failure, as the upstream sent them: clients
    read members that we do not (OpenRouter's `metadata`), and the code may be a number. Two empty ones where there is
    none, or where the failure is not an error inside a stream."""
    if failure.body is None or failure.phase is not Phase.STREAM:
        return {}, {}
    try:
        given = loads(failure.body)
    except ValueError:
        return {}, {}
    if not isinstance(given, dict):
        return {}, {}
    around = given
    if isinstance(given.get("response"), dict):
        around = given["response"]
    error = around.get("error")
    if isinstance(error, dict):
        beside = {name: value for name, value in given.items() if name not in _FRAME}
        return error, beside
    if given.get("object") == "error" or (given.get("type") == "error" and "error" not in given):
        return {name: value for name, value in given.items() if name not in _FRAME}, {}
    return {}, {}


_FRAME = frozenset({"error", "choices", "id", "object", "created", "model", "usage", "system_fingerprint", "response",
                    "sequence_number", "streamfuse"})  # fmt: skip
"""Members of an event that belong to the answer, not to its error."""


def own_body(failure: Failure) -> bytes | None:
    """The upstream's own body under this status, where it is JSON of any shape (Gemini: an array, FastAPI: `detail`):
    the client gets what it would get without us. None for an error inside a stream, which has the shape of an event,
    and where the body is not JSON."""
    if failure.body is None or failure.phase is not Phase.HEADERS or http_status(failure) != failure.status:
        return None
    try:
        return failure.body if loads(failure.body) else None
    except ValueError:
        return None


def openai_error(failure: Failure) -> tuple[int, bytes]:
    """(status, body): the upstream's own body unchanged, where it answered with it or it has OpenAI's error shape; else
    a body of ours in that shape."""
    status = http_status(failure)
    if (own := own_body(failure)) is not None:
        return status, own
    if failure.body is not None:
        try:
            given = orjson.loads(failure.body)
        except orjson.JSONDecodeError:
            given = None
        error = given.get("error") if isinstance(given, dict) else None
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            return status, failure.body
    return status, orjson.dumps({"error": openai_error_object(failure)})
