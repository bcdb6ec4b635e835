"""Turns a tool result into text that can be compared: words stay, everything else becomes a digest.

A picture, a document, a sound or a file is content, too: two results are equal only if these are equal. Digests are
written in letters only, so that they contain no number that could be read as an error code.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import orjson

_LETTERS = str.maketrans("0123456789", "ghijklmnop")
_WHOLE = 1 << 16
"""Bytes of a part that go through blake2b whole. A longer one goes by its length, its CRC-32 and both its ends: five
times as fast, and a request may bring back megabytes of pictures."""
_END = 4096
_ASIDE = frozenset({"cache_control", "id"})
"""Members that are not content: where the prompt cache ends, and the part's id."""


def result_of(content: Any) -> str:
    """A tool result as text. Parts that are not text stand in it as `[type digest]`."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(_said(part) for part in content)
    return "" if content is None else _said(content)


def _said(part: Any) -> str:
    if not isinstance(part, dict):
        return str(part)
    text, kind = part.get("text"), part.get("type")
    if isinstance(text, str) and text:
        return text
    if isinstance(kind, str):
        return f"[{kind} {part_digest(part)}]" if any(True for _ in _leaves(part)) else kind
    try:
        return orjson.dumps(part).decode()  # a shell's {"stdout": …}: words that can be read
    except (TypeError, ValueError):
        return str(part)


def part_digest(part: dict[str, Any]) -> str:
    """A key of all content of a part, in 16 letters."""
    state = blake2b(digest_size=8)
    for leaf in _leaves(part):
        raw = leaf.encode("utf-8", "replace")
        if len(raw) > _WHOLE:
            raw = b"%d %d " % (len(raw), zlib.crc32(raw)) + raw[:_END] + raw[-_END:]
        state.update(b"%d:" % len(raw))
        state.update(raw)
    return state.hexdigest().translate(_LETTERS)


def _leaves(value: Any, depth: int = 0) -> Iterator[str]:
    """Every value in it with the names above it, in order; the part's own type aside."""
    if depth > 16:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in _ASIDE or (not depth and name == "type"):
                continue
            if isinstance(inner, (dict, list)):
                yield from _leaves(inner, depth + 1)
            elif inner is not None and inner != "":
                yield f"{name}={inner}" if len(str(name)) < 64 else str(inner)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, (dict, list)):
                yield from _leaves(inner, depth + 1)
            else:
                yield str(inner)
