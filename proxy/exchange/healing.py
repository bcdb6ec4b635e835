"""The heal of one exchange: one more call after a loop, whose answer goes on in the client's stream.

What is asked, and whether, is decided in `rules/heal/plan.py`. Here the call is made, and however it goes the exchange
gets an end: the second answer's own, or the quiet end that the first would have had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from rules import (
    Action,
    Channel,
    Ending,
    Failure,
    Finding,
    Finish,
    HealPlan,
    HealResult,
    HealStyle,
    Looped,
    SecondRules,
    SecondWatch,
    Splice,
    Takes,
    Timeouts,
    Transcript,
    cut_marker,
    heal_plan,
    heal_result,
    learned,
    loads,
    second_watch,
    takes,
    useless,
)

from ..intake.order import Order, dumps
from .attempt.answer import AttemptEnd, attempt_timeouts
from .attempt.attempt import Attempt
from .context import Context
from .waits import IMPATIENT

FIRST = 20.0
"""Seconds until a second answer must have begun. The client has been shown a part already and waits."""
SILENCE = 60.0
"""Seconds of silence after which a second answer is given up."""
WHOLE = 60.0
"""Seconds that a whole second answer may take at least; it may take twice as long as the first."""
HOLD = 64 << 20
"""Bytes of a tool call in a second answer that are held at least: half a call must never end in an error here."""


def heal_timeouts(order: Order, took: float) -> Timeouts:
    """The timers of a second call. `took`: seconds that the first call took."""
    usual = attempt_timeouts(order)
    assert order.ask is not None

    def least(one: float | None, other: float) -> float:
        return other if one is None else min(one, other)

    if not order.ask.streaming:
        most = max(WHOLE, 2 * took)
        names = ("headers", "first_event", "first_event_alive", "idle", "idle_alive", "total")
        return usual.model_copy(update={name: least(getattr(usual, name), most) for name in names})
    first = {name: least(getattr(usual, name), FIRST) for name in ("headers", "first_event", "first_event_alive")}
    silent = {name: least(getattr(usual, name), SILENCE) for name in ("idle", "idle_alive")}
    return usual.model_copy(update=first | silent)


class Healing:
    """At most one heal."""

    def __init__(self, fuse: Context) -> None:
        self._fuse = fuse
        self.plan: HealPlan | None = None
        """The heal that was begun."""
        self.result: HealResult | None = None
        self.watched = False
        """Mode `watch`: it was told that a heal would have been tried."""
        self._sample = ""
        self._watch: SecondWatch | None = None

    def look(self, order: Order, attempt: Attempt, finding: Finding) -> HealPlan | None:
        """The heal that an answer with this finding may have; None where it may have none, or has had it."""
        if self.plan is not None or order.ask is None or self._fuse.gates.before(order.gate):
            return None
        style = order.heal
        if style is None and finding.action is Action.RETRY:
            style = HealStyle.AUTO
        try:
            return heal_plan(
                self._looped(order, attempt, finding),
                wire=order.wire,
                ask=order.ask,
                style=style,
                known=_takes(order, attempt),
                refused=self._fuse.refusals.of(order.name, order.ask.model),
            )
        except Exception:  # a mistake here must not cost the answer its quiet end
            return None

    def _looped(self, order: Order, attempt: Attempt, finding: Finding) -> Looped:
        assert order.ask is not None
        if not order.ask.streaming:
            seen = attempt.judged
            deltas = order.wire.whole(seen.body) if seen is not None and seen.cut is not None else ()
            empty, whole = Transcript(), Transcript()
            for delta in deltas:
                whole.note(delta)
            empty.odd = whole.odd
            calls = any(shape.channel is Channel.TOOL for shape in whole.shapes.values())
            return Looped(finding, empty, whole=True, calls=calls)
        stream = attempt.stream
        transcript = stream.transcript
        return Looped(
            finding,
            transcript,
            since=attempt.unseen + self._fuse.run_memory.since(finding, transcript, order.engine.rules),
            withheld=stream.withheld,
            events=stream.events,
            calls=stream.spares,
        )

    def begin(self, order: Order, first: Attempt, plan: HealPlan) -> tuple[Transcript | None, Splice | None, bytes]:
        """What the second attempt goes on with: the client's view, the seam, and bytes that the first held back."""
        assert order.ask is not None
        self.plan = plan
        if not order.ask.streaming:
            self._watch = second_watch(order.engine.rules, order.ask, plan.finding, "", "")
            return None, None, b""
        stream = first.stream
        self._sample = stream.withheld
        transcript = stream.transcript
        rules = order.engine.rules
        self._watch = second_watch(rules, order.ask, plan.finding, plan.text[: plan.kept], plan.unit)
        seam = Splice(plan.seam(), watch=self._watch, told=self._told)
        if not (transcript.head or transcript.choices):
            return None, seam, b""
        transcript.earlier += max(0, stream.events - 1)
        transcript.resent = plan.resent
        return transcript, seam, first.held()

    def _told(self, finish: str) -> Mapping[str, Any] | Failure:
        """The second answer ends by itself: the extra object, or why this end is of no use to the client."""
        assert self._watch is not None
        return useless(finish, self._watch.spoke) or self._facts(self.judged(None))

    def checked(self, order: Order, second: Attempt, came: AttemptEnd) -> AttemptEnd:
        """What the second call came to: of a whole answer that ended by itself, too, why it is of no use."""
        if came is not None or order.ask is None or order.ask.streaming or self._watch is None:
            return came
        if second.judged is None:
            return came
        finish = next((d.reason for d in order.wire.whole(second.judged.body) if isinstance(d, Finish)), "")
        return useless(finish, self._watch.spoke)

    def order(self, order: Order) -> Order:
        """The order as the second attempt takes it."""
        engine = order.engine
        changed: dict[str, Any] = {"limits": engine.limits.model_copy(update={"hold": max(engine.limits.hold, HOLD)})}
        if order.ask is not None and not order.ask.streaming and self._watch is not None:
            changed["rules"] = SecondRules(self._watch)
        return replace(order, engine=replace(engine, **changed))

    def judged(self, came: AttemptEnd) -> HealResult:
        """What came of the second call."""
        watch = self._watch
        if came is IMPATIENT:  # the client of a whole answer would not have waited longer
            return HealResult.SLOW
        if watch is None or came is not None:
            return heal_result(came, poor=False)
        poor = watch.poor or not watch.spoke
        return heal_result(came, poor, watch.meant or (poor and watch.in_rows))

    def _facts(self, result: HealResult) -> Mapping[str, Any]:
        """The extra object of a healed answer."""
        assert self.plan is not None
        marker = cut_marker(self.plan.finding, 2)
        return {**marker, "action": "heal", "heal": self.plan.facts(result)}

    def over(self, order: Order, first: Attempt, second: Attempt, came: AttemptEnd) -> HealResult:
        """The second call is over: judge it, and remember what it was refused for."""
        assert self.plan is not None and order.ask is not None
        result = HealResult.AGAIN if came is None and second.server_cuts else self.judged(came)
        if came is None and not order.ask.streaming:
            result = self._joined(order, first, second)
        elif came is not None and not isinstance(came, Finding) and (word := learned(came, self.plan)):
            self._fuse.refusals.learn(order.name, order.ask.model, word)
        self.result = result
        if came is not None and first.ready is not None:
            status, headers, raw = first.ready
            body = loads(raw)
            body["streamfuse"] = {**(body.get("streamfuse") or {}), "heal": self.plan.facts(result)}
            first.ready = status, headers, dumps(body)
        return result

    def _joined(self, order: Order, first: Attempt, second: Attempt) -> HealResult:
        """A whole second answer, with the usage of both."""
        if second.ready is None or first.judged is None:
            return HealResult.HEALED
        status, headers, raw = second.ready
        body = loads(raw)
        result = self.judged(None)
        second.ready = status, headers, dumps(order.wire.healed(first.judged.body, body, self._facts(result)))
        return result

    def ending(self, order: Order, attempt: Attempt, attempts: int) -> Ending:
        """The end of an answer whose heal came to nothing: as the first call would have ended."""
        assert self.plan is not None and self.result is not None and order.ask is not None
        attempt.stream.ending(attempts)  # releases calls of the second answer that are complete
        transcript = attempt.stream.transcript
        ending = order.engine.cut.ending(
            self.plan.finding,
            visible=transcript.visible(0),
            plain=not order.ask.wants_json,
            sample=self._sample or transcript.text()[-200:],
            attempts=attempts,
        )
        return replace(ending, marker={**ending.marker, "heal": self.plan.facts(self.result)})


def _takes(order: Order, attempt: Attempt) -> Takes:
    known = order.engine.takes
    if known.name:
        return known
    host = urlsplit(order.provider.base_url).hostname or ""
    return takes(order.name, host, order.provider.resume.value, attempt.server, order.wire.speaker)
