"""Our own words, as they may stand in an answer or a request: told apart from everybody else's by one mark.

Whatever we write into a conversation begins with the mark and ends with its paragraph, so that it can be taken out on
the way back in and never counts as something the model or the user said.
"""

from __future__ import annotations

MARK = "[streamfuse]"


def marked(text: str) -> str:
    """A notice or reminder with its mark; blank lines would end it early and are closed up."""
    return f"{MARK} " + "\n".join(line for line in text.split("\n") if line.strip())


def has_notice(text: str) -> bool:
    """Does our mark stand in this text?"""
    return MARK in text


def strip_notices(text: str) -> str:
    """The text without our notices and the white space before them; the very same object where there are none."""
    start = text.find(MARK)
    if start < 0:
        return text
    kept = []
    rest = text
    while start >= 0:
        kept.append(rest[:start].rstrip())
        end = rest.find("\n\n", start)
        rest = "" if end < 0 else rest[end:]
        start = rest.find(MARK)
    return "".join(kept) + rest
