"""What follows an attempt: the decision of the third door, and the body, transcript and splice of the next call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rules import (
    Accept,
    Account,
    Decision,
    Failure,
    Finding,
    Kind,
    Phase,
    Replay,
    Resume,
    Settle,
    Shown,
    Splice,
    Transcript,
    decide,
)

from ...intake.order import Order
from ...memory.accounts import AccountBook
from ..attempt.answer import AttemptEnd
from ..context import Context
from ..finish import DRAINING, ExchangeFinish
from ..follow_up import AskingAgain
from ..healing import Healing
from ..reporting import Reporting
from .patience import Patience


class Deciding:
    """Of one exchange."""

    __slots__ = ("_finish", "_fuse", "_healing", "_now", "_patience", "_reporting", "broke", "no_more", "prefilled")

    def __init__(
        self, fuse: Context, reporting: Reporting, finish: ExchangeFinish, patience: Patience, healing: Healing
    ) -> None:
        self._fuse = fuse
        self._reporting = reporting
        self._finish = finish
        self._patience = patience
        self._healing = healing
        self._now = fuse.clock.now
        self.broke: Failure | None = None
        """What the answer broke off with when it was last resumed."""
        self.no_more = False
        """The provider has shown that it cannot go on in the middle of a text."""
        self.prefilled = False
        """The request ends in an assistant message."""

    async def decide(self, order: Order, book: AccountBook, came: AttemptEnd) -> Decision:
        attempt, fuse = self._finish.attempt, self._fuse
        assert attempt is not None and order.ask is not None
        if isinstance(came, Failure) and came.code == DRAINING:
            return Settle()
        if came is None:
            # Nothing failed: what was shown, and what the limits say, plays no part.
            return await book.charge(None, _accepted, fuse.clock.wall())
        now, until = self._now(), self._patience.until(order)
        look = partial(
            decide,
            came,
            attempt.shown,
            budgets=order.engine.budgets,
            now=fuse.clock.wall(),
            jitter=fuse.chance(),
            can_resume=isinstance(came, Failure) and self._resumed(order) is not None,
            can_heal=isinstance(came, Finding) and self._healing.look(order, attempt, came) is not None,
            prefilled=self.prefilled,
            model=order.ask.model,
            scope=order.scope,
            reserve=fuse.reserves[order.name],
            policy=order.engine.policy,
            until=None if until is None else fuse.clock.wall() + until - now,
            client_retries=order.client.retries,
            client_calm=order.client.calm,
            took=now - attempt.began,
            alike=max(0, fuse.gates.alike(order.gate, came) - 1) if isinstance(came, Failure) else 0,
        )
        return await book.charge(came, lambda account: look(account=account), fuse.clock.wall())

    def told_first(self, came: AttemptEnd) -> AttemptEnd:
        """A provider that cannot go on after all (it refuses the prefill, it begins anew) is no news to the client:
        it is told what broke the answer in the first place, and whether that may pass."""
        assert self._finish.attempt is not None
        refused = isinstance(came, Failure) and came.kind is Kind.TERMINAL and came.code != DRAINING
        if self.broke is None or not refused or self._finish.attempt.released:
            return came
        self.no_more = True
        return self.broke

    def _resumed(self, order: Order) -> Mapping[str, Any] | None:
        """The request that continues the shown text, None where wire or provider cannot."""
        assert self._finish.attempt is not None and order.ask is not None
        style = order.provider.resume.value
        if style == "none" or self.no_more or self._finish.attempt.shown is not Shown.TEXT:
            return None
        return order.wire.resume(order.ask, self._finish.attempt.stream.transcript, style)

    def again(
        self, order: Order, body: Mapping[str, Any] | None, came: AttemptEnd, decision: Replay | Resume
    ) -> tuple[Mapping[str, Any] | None, Transcript | None, Splice | None]:
        """Body, transcript and splice of the next attempt."""
        attempt = self._finish.attempt
        assert attempt is not None and order.ask is not None
        stream = attempt.stream
        if isinstance(decision, Resume):
            if isinstance(came, Failure) and (self.broke is None or came.phase is Phase.STREAM):
                self.broke = came
            stream.transcript.earlier += max(0, stream.events - 1)
            return self._resumed(order), stream.transcript, stream.splice()
        begun = attempt.released or attempt.spliced or stream.begun
        if decision.without_prefill:
            body = _without_prefill(order.ask.body)
        return body, stream.transcript if begun else None, None

    def followed(
        self, order: Order, again: AskingAgain, body: Mapping[str, Any] | None, came: AttemptEnd
    ) -> tuple[Mapping[str, Any], Transcript | None] | None:
        """Body and transcript of a follow-up, None where there is none."""
        assert self._finish.attempt is not None and order.ask is not None
        follow = again.after(self._finish.attempt, body if body is not None else order.ask.body, came)
        if follow is None:
            return None
        self._reporting.followed(follow.name)
        return follow.body, self._finish.attempt.heard() if follow.continues else None


def _accepted(account: Account) -> Decision:
    return Accept()


def prefilled(body: Mapping[str, Any]) -> bool:
    """Does the request end in an assistant message?"""
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(last, dict) and last.get("role") == "assistant"


def _without_prefill(body: Mapping[str, Any]) -> dict[str, Any]:
    while prefilled(body):
        body = {**body, "messages": body["messages"][:-1]}
    return dict(body)
