"""Why a rule fired, in one sentence that a user believes. Numbers only: never a character of the answer."""

from __future__ import annotations

from typing import Final

from ..values.verdict import Hit

_MEASURES: Final = {
    "clean": "nothing new was said for {value:,} characters",
    "calm": "nothing but the numbers was new for {value:,} characters",
    "stale": "nearly nothing new was said for {value:,} characters",
    "known": "{value:,} characters of sentences that had been said twice before",
    "poor": "the newest {value:,} characters hold eight different words at most",
}


def because(hit: Hit) -> str:
    """What was seen, for example "the same 47 characters, 7 times"."""
    seen = hit.evidence
    for name, sentence in _MEASURES.items():
        if name in seen:
            told = sentence.format(value=round(seen[name]))
            return f"{told}, about {hit.copies:g} times the same" if hit.copies and name != "poor" else told
    if "span" in seen and hit.period and hit.copies:
        return f"the same {hit.period:,} characters, {hit.copies:.3g} times"
    if hit.copies and hit.copies >= 2:
        return f"the same again, {hit.copies:.3g} times"
    return f"{hit.span:,} characters of repetition" if hit.span else "a repetition"
