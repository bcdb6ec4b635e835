"""The loop around the attempts of one exchange: one provider until it is decided how this ends, then those that it
falls back to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from rules import (
    STALE,
    Action,
    Decision,
    Failure,
    Finding,
    Heal,
    HealResult,
    Mode,
    Replay,
    Resume,
    Settle,
    Shown,
    Splice,
    Surrender,
    Transcript,
    as_others,
    is_slow,
    resting,
    same_again,
)

from ...intake.fallback import redirected
from ...intake.order import Order
from ...intake.request_body import ClientGone
from ...intake.routing import Place
from ...memory.accounts import AccountBook
from ..attempt.answer import AttemptEnd, More
from ..attempt.attempt import Attempt
from ..context import Context
from ..finish import ExchangeFinish
from ..follow_up import AskingAgain
from ..healing import Healing
from ..reply import Reply
from ..reporting import Reporting
from ..waits import Waits
from .admission import Admission
from .deciding import Deciding, prefilled
from .patience import Patience
from .second_call import SecondCall


class Tries:
    """Of one exchange."""

    __slots__ = (
        "_admission",
        "_deciding",
        "_finish",
        "_fuse",
        "_healing",
        "_judge",
        "_now",
        "_patience",
        "_reply",
        "_reporting",
        "_request",
        "_waits",
        "book",
    )

    def __init__(
        self,
        fuse: Context,
        request: web.Request,
        reply: Reply,
        reporting: Reporting,
        waits: Waits,
        finish: ExchangeFinish,
        patience: Patience,
        admission: Admission,
    ) -> None:
        self._fuse = fuse
        self._request = request
        self._reply = reply
        self._reporting = reporting
        self._waits = waits
        self._finish = finish
        self._patience = patience
        self._admission = admission
        self._now = fuse.clock.now
        self._healing = Healing(fuse)
        self._deciding = Deciding(fuse, reporting, finish, patience, self._healing)
        self._judge = True
        """The next attempt may be too slow: only the first of all, so that an answer comes whatever happens."""
        self.book: AccountBook | None = None
        """The account of the request; None where the client has been told how it ends."""

    def begins(self, book: AccountBook, body: Mapping[str, Any]) -> None:
        """`body`: as it will be sent."""
        self.book = book
        self._deciding.prefilled = prefilled(body)

    async def run(
        self,
        order: Order,
        book: AccountBook,
        body: Mapping[str, Any] | None,
        rest: float,
        transcript: Transcript | None = None,
    ) -> tuple[AttemptEnd, Decision]:
        """Ask one provider until it is decided how this ends: what ended the newest attempt, and the decision."""
        fuse = self._fuse
        splice: Splice | None = None
        again = AskingAgain(order)
        came: AttemptEnd = None
        decision: Decision
        retry = False
        while True:
            if retry and self._admission.lasts(came, order):
                return came, as_others(came, fuse.chance())
            if (rung := await self._admission.admitted(order, rest, retry)) is not None:
                return self._admission.given_up(order, came, rung)
            if retry and self._admission.lasts(came, order):  # others have asked meanwhile
                self._admission.not_asked(order)
                return came, as_others(came, fuse.chance())
            rest = 0.0
            came = await self._attempt(order, body, transcript, again.more(), splice, came, retry)
            if (follow := self._deciding.followed(order, again, body, came)) is not None:
                body, transcript = follow
                splice, retry = None, False
                continue
            if is_slow(came):
                if order.provider.fallback:
                    return came, same_again(came)
                retry, decision = True, Replay(0.0, "free")
                body, transcript, splice = self._deciding.again(order, body, came, decision)
                self._reporting.retrying(came, decision)
                continue
            came = self._deciding.told_first(came)
            decision = await self._deciding.decide(order, book, came)
            if isinstance(decision, Heal) and isinstance(came, Finding):
                return came, await self._heal(order, book, came, decision)
            if not isinstance(decision, Replay | Resume):
                return came, decision
            retry = True
            body, transcript, splice = self._deciding.again(order, body, came, decision)
            self._reporting.retrying(came, decision)
            if (rung := await self._waits.wait(fuse.clock.sleep(decision.after))) is not None:
                return rung, Settle()

    async def _attempt(
        self,
        order: Order,
        body: Mapping[str, Any] | None,
        transcript: Transcript | None,
        more: More,
        splice: Splice | None,
        before: AttemptEnd,
        retry: bool,
    ) -> AttemptEnd:
        self._reporting.attempts += 1
        if self._finish.attempt is not None:
            self._finish.attempt.let_go()
        attempt = self._finish.attempt = Attempt(
            self._fuse,
            order,
            self._reply,
            self._finish.own,
            self._noted,
            self._reporting.attempts,
            body,
            transcript,
            more,
            splice,
            fresh=isinstance(before, Failure) and before.code == STALE,
            retry=retry,
            trace=self._reporting.asking(),
            judge=self._judge,
        )
        self._judge = False
        self._waits.watchdog = attempt.watchdog
        try:
            came = await self._waits.wait(attempt.run())
        except (asyncio.CancelledError, ClientGone):
            self._reporting.attempted(attempt, None, gone=True)
            raise
        finally:
            self._waits.watchdog = None
            self._admission.leave_slot(attempt)
        self._reporting.attempted(attempt, came)
        if isinstance(came, Failure) and self._patience.failing_since is None:
            self._patience.failing_since = self._now()
        self._admission.heard(order, attempt, came)
        return came

    @property
    def shown(self) -> Shown:
        """What the client has been shown so far."""
        return self._finish.attempt.shown if self._finish.attempt is not None else Shown.NOTHING

    async def elsewhere(
        self, to: Place, order: Order, body: Mapping[str, Any] | None, came: AttemptEnd, decision: Decision
    ) -> tuple[Order, AttemptEnd, Decision]:
        """Ask the providers that `order`'s falls back to, one after the other, while the client has seen nothing. Where
        none answers, the client is told what the first one said."""
        fuse, wall = self._fuse, self._fuse.clock.wall
        assert order.ask is not None
        asked, first = self._reporting.call, self.book
        assert first is not None
        for fallback in order.provider.fallback:
            sent = body if body is not None else order.ask.body
            if (other := redirected(fuse, self._request, to, order, sent, fallback)) is None:
                continue
            there, sent = other
            if self._reporting.excerpts is not None:
                rules = self._reporting.excerpts.over(there.engine.rules)
                there = replace(there, engine=replace(there.engine, rules=rules))
            assert isinstance(decision, Surrender)
            self._finish.order = there
            self._reporting.fell_back(decision.failure, there.name, there.gate[1])
            self._deciding.broke, self._deciding.no_more = None, False
            book = self.book = fuse.accounts.book(there.identity.key)
            rest = resting(await book.read(wall()), wall())
            attempt = self._finish.attempt
            begun = attempt is not None and (attempt.released or attempt.spliced or attempt.stream.begun)
            transcript = attempt.stream.transcript if attempt is not None and begun else None
            same = await fuse.ring.enter(there, self._request.headers)
            try:
                fuse.reserves[there.name].deposit(wall())
                end, decided = await self.run(there, book, sent, rest, transcript)
            finally:
                fuse.ring.leave(same)
            if not isinstance(decided, Surrender) or self.shown > Shown.NOTHING:
                return there, end, decided
        self._finish.order, self._reporting.call = order, asked
        if is_slow(came):  # a slow answer is better than none
            return order, *await self.run(order, first, body, 0.0)
        return order, came, decision

    def _noted(self, finding: Finding) -> None:
        self._reporting.found(finding, acted=finding.acts)
        order, attempt = self._finish.order, self._finish.attempt
        if finding.mode is Mode.WATCH and finding.action >= Action.CUT and order is not None and attempt is not None:
            plan = self._healing.look(order, attempt, finding)
            if plan is not None and not self._healing.watched:
                self._healing.watched = True
                self._reporting.healed(plan, HealResult.WATCHED)

    async def _heal(self, order: Order, book: AccountBook, came: Finding, decision: Heal) -> Decision:
        second = SecondCall(
            self._fuse,
            self._reply,
            self._reporting,
            self._waits,
            self._finish,
            self._patience,
            self._admission,
            self._healing,
        )
        return await second.run(order, book, came, decision, self._noted)
