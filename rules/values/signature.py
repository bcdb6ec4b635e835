"""Keys of an agent's steps: normalised text, canonical arguments, signatures of steps. Equal keys mean equal actions.

All of it follows MiMo-Code (docs/sources.md), JavaScript's number and string formatting included, so that the keys
agree with those of an agent that computes them itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from hashlib import blake2b, sha256
from itertools import pairwise
from typing import Any

import orjson

from .json import loads

JS_SPACE = "\t\n\x0b\x0c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""White space as JavaScript has it; Python's own class differs at U+0085 and U+001C–1F."""

_SPACES = re.compile(f"[{JS_SPACE}]+")
_LEAD = re.compile(r"(?:let me|i'll|i will|let's) ")
TEXT_KEY_CHARS = 200
"""MiMo-Code cuts the text key to 200 characters."""

VOLATILE_ARGUMENTS = frozenset(
    (
        *("title", "description", "display_name", "displayname", "label", "explanation", "reason", "comment"),
        *("thought", "request_id", "requestid", "trace_id", "traceid", "timestamp", "nonce", "idempotency_key"),
    )
)
"""Arguments that name or explain a call without changing what it does (public reports: a random title per call)."""

# Both begin with a plain class of characters, so that text without one is skipped many times faster.
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_CLOCK = re.compile(
    r"\d(?:\d{3}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d)?"  # dates with a time
    r"|(?<=\b\d)(?:\d:\d\d:\d\d(?:[.,]\d{1,9})?\b"  # clock times
    r"|\d{0,8}(?:\.\d{1,9})? ?(?i:ms|milliseconds|seconds|secs?|s)\b))",  # durations
)
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9+/_=-]{7,}")
_HEX = re.compile(r"[0-9a-f]{8,}|[0-9A-F]{8,}")
_WORD = re.compile(r"[^\W_]")
_WRAPPING = re.compile(
    r"\s{0,8}<system-reminder>.*?</system-reminder>"  # Claude Code 2.1: tokens left, tools gone, … after a result
    # Codex 0.171: before every result
    r"|\bChunk ID: [0-9a-f]{1,32}\nWall time: [\d.]{1,12} seconds\n(?:Process exited with code 0\n)?"
    r"(?:Original token count: \d{1,9}\n)?(?:Output:\n?)?",
    re.DOTALL,
)
"""Text that agents write around a tool's result, different each time though the result is the same (seen in their
requests)."""
_EDGE = 2048
"""Characters at either end of a long result in which the wrapping is looked for."""
_FOLD_LIMIT = 4096
_SHAPE = bytes.maketrans(b"123456789mMS", b"000000000sss")
"""Every digit as 0, the first letter of every unit of time as s."""
_DIGITS = re.compile(r"\d+")


def collapse(text: str) -> str:
    """Trimmed, lower-case, every run of (JavaScript) white space one space."""
    return _SPACES.sub(" ", text.lower()).strip(" ")


def normalise(text: str, limit: int | None = TEXT_KEY_CHARS) -> str:
    """MiMo-Code's text key: collapsed, one leading `let me `/`i'll `/`i will `/`let's ` removed, cut to `limit`."""
    taken = len(text) if limit is None else 4 * limit + 64
    while True:
        key = collapse(text[:taken])
        if (lead := _LEAD.match(key)) is not None:
            key = key[lead.end() :]
        if taken >= len(text):
            break
        # The last characters of a key may depend on the text behind it: white space, and letters whose lower case
        # depends on their neighbours.
        if limit is not None and len(key) >= limit + 8:
            break
        taken *= 4
    return key if limit is None else key[:limit]


def fold_digits(text: str) -> str:
    """Replace every run of digits by one 0, so that turns which differ only in numbers become equal."""
    return _DIGITS.sub("0", text)


def unwrapped(result: str) -> str:
    """A tool's result without the text that the agent wraps around it; the very same object where there is none."""
    if "<system-reminder>" not in result and "Chunk ID: " not in result:
        return result
    if len(result) <= 2 * _EDGE:
        return _WRAPPING.sub("", result)
    return _WRAPPING.sub("", result[:_EDGE]) + result[_EDGE:-_EDGE] + _WRAPPING.sub("", result[-_EDGE:])


def fold_clock(text: str) -> str:
    """Fold times, dates, UUIDs and durations in short texts. Counters stay, because a growing counter is progress.

    A text of nothing but such values stays as it is: it answers a call for them (the time, a new id).
    """
    if len(text) > _FOLD_LIMIT:
        return text
    folded = _UUID.sub("~", text) if text.count("-") >= 4 else text
    if not folded.isascii() or _may_hold_clock(folded):
        # No pattern crosses a line end. Most lines hold no such value, and a search at each digit is slow: 96 µs for
        # 1.8 kB of a program's output, 3 µs where no line has to be searched.
        folded = "\n".join(
            _CLOCK.sub("~", line) if not line.isascii() or _may_hold_clock(line) else line
            for line in folded.split("\n")
        )
    return folded if folded == text or _WORD.search(folded) else text


