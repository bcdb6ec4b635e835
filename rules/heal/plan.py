"""May a looping answer be healed, how, and what came of it? Everything is decided here; the proxy carries it out.

A heal stops the first call, asks once more with what has to change changed, and lets the second answer go on in the
client's stream. It never makes an answer worse: whatever goes wrong with the second call, the answer ends with the
quiet end that it would have had. What is done depends on where the loop was:

| the loop was in | the client has | the second request |
|---|---|---|
| reasoning | reasoning, or nothing | thinking off, or as low as it goes; the looped reasoning is not sent back |
| text | text | the text before the first copy as a prefill, warmer; from scratch where that is little |
| text | nothing (a whole answer) | the same, warmer |
| the arguments of a call that was not shown | text | that text as a prefill, warmer |
| the arguments of a call that was not shown | nothing | the same, warmer |

Everything here is a pure function of its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from ..after.decision.free import refuses_prefill
from ..errors.error_words import CONTEXT
from ..framing.think_tags import CLOSING, inside
from ..values.delta import Channel
from ..values.failures import Failure, Kind, Phase
from ..values.steps import finish_word
from ..values.transcript import Shape, Shown, Transcript
from ..values.verdict import Finding
from ..wires.base import Ask, Change, Json, Wire
from ..wires.server_cuts import BROKEN_OFF
from .providers import LOCAL, Takes, for_model
from .seam import Seam, completion, in_fence, trimmed

LEAST_KEPT: Final = 80
"""Characters of kept text below which the answer is asked for from scratch: so little tells the model nothing."""
REFUSING: Final = (400, 422, 501)
"""Statuses that may say that a parameter or a style is not taken. Others speak of this one request (413), of the key
or the account (401, 403, 429), or of the model (404)."""
MOST_KEPT: Final = 400_000
"""Characters of text that are looked at for a heal; longer answers are cut as ever."""
NOTE: Final = "Your last answer began to repeat itself and was stopped. Go on with the task, without repeating it."

NOTHING_NEW: Final = Failure(
    Phase.STREAM, Kind.STREAM, "The second answer said nothing new.", code="streamfuse_nothing_new"
)
WITHHELD: Final = Failure(
    Phase.STREAM, Kind.STREAM, "The provider withheld the second answer.", code="streamfuse_withheld"
)


class HealStyle(StrEnum):
    """How far a heal may go (`providers.NAME.heal`, `x-streamfuse-heal`)."""

    AUTO = "auto"
    THINKING = "thinking"
    PREFILL = "prefill"
    NOTE = "note"
    NONE = "none"


class HealResult(StrEnum):
    """What came of a heal (the label of `streamfuse_heals_total`)."""

    HEALED = "healed"
    AGAIN = "again"
    """The second answer looped, too."""
    POOR = "poor"
    """No rule fired, but there is no new text, or it is hardly better than a loop."""
    MEANT = "meant"
    """It went on in the same way, with other rows: the model meant it, and the cut was a false alarm of ours."""
    REFUSED = "refused"
    """The provider would not answer the second request."""
    RESTARTED = "restarted"
    """It began its answer anew where it should have continued."""
    SLOW = "slow"
    BROKEN = "broken"
    """The second answer broke off, or the proxy was shut down."""
    WATCHED = "watched"
    """Mode `watch`: a heal would have been tried."""


@dataclass(frozen=True, slots=True)
class HealPlan:
    """A heal that may be tried."""

    style: str
    """thinking, prefill, scratch or note."""
    body: Json = field(repr=False)
    """The second request."""
    changed: tuple[str, ...]
    """Names of the members that differ."""
    finding: Finding
    text: str = field(default="", repr=False)
    """All visible text that the model wrote, shown or withheld."""
    shown: int = 0
    """How much of it the client has."""
    kept: int = 0
    """How much of it the model is given."""
    resent: int | None = None
    """Output tokens of the first answer that the second prompt holds."""
    way: str = ""
    """How thinking is ended, in the words of `Takes.thinking`."""
    unit: str = field(default="", repr=False)
    """One copy of the loop; "" where it is not exact, or not known."""
    tagged: bool = False
    """The client's text ends inside a `<think>` tag."""

    def seam(self) -> Seam:
        """Where the second text joins the shown one."""
        if self.finding.channel is not Channel.TEXT:
            # Nothing of the loop is in the text: the new text continues all of it.
            return Seam(self.text[: self.shown], self.shown, self.shown, tag=CLOSING if self.tagged else "")
        return Seam(self.text, self.shown, self.kept, len(self.unit) or None)

    def facts(self, result: HealResult) -> dict[str, Any]:
        """For the extra object, the journal and the page: numbers and names only."""
        return {
            "result": result.value,
            "style": self.style,
            "rounds": 1,
            "kept": self.kept,
            "shown": self.shown,
            "changed": list(self.changed),
        }


