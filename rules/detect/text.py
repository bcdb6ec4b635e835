"""How text falls into tokens and lines, the same wherever a stream is cut. Nothing here knows models or protocols.

White space is JavaScript's (the seed systems run there): it holds NBSP and BOM, but not U+0085 or U+001C-1F,
which Python's own `str.split` and `str.strip` would take.
"""

from __future__ import annotations

import re

SPACE = "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
"""ECMAScript's WhiteSpace and LineTerminator."""

_CJK = "\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
"""Characters that are tokens of their own (MiMo-Code; U+3000 is white space there, so the block starts after it).

U+FEFF lies outside; Hangul, Thai and astral ideographs are not split.
"""

TOKEN = re.compile(f"([{_CJK}])|[^{_CJK}{SPACE}]+")
"""One token: a character of the CJK blocks (group 1), or a run of anything else that is not white space."""

WORD = 64
"""Characters of a word that are kept as they are; longer words (base64, minified code) are folded into a digest."""


def tokens(text: str) -> list[str]:
    """The tokens of a whole text, lower-case."""
    return [match.group().lower() for match in TOKEN.finditer(text)]


class Word:
    """A word that is still growing: bounded, and equal to another exactly when their letters are, however cut."""

    __slots__ = ("_digest", "_text", "length")

    def __init__(self) -> None:
        self._text = ""
        self._digest = 0
        self.length = 0

    def grow(self, text: str) -> None:
        """More letters of it, no white space."""
        self.length += len(text)
        text = self._text + text
        if len(text) > WORD:
            last = (len(text) - 1) // WORD * WORD
            for at in range(0, last, WORD):
                self._digest = hash((self._digest, text[at : at + WORD].lower()))
            text = text[last:]
        self._text = text

    @property
    def key(self) -> str:
        """The form that is compared: the word in lower case, or a digest and its last letters."""
        return f"{self._digest:x} {self._text.lower()}" if self._digest else self._text.lower()

    def clear(self) -> None:
        """The next word."""
        if self._digest:
            self._digest = 0
        self._text = ""
        self.length = 0
