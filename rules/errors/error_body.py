"""Reads code, type and message out of an error body of any shape. Accepts any bytes, never raises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

_TITLE = re.compile(rb"<title[^>]*>([^<]{1,200})", re.I)
_CHARS = 4096

BASE_RESP = "base_resp"
"""Type of an error that MiniMax reports in its `base_resp`; its code is one of MiniMax's own numbers."""


class ErrorWords(NamedTuple):
    """The words of an error body, "" where there are none. `details` is its `details` object."""

    code: str = ""
    type: str = ""
    message: str = ""
    details: Mapping[str, Any] = {}
    param: str = ""

    @property
    def status(self) -> int | None:
        """The code as an HTTP error status, where it is one."""
        return int(self.code) if re.fullmatch(r"[45][0-9]{2}", self.code) else None


def read(body: Any, raw: bytes) -> ErrorWords:
    """The words of a parsed error body; of `raw`, where it is not JSON, the title of an HTML page, or the plain text.

    Shapes, in this order: {error: {…}}, {error: "…"}, [{error}], {type: error}, {object: error}, {response: {error}},
    {x_groq: {error}}, {detail}, {message}, {errors: […]}, {msg}, {error_code, error_msg}; MiniMax's {base_resp} before
    all. A message that is JSON is opened once.
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        title = _TITLE.search(raw[:4096])
        if title:
            return ErrorWords(message=title[1].decode("utf-8", "replace").strip())
        return ErrorWords(message=body[:_CHARS].strip() if isinstance(body, str) else _plain(raw))
    said = _object(body)
    nested = _nested(said.message)
    if nested is None:
        return said
    inner = _object(nested)
    return ErrorWords(
        inner.code or said.code,
        inner.type or said.type,
        inner.message or said.message,
        inner.details or said.details,
        inner.param or said.param,
    )


def base_resp(body: Mapping[str, Any]) -> tuple[str, str] | None:
    """(code, message) of MiniMax's `base_resp`; None where there is none, or its code is 0 (success)."""
    verdict = body.get("base_resp")
    if not isinstance(verdict, Mapping) or not verdict.get("status_code"):
        return None
    return _text(verdict.get("status_code")), _text(verdict.get("status_msg"))


def _plain(raw: bytes) -> str:
    """A body of plain text without markup, as one line."""
    text = raw[:_CHARS].decode("utf-8", "replace").strip()
    if (
        not text
        or text.startswith(("<", "{", "["))
        or "\ufffd" in text[:-1]
        or not text.replace("\n", " ").isprintable()
    ):
        return ""
    return " ".join(text.split())


def _object(body: Mapping[str, Any]) -> ErrorWords:
    if (verdict := base_resp(body)) is not None:
        return ErrorWords(verdict[0], BASE_RESP, verdict[1])
    error = body.get("error")
    if not error and isinstance(body.get("response"), Mapping):
        error = body["response"].get("error")
    if not error and isinstance(body.get("x_groq"), Mapping):
        error = body["x_groq"].get("error")
    if isinstance(error, str) and error:
        return ErrorWords(_text(body.get("code")), _type(body), error[:_CHARS])
    if not isinstance(error, Mapping):
        error = {}
    status = error.get("status")
    code = _text(error.get("code")) or _text(body.get("code")) or _text(body.get("error_code"))
    kind = _text(error.get("type")) or _type(body)
    if not kind and isinstance(status, str):
        kind = status  # Google's word beside its numeric code
    details = error.get("details")
    return ErrorWords(
        code,
        kind,
        _message(error) or _message(body),
        details if isinstance(details, Mapping) else {},
        _text(error.get("param")) or _text(body.get("param")),
    )


def _type(body: Mapping[str, Any]) -> str:
    kind = _text(body.get("type"))
    return "" if kind in ("error", "response.failed", "response.error") else kind


def _message(of: Mapping[str, Any]) -> str:
    for key in ("message", "detail", "errors", "msg", "error_msg", "errmsg"):
        value = of.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, Mapping):
            value = value.get("message") or value.get("msg") or value.get("detail") or value
        if value:
            return _text(value) or _dump(value)
    return ""


def _text(value: Any) -> str:
    """Text of a scalar; LiteLLM writes "None" where it means null."""
    if isinstance(value, bool) or value is None or value == "None":
        return ""
    return str(value)[:_CHARS] if isinstance(value, str | int | float) else ""


def _dump(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()[:_CHARS]
    except (TypeError, orjson.JSONEncodeError):
        return ""


def _nested(message: str) -> Mapping[str, Any] | None:
    if not message.startswith(("{", "[")):
        return None
    try:
        inner = orjson.loads(message)
    except orjson.JSONDecodeError:
        return None
    if isinstance(inner, list) and inner:
        inner = inner[0]
    return inner if isinstance(inner, Mapping) else None
