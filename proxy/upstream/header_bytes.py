"""Header values keep their bytes, whatever they are: what comes in as Latin-1 goes out as Latin-1.

aiohttp reads a header as UTF-8 and keeps the bytes that are none (RFC 9110 §5.5: obs-text) as lone surrogates; when it
writes headers it leaves those out. Its one function that writes headers, for requests and for answers, is replaced by
one that hands such headers to Python's own codec. Headers without such bytes are written as before.
"""

from __future__ import annotations

import re
from typing import Any

from aiohttp import http_writer
from multidict import CIMultiDict

_FORBIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_plain: Any = http_writer._serialize_headers


def serialized(status_line: str, headers: CIMultiDict[str]) -> bytes:
    """The head of a message. Raises ValueError for a control character, as aiohttp does."""
    if "".join(headers.values()).isascii():
        return bytes(_plain(status_line, headers))
    lines = [status_line, *(f"{name}: {value}" for name, value in headers.items())]
    if any(_FORBIDDEN.search(line) for line in lines):
        raise ValueError("A header holds a control character.")
    try:
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte, out of a configured value
        return bytes(_plain(status_line, headers))


def install() -> None:
    """Write all headers of this process so. May be called again."""
    http_writer._serialize_headers = serialized
