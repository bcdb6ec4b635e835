"""Reads JSON as it comes on wires: strictly and fast where it is clean, and leniently where only its characters are
broken.

A lone surrogate (`\\ud83d` without its other half) is valid JSON by its grammar (RFC 8259 §8.2): servers write one when
they cut an emoji between two chunks, agents when they shorten a tool's output. orjson refuses it, as it does invalid
UTF-8. The parsed value has U+FFFD in its place; the bytes themselves are forwarded unchanged. A byte order mark before
the value is left out, as Python's and JavaScript's clients do (RFC 8259 §8.1 allows it).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

import orjson
from pydantic_core import from_json

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


LONG = 4 << 20
"""Bytes from which jiter (pydantic's parser) is asked first. orjson copies its whole input before it reads it; jiter
reads it where it is, so that a request of 60 MB takes 60 MB less while it is parsed."""


def loads(data: bytes) -> Any:
    """Parse JSON. Raises orjson.JSONDecodeError (a ValueError) where the data is not JSON."""
    if len(data) >= LONG:
        try:
            return from_json(data, allow_inf_nan=False)
        except ValueError:
            pass  # it nests deeper than jiter allows, its characters are broken, or it is no JSON: let orjson decide
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as strict:
        mark = codecs.BOM_UTF8
        if data.startswith(mark) and not data.startswith(mark + mark):
            return loads(data[len(mark) :])
        if _SURROGATE.search(data) is None and _is_utf8(data):
            raise
        try:
            value = json.loads(data.decode(errors="replace"), parse_constant=_refuse)
            text = json.dumps(value, ensure_ascii=False)
            return orjson.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        except (ValueError, RecursionError):
            raise strict from None


def lenient(data: bytes) -> Any:
    """As `loads`, but accepts NaN and Infinity: servers in Python write them into logprobs, and clients in Python read
    them. Raises a ValueError where the data is not JSON."""
    try:
        return loads(data)
    except orjson.JSONDecodeError:
        if b"NaN" not in data and b"Infinity" not in data:
            raise
        try:
            return json.loads(data)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def newest(body: Mapping[str, Any], member: str) -> Any:
    """The last item of a list in a request's body; a member that is no list as it is; None where there is none. A body
    that was read in part, or has let its history go, has a method of this name, so that nobody parses all of it for
    this: it knows the end of a text, and may know the last item only where that is an answer to be continued."""
    if (own := getattr(body, "newest", None)) is not None:
        return own(member)
    value = body.get(member)
    return (value[-1] if value else None) if type(value) is list else value


def is_json(text: str) -> bool:
    """Can `loads` read this text?"""
    try:
        loads(text.encode(errors="replace"))
    except orjson.JSONDecodeError:
        return False
    return True


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
