"""Why a rule fired, in one sentence that a user believes. Numbers only: never a character of the answer."""

from __future__ import annotations

from typing import Final

from ..values.verdict import Hit
from .odds import load

_MEASURES: Final = {
    "clean": "nothing new was said for {value:,} characters",
    "calm": "nothing but the numbers was new for {value:,} characters",
    "stale": "nearly nothing new was said for {value:,} characters",
    "known": "{value:,} characters of sentences that had been said twice before",
    "poor": "the newest {value:,} characters hold eight different words at most",
}


def because(hit: Hit) -> str:
    """What was seen ("the same 47 characters, 7 times") and, where the score decided, how many such texts stopped."""
    seen = hit.evidence
    if "odds" in seen:
        return _past(seen["odds"], seen.get("nothing_new", 0.0))
    for name, sentence in _MEASURES.items():
        if name in seen:
            told = sentence.format(value=round(seen[name]))
            return f"{told}, about {hit.copies:g} times the same" if hit.copies and name != "poor" else told
    if "span" in seen and hit.period and hit.copies:
        return f"the same {hit.period:,} characters, {hit.copies:.3g} times"
    if hit.copies and hit.copies >= 2:
        return f"the same again, {hit.copies:.3g} times"
    return f"{hit.span:,} characters of repetition" if hit.span else "a repetition"


def _past(score: float, span: float) -> str:
    """For example: nothing new was said for 640 characters; of 212 texts that went on like this for 512 characters, 3
    stopped by themselves."""
    told = f"little new was said for {round(span):,} characters"
    past = load().past(score, span)
    if past is None:
        return told
    texts, long, stopped = past
    for_long = f" for {long:,} characters" if long else ""
    return f"{told}; of {texts:,} texts that went on like this{for_long}, {stopped or 'none'} stopped by themselves"