@dataclass(frozen=True, slots=True)
class Looped:
    """An answer that looped, as far as a heal looks at it."""

    finding: Finding
    transcript: Transcript
    since: int = 0
    """Where the loop begins in the visible text."""
    withheld: str = field(default="", repr=False)
    """Text behind what was shown that the client has not been sent."""
    events: int = 0
    whole: bool = False
    """A whole answer: nothing was shown."""
    calls: bool = False
    """Complete tool calls leave with the cut: the agent goes on by itself."""


def heal_plan(
    looped: Looped,
    *,
    wire: Wire,
    ask: Ask,
    style: HealStyle | None,
    known: Takes,
    refused: Collection[str] = (),
    note: str = NOTE,
) -> HealPlan | None:
    """The heal of this answer, or None where it may not be healed. `style` None: nobody has written one. `refused`:
    parameters and styles that this provider has refused for this model."""
    if not known.name and (known.prefill or style in (HealStyle.PREFILL, HealStyle.NOTE)):
        known = replace(known, hottest=LOCAL)  # somebody wrote that it may be; a refusal is learned
    known = _left(for_model(known, ask.model), refused)
    if style is None:
        style = HealStyle.THINKING if known.safe else HealStyle.NONE
    finding, transcript = looped.finding, looped.transcript
    if style is HealStyle.NONE or looped.calls or ask.wants_json or ask.choices > 1 or transcript.odd:
        return None
    if transcript.finished or transcript.shown > Shown.TEXT or any(c != 0 for c in transcript.choices):
        return None
    if any(shape.channel not in (Channel.TEXT, Channel.REASONING) for shape in transcript.shapes.values()):
        return None
    spent = 0 if looped.whole else transcript.earlier + max(0, looped.events - 1)
    if finding.channel is Channel.REASONING:
        if transcript.shown is Shown.TEXT and not inside(transcript):
            return None
        return _thinking(looped, wire, ask, known, refused, spent)
    if style is HealStyle.THINKING:
        return None
    text = "" if looped.whole else transcript.text()
    if not looped.whole and (not transcript.whole or sum(_is_text(s) for s in transcript.shapes.values()) > 1):
        return None
    if finding.channel is Channel.TOOL:
        return _call(looped, wire, ask, known, refused, text, spent)
    if finding.channel is Channel.TEXT:
        return _text(looped, wire, ask, style, known, refused, text, spent, note)
    return None


def _thinking(
    looped: Looped, wire: Wire, ask: Ask, known: Takes, refused: Collection[str], spent: int
) -> HealPlan | None:
    way = known.thinking or wire.ends_thinking
    if not way or way in refused:
        return None
    found = wire.heal(ask, Change(thinking=way, spent=spent))
    if found is None or not found[1]:  # what was asked for already would give the same loop
        return None
    return HealPlan(
        "thinking",
        found[0],
        tuple(found[1]),
        looped.finding,
        way=way,
        resent=0,
        unit=_unit(looped, ""),
        tagged=inside(looped.transcript),
    )


def _text(
    looped: Looped,
    wire: Wire,
    ask: Ask,
    style: HealStyle,
    known: Takes,
    refused: Collection[str],
    shown: str,
    spent: int,
    note: str,
) -> HealPlan | None:
    if known.hottest is None or len(shown) + len(looped.withheld) > MOST_KEPT:
        return None
    finding = looped.finding
    if looped.whole:
        return _asked_again(looped, wire, ask, known, 0)
    text = shown + looped.withheld
    kept = trimmed(text, looped.since)
    period = finding.hit.period
    client = text[: max(kept, len(shown))] + (completion(text, len(shown), period) if kept < len(shown) else "")
    if in_fence(client) != in_fence(text[:kept]):
        return None
    if len(text[:kept].rstrip()) < LEAST_KEPT:
        kept = 0 if len(shown) >= kept else kept
        change = Change(hottest=known.hottest, spent=spent)
        found = wire.heal(ask, change) if kept == 0 else None
        if found is not None:
            return HealPlan(
                "scratch", found[0], tuple(found[1]), finding, text, len(shown), 0, 0, unit=_unit(looped, shown)
            )
        return None
    resent, unit = spent * kept // max(1, len(shown)), _unit(looped, shown)
    if known.prefill:
        # The client has its reasoning: the second answer must not begin with more of it.
        thinking = known.thinking if _thought(looped) and known.thinking not in refused else ""
        change = Change(text[:kept].rstrip(), known.prefill, "", thinking, known.hottest, spent)
        found = wire.heal(ask, change)
        if found is not None:
            return HealPlan("prefill", found[0], tuple(found[1]), finding, text, len(shown), kept, resent, unit=unit)
    if style is HealStyle.NOTE:
        change = Change(kept=text[:kept].rstrip(), note=note, hottest=known.hottest, spent=spent)
        found = wire.heal(ask, change)
        if found is not None and found[1]:  # a note alone heals nothing: something else has to change
            return HealPlan("note", found[0], tuple(found[1]), finding, text, len(shown), kept, resent, unit=unit)
    return None


