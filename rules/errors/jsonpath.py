"""Paths into parsed JSON: JSON pointers (RFC 6901) with `*` for exactly one member or element, whatever its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_INDEX = re.compile("0|[1-9][0-9]{0,8}", re.ASCII)


class JsonPath:
    """`/error/*`, `/choices/*/finish_reason`. `~1` is a slash in a name, `~0` a tilde; a number also addresses an
    element of an array."""

    __slots__ = ("head", "segments", "text")

    def __init__(self, text: str) -> None:
        """Raises ValueError where the path does not start with a slash or holds a bare tilde."""
        if not text.startswith("/"):
            raise ValueError("a path starts with /")
        if text.replace("~0", "").replace("~1", "").count("~"):
            raise ValueError("a tilde in a path is written ~0, a slash ~1")
        self.text: Final = text
        self.segments: Final = tuple(
            None if segment == "*" else segment.replace("~1", "/").replace("~0", "~") for segment in text[1:].split("/")
        )
        self.head: Final = self.segments[0]
        """The member of the root that must be there for the path to lead anywhere; None = any."""

    def values(self, root: Any) -> Iterator[Any]:
        """Every value the path leads to, in document order."""
        return _walk(root, self.segments, 0)

    def __repr__(self) -> str:
        return f"JsonPath({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonPath) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def _walk(value: Any, segments: tuple[str | None, ...], at: int) -> Iterator[Any]:
    if at == len(segments):
        yield value
        return
    segment = segments[at]
    if type(value) is dict:
        if segment is None:
            for member in value.values():
                yield from _walk(member, segments, at + 1)
        elif segment in value:
            yield from _walk(value[segment], segments, at + 1)
    elif type(value) is list:
        if segment is None:
            for element in value:
                yield from _walk(element, segments, at + 1)
        elif _INDEX.fullmatch(segment) and int(segment) < len(value):
            yield from _walk(value[int(segment)], segments, at + 1)
