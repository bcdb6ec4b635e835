"""Recognises a 200 that was no answer when it comes again: two are alike where only ids, numbers and times differ.

A provider that answers 200 with a web page, with `{}` or with a stream that breaks its grammar is set up wrongly. If
the same answer comes again, waiting does not help. An answer that names its error (an overload, a limit), an answer
that names a wait, and a connection that broke may pass, so they have no likeness.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Final

from ..values.failures import Failure, Kind, Phase

MOST: Final = 256 << 10
"""Bytes of an answer that are compared; a longer one equals no other."""

LONG: Final = 32
"""Characters from which a word counts as an id although it has no digit."""

INVALID: Final = "streamfuse_upstream_invalid"
"""Our code for an answer that is no valid HTTP, or whose coding does not hold."""

SHORT: Final = "streamfuse_short_body"
"""Our code for an answer that ends in order before its Content-Length."""

STRANGE: Final = frozenset(
    {
        INVALID,
        "streamfuse_empty_stream",
        "streamfuse_event_too_large",
        "streamfuse_half_call",
        "streamfuse_not_an_answer",
        "streamfuse_truncated",
        "streamfuse_unreadable",
        "streamfuse_upstream_too_large",
    }
)
"""Our codes for answers that cannot be read, or that end without being one."""

OVERSIZE: Final = frozenset({"streamfuse_event_too_large", "streamfuse_upstream_too_large"})
"""Our codes for answers over our limits. They are not kept, and equal each other: what is too large once is not
smaller when it is asked for again."""

OF_SERVERS: Final = frozenset({INVALID, SHORT})
"""Our codes for answers that a server spoils in the same way whatever it is asked: their bytes need not be compared."""

_WORD = re.compile(rb"[\w.:+/=-]+")
_DIGIT = re.compile(rb"\d")


def strange(failure: Failure) -> bool:
    """Was this 200 no answer, without a sign that the failure may pass? Errors in a 200 that no table knows count,
    too."""
    if failure.phase is not Phase.STREAM or failure.retry_after is not None:
        return False
    return failure.code in STRANGE or (failure.kind is Kind.UNKNOWN and failure.rule is None)


def useless(failure: Failure) -> bool:
    """Was this a thing that is no answer, and no sign of an outage either? Bytes that are no HTTP are one, too."""
    return failure.retry_after is None and (failure.code == INVALID or strange(failure))


def known(failure: Failure, came: bytes) -> Failure:
    """The failure with its likeness, where `came`, all bytes of a 200 that was no answer, can be compared."""
    if failure.code in OVERSIZE:
        came = b""
    return compared(failure, came) if strange(failure) else failure


def compared(failure: Failure, came: bytes) -> Failure:
    """The failure with the likeness of `came`, whatever it says of itself; without one where `came` is too long."""
    if len(came) > MOST:
        return failure
    state = hashlib.blake2b((failure.code or "").encode("utf-8", "replace"), digest_size=8)
    state.update(b"\0" + _WORD.sub(_folded, came))
    return replace(failure, likeness=state.hexdigest())


def common(failure: Failure) -> str:
    """What is compared between the failures of different requests (`Repeats`); "" for a failure that may pass. Damaged
    answers to different prompts never hold the same bytes, so our own codes are compared, and the likeness only of
    errors that no table knows."""
    code = failure.code or ""
    known = code in OF_SERVERS or (failure.likeness and code in STRANGE)
    return code if known else failure.likeness


def _folded(word: re.Match[bytes]) -> bytes:
    found = word[0]
    return b"#" if len(found) >= LONG or _DIGIT.search(found) else found