def _may_hold_clock(text: str) -> bool:
    """Does this ASCII text hold what every match of _CLOCK holds: a colon before a digit, or a digit before a unit?"""
    shape = text.encode().translate(_SHAPE)
    return b":0" in shape or b"0s" in shape or b"0 s" in shape


def fold_ids(text: str) -> str:
    """Fold everything that looks generated for one answer: hex of 8 or more digits, `req_…`, ULIDs, base64, times in
    seconds. Words, counters and short numbers stay."""
    return _TOKEN.sub(lambda token: "~" if _made_up(token[0]) else token[0], text[:_FOLD_LIMIT])


def _made_up(token: str) -> bool:
    if token.isdigit():
        return len(token) >= 10  # seconds since 1970, or more
    if not any(sign.isdigit() for sign in token):
        return False
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(token))
    return turns >= 2 or _HEX.fullmatch(token) is not None


def _number(value: float) -> str:
    """A number as JavaScript prints it: 1.0 → 1, 1e+21, 1e-7."""
    if isinstance(value, int):
        if abs(value) < 10**21:
            return str(value)
        value = float(value) if value.bit_length() < 1024 else math.inf
    if math.isnan(value) or math.isinf(value):
        return "null"
    text = repr(value)
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        plain = format(Decimal(text), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa.removesuffix('.0')}e{'+' if int(exponent) > 0 else '-'}{abs(int(exponent))}"


def _string(value: str) -> str:
    try:
        return orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, UnicodeEncodeError):
        return orjson.dumps(value.encode("utf-8", "replace").decode()).decode()


def canonical(value: Any, *, without: frozenset[str] = frozenset()) -> str:
    """JSON with sorted keys, no spaces, JavaScript numbers. `without`: members dropped at the top level only."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    if isinstance(value, dict):
        # JavaScript sorts by UTF-16 code units.
        keys = sorted((k for k in value if k.lower() not in without), key=lambda k: k.encode("utf-16-be", "replace"))
        return "{" + ",".join(f"{_string(k)}:{canonical(value[k])}" for k in keys) + "}"
    return _string(str(value))


def parse_arguments(arguments: str) -> Any:
    """The arguments as JSON; the raw string where they do not parse; an empty object where there are none."""
    if not arguments:
        return {}
    try:
        return loads(arguments.encode(errors="replace"))
    except orjson.JSONDecodeError:
        return arguments


def call_signature(name: str, arguments: str, *, loose: bool = False) -> str:
    """`tool:name:canonical arguments`; `loose` leaves out what only names or explains the call."""
    value = parse_arguments(arguments)
    without = frozenset[str]()
    if loose and isinstance(value, dict) and any(key.lower() not in VOLATILE_ARGUMENTS for key in value):
        without = VOLATILE_ARGUMENTS  # not where there are no others (a "think" tool): then they are the content
    return _signed(name, arguments, value, without)


def both_signatures(name: str, arguments: str) -> tuple[str, str]:
    """The strict and the loose `call_signature`, with the arguments parsed once."""
    value = parse_arguments(arguments)
    strict = _signed(name, arguments, value, frozenset())
    if isinstance(value, dict) and any(key.lower() in VOLATILE_ARGUMENTS for key in value):
        return strict, call_signature(name, arguments, loose=True)
    return strict, strict


def _signed(name: str, arguments: str, value: Any, without: frozenset[str]) -> str:
    try:
        return f"tool:{name}:{canonical(value, without=without)}"
    except RecursionError:
        return f"tool:{name}:{arguments}"


def step_signature(calls: Iterable[tuple[str, str]], *, loose: bool = False) -> str:
    """Signature of a step: its calls in order, joined by newline; "" where it has none."""
    return "\n".join(call_signature(name, arguments, loose=loose) for name, arguments in calls)


def streak_key(reasoning: str, calls: Iterable[tuple[str, str]]) -> str:
    """Key of a reply for the streak crop: its thinking, else its calls, else ""."""
    thinking = normalise(reasoning, limit=None)
    if thinking:
        return "reason:" + sha256(thinking.encode("utf-8", "replace")).hexdigest()[:16]
    signature = step_signature(calls)
    return f"tool:{signature}" if signature else ""


def digest(text: str) -> str:
    """A stable 128-bit key of a text, for state that must not contain the text."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