def _call(
    looped: Looped, wire: Wire, ask: Ask, known: Takes, refused: Collection[str], shown: str, spent: int
) -> HealPlan | None:
    """The call was never shown. What was shown of the text is continued, else the whole turn is asked again."""
    if not looped.whole and looped.transcript.shown is Shown.TEXT:
        if not known.prefill or known.hottest is None or not shown.strip() or len(shown) > MOST_KEPT:
            return None
        thinking = known.thinking if _thought(looped) and known.thinking not in refused else ""
        found = wire.heal(ask, Change(shown.rstrip(), known.prefill, "", thinking, known.hottest, spent))
        if found is None:
            return None
        return HealPlan("prefill", found[0], tuple(found[1]), looped.finding, shown, len(shown), len(shown), spent)
    if looped.transcript.shown is Shown.REASONING and not looped.whole:
        # The client has one train of thought; the second answer is to begin behind it.
        plan = _thinking(looped, wire, ask, known, refused, spent)
        if plan is not None:
            return plan
    return _asked_again(looped, wire, ask, known, spent)


def _asked_again(looped: Looped, wire: Wire, ask: Ask, known: Takes, spent: int) -> HealPlan | None:
    found = wire.heal(ask, Change(hottest=known.hottest, spent=spent))
    if found is None or known.hottest is None:
        return None
    return HealPlan("scratch", found[0], tuple(found[1]), looped.finding, resent=0)


def _unit(looped: Looped, shown: str) -> str:
    """One copy of the loop, from the text that was not shown yet and, in visible text, what was."""
    text, period = shown + looped.withheld, looped.finding.hit.period
    if not period or period > len(text):
        return ""
    unit = text[-period:]
    return unit if text[-2 * period : -period] in ("", unit) or len(text) < 2 * period else ""


def _thought(looped: Looped) -> bool:
    """Has the client been shown reasoning?"""
    return any(shape.channel is Channel.REASONING for shape in looped.transcript.shapes.values())


def _is_text(shape: Shape) -> bool:
    return shape.channel is Channel.TEXT and shape.chars > 0


def _left(known: Takes, refused: Collection[str]) -> Takes:
    """What is left after what this provider has refused for this model."""
    if not refused:
        return known
    return Takes(
        known.name,
        thinking=known.thinking,
        prefill="" if "prefill" in refused else known.prefill,
        hottest=None if "temperature" in refused else known.hottest,
        safe=known.safe and known.thinking not in refused,
    )


def learned(failure: Failure, plan: HealPlan) -> str:
    """What a refused second request teaches, to be remembered for this provider and model: the parameter that the error
    names, else the style. "" = nothing: the failure had another cause, or the second request was too long."""
    if failure.status not in REFUSING or failure.kind is not Kind.TERMINAL or failure.code == CONTEXT:
        return ""
    if plan.style == "prefill" and refuses_prefill(failure):
        return "prefill"
    said = f"{failure.message} {failure.code or ''} {(failure.body or b'')[:4096].decode(errors='replace')}".lower()
    if plan.style != "thinking" and re.search(r"\btemperature\b", said) and "temperature" in plan.changed:
        return "temperature"
    if plan.style == "thinking":
        return plan.way
    return plan.style if plan.style == "prefill" else "temperature"


def useless(finish: str, spoke: bool) -> Failure | None:
    """Why the end of a second answer is of no use to the client, who gets the quiet end of the first then; None: it may
    be passed on. `spoke`: it had new text or a tool call. A length limit that ends new text is passed on: it is the
    client's own, or the model's."""
    if finish in BROKEN_OFF and finish_word(finish) != "length":
        return WITHHELD
    return None if spoke else NOTHING_NEW


def heal_result(came: Failure | Finding | None, poor: bool, meant: bool = False) -> HealResult:
    """What came of the second call."""
    if came is None:
        if meant:
            return HealResult.MEANT
        return HealResult.POOR if poor else HealResult.HEALED
    if isinstance(came, Finding) or came.kind is Kind.LOOP:
        return HealResult.AGAIN
    if came.code in _RESULTS:
        return _RESULTS[came.code]
    if came.kind is Kind.STALL:
        return HealResult.SLOW
    broken = came.phase is Phase.STREAM or came.code == "streamfuse_draining"
    return HealResult.BROKEN if broken else HealResult.REFUSED


_RESULTS: Final = {
    "streamfuse_restarted": HealResult.RESTARTED,
    NOTHING_NEW.code: HealResult.POOR,
    WITHHELD.code: HealResult.REFUSED,
}
