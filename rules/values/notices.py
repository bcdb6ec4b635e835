"""Notices: words of ours in an answer or a request, recognised by one mark.

A notice is the last paragraph of an answer and begins with the mark. It is removed when the client sends the answer
back, so it never counts as the model's own text. The mark anywhere else is a quotation and stays.
"""

from __future__ import annotations

MARK = "[streamfuse]"
HALF = "The model's answer broke off in the middle of a tool call. The call was dropped."
"""The notice in place of a call that broke off: such an answer did not loop."""


MOST = 256
"""Notices that are taken off the end of one text. An answer that was continued and cut again ends in a handful; a text
of 300,000 marks would hold the loop for most of a second."""


def marked(text: str) -> str:
    """A notice or reminder with its mark. Blank lines are removed, because a blank line would end the notice."""
    return f"{MARK} " + "\n".join(line for line in text.split("\n") if line.strip())


def strip_notices(text: str) -> str:
    """The text without the notices at its end and the white space before them; the very same object where there is
    none. An answer that was continued and cut again may end in several notices."""
    end, whole = len(text), True
    last = _stripped(text, end)
    for _ in range(MOST):
        if (start := text.rfind(MARK, 0, end)) < 0:
            break
        ahead = _stripped(text, start, " \t")
        if (ahead and text[ahead - 1] != "\n") or text.find("\n\n", start, last) >= 0:
            break
        end = last = _stripped(text, start)
        whole = False
    return text if whole else text[:end]


def _stripped(text: str, end: int, chars: str | None = None) -> int:
    """Where `text[:end].rstrip(chars)` ends, without copying the text: a text may hold thousands of marks."""
    size = 64
    while end > 0:
        start = max(0, end - size)
        if kept := len(text[start:end].rstrip(chars)):
            return start + kept
        end, size = start, size * 2
    return 0


def has_notice(text: str) -> bool:
    """Does this answer end in a notice?"""
    return MARK in text and strip_notices(text) is not text
