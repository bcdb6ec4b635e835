"""Words as `novelty` reads them: how text is split into them, what is worth knowing of each, and escapes undone."""

from __future__ import annotations

import re
from typing import Final, TypeAlias
from zlib import crc32

WORDS: Final = 8192
"""Different words that are remembered, by all answers together."""
TOKEN: Final = re.compile(
    r" ?([a-z]{1,32}|[A-Z][a-z]{1,32}|[!-/:-@\[-`{-~](?![^\w\s]|_)|\n|[A-Z]{1,32}(?![a-z])|[A-Z]|[0-9]{1,18}"
    r"|[^\W0-9A-Za-z_]{1,3}|(?:[!-/:-@\[-`{-~]|[^\w\s]){1,4})"
)
"""Words (CamelCase split, other scripts by three), numbers, up to four signs, line ends. Every repeat is bounded. The
blank before a word, and a sign that stands alone, are there for speed only."""
_NUMERALS: Final = {
    word: number
    for number, words in {
        1: "one first", 2: "two second II", 3: "three third III", 4: "four fourth IV", 5: "five fifth",
        6: "six sixth VI", 7: "seven seventh VII", 8: "eight eighth VIII", 9: "nine ninth IX", 10: "ten tenth",
        11: "eleven eleventh XI", 12: "twelve twelfth XII", 13: "thirteen XIII", 14: "fourteen XIV", 15: "fifteen XV",
        16: "sixteen XVI", 17: "seventeen XVII", 18: "eighteen XVIII", 19: "nineteen XIX", 20: "twenty XX",
        30: "thirty", 40: "forty", 50: "fifty", 60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety", 100: "hundred",
    }.items()
    for word in words.split()
}  # fmt: skip
"""Number words are numbers: they are news unless they stay or step, and may count on."""
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
HALF = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
"""An escape that may go on in the next block."""
_MEANT: Final = {"n": "\n", "t": "\t", "r": " "}
NUMBER: Final = crc32(b"#") >> 2
_STOPS = frozenset((".", "!", "?", "。", "！", "？"))
"""A sentence's first words are judged without the sentence before it: order is no news."""
_WIDE: Final = "\u2e80"
"""Signs from here on (ideographs, kana, hangul, emoji) say as much as two letters, and count so."""
LINE: Final = crc32(b"\n") >> 2
Code: TypeAlias = tuple[int, int, int, int, int, int, int, str]


class _Codes(dict[str, Code]):
    """What is worth knowing of a word, computed once: its size; its hash, the same in every process and of 30 bits (the
    fastest ints), numbers folded into one; that hash as the first of a pair, and as one, two and three words back in a
    run (the bits that are used); 0, or 1 for a stop, or 2 and more for the number that it is; the word."""

    def __init__(self) -> None:
        self.ring = [""] * WORDS
        self.at = 0
        """The place in the ring of the word that makes room for the next one."""

    def __missing__(self, token: str) -> Code:
        size = len(token) if token < _WIDE else 2 * len(token)
        if "0" <= token[0] <= "9":
            return size, *_hashes(NUMBER), 2 + (int(token) & 0xFFFF), token
        value = _NUMERALS.get(token) or _NUMERALS.get(token.lower(), 0)
        code = NUMBER if value else crc32(token.lower().encode()) >> 2
        at, ring = self.at, self.ring
        self.pop(ring[at], None)
        ring[at] = token
        self.at = (at + 1) % WORDS
        self[token] = known = (
            size, code, code << 1 & 0x3FFF, code << 3 & _BITS, code << 6 & _BITS, code << 9 & _BITS,
            2 + value if value else 1 if token in _STOPS else 0, token,
        )  # fmt: skip
        return known


def _hashes(code: int) -> tuple[int, int, int, int, int]:
    return code, code << 1 & 0x3FFF, code << 3 & _BITS, code << 6 & _BITS, code << 9 & _BITS


SPREAD: Final = 0x9E3779B1
"""Parts the hashes of numbers that stand side by side (2 to the 32nd by the golden ratio)."""
_BITS: Final = (1 << 29) - 1
NONE: Final[Code] = (0, 0, 0, 0, 0, 0, 0, "")
code_of = _Codes().__getitem__


def meant(found: re.Match[str]) -> str:
    """The sign that an escape stands for."""
    if not found[1]:
        return " " + _MEANT.get(found[2], found[2])
    point = int(found[1], 16)
    return chr(point if point >> 11 != 0x1B else 0xE000 | point & 0x7FF)  # half of an emoji: a sign of its own
