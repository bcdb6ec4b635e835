"""Our own words, as they may stand in an answer or a request: told apart from everybody else's by one mark.

Whatever we write into a conversation begins with the mark in square brackets and ends its paragraph, so that it can be
taken out on the way back in and never counts as something the model or the user said.
"""

from __future__ import annotations

import re

MARK = "[streamfuse]"
_NOTICE = re.compile(r"(?:\n\n|^)\[streamfuse\][^\n]*(?:\n(?!\n)[^\n]*)*")


def marked(text: str) -> str:
    """A notice or reminder with its mark."""
    return f"{MARK} {text}"


def has_notice(text: str) -> bool:
    """Does our mark stand in this text?"""
    return MARK in text


def strip_notices(text: str) -> str:
    """The text without our notices; the very same object where there are none."""
    if MARK not in text:
        return text
    return _NOTICE.sub("", text)
