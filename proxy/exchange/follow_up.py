"""Follow-ups of one exchange: whether its answers are held, what is asked again, and how often it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rules import TRUNCATED, Failure, Finding, FollowUp, Mode, StepKind, follow_up, histories, is_json

from ..intake.order import Order
from ..memory.run_memory import kind_of, step_of
from .attempt.answer import More
from .attempt.attempt import Attempt


class AskingAgain:
    """Counts are of this exchange: a client that asks anew starts anew."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._settings = order.engine.follow_ups
        self._history = histories.get(order.wire.name)
        self._spent: dict[str, int] = {}
        self.continued = False
        """The client has been shown an answer that hit its length limit; this is its continuation."""

    @property
    def _on(self) -> bool:
        return self._settings.any and self._history is not None and self._order.mode is Mode.ON

    def _left(self, name: str) -> bool:
        return bool(self._spent.get(name, 0) < getattr(self._settings, name))

    def more(self) -> More:
        """How the next attempt is to be treated."""
        if not self._on:
            return More()
        held = any(self._left(name) for name in ("think_only", "text_tool_call", "json_schema"))
        return More(length=self._left("length"), hold=held and not self.continued, keep=True)

    def after(self, attempt: Attempt, body: Mapping[str, Any], came: Failure | Finding | None) -> FollowUp | None:
        """The next ask after an attempt, if there is to be one. `body`: as it was sent."""
        if not self._on or not (came is None or came is TRUNCATED):
            return None
        transcript = attempt.heard()
        if transcript is None or (came is None and attempt.released):
            return None
        ask = self._order.ask
        assert ask is not None and self._history is not None
        step = step_of(transcript)
        kind = StepKind.TRUNCATED if came is TRUNCATED else kind_of(transcript, step, ask.model)
        if kind is StepKind.TRUNCATED and came is None:
            return None  # a whole answer: there is no stream to go on in
        found = follow_up(
            kind,
            history=self._history,
            body=body,
            text=step.text,
            wants_json=ask.wants_json,
            valid_json=is_json(step.text),
            spent=self._spent,
            settings=self._settings,
            language=self._order.engine.history_policy.ladder.language,
        )
        if found is not None:
            self._spent[found.name] = self._spent.get(found.name, 0) + 1
            self.continued = self.continued or found.continues
        return found
