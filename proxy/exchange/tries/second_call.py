"""The call after a loop. However it goes the answer has an end then: the second call's own, or the quiet end that the
first would have had.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rules import STALE, Accept, Decision, Failure, Finding, Heal, Kind, Settle

from ...intake.order import Order
from ...intake.request_body import ClientGone
from ...memory.accounts import AccountBook
from ..attempt.attempt import Attempt
from ..context import Context
from ..finish import ExchangeFinish
from ..healing import Healing, heal_timeouts
from ..reply import Reply
from ..reporting import Reporting
from ..waits import Waits
from .admission import Admission
from .patience import Patience


class SecondCall:
    """The second call of a heal. Only an exchange that is healed makes one."""

    __slots__ = ("_admission", "_finish", "_fuse", "_healing", "_now", "_patience", "_reply", "_reporting", "_waits")

    def __init__(
        self,
        fuse: Context,
        reply: Reply,
        reporting: Reporting,
        waits: Waits,
        finish: ExchangeFinish,
        patience: Patience,
        admission: Admission,
        healing: Healing,
    ) -> None:
        self._fuse = fuse
        self._reply = reply
        self._reporting = reporting
        self._waits = waits
        self._finish = finish
        self._patience = patience
        self._admission = admission
        self._healing = healing
        self._now = fuse.clock.now

    async def run(
        self, order: Order, book: AccountBook, finding: Finding, decision: Heal, noted: Callable[[Finding], None]
    ) -> Decision:
        """Ask once more. `noted`: is told of a finding that only reports."""
        fuse, healing = self._fuse, self._healing
        first = self._finish.attempt
        assert first is not None and order.ask is not None
        plan = healing.look(order, first, finding)
        if plan is None or not await self._healable(order):
            return Settle()
        self._reporting.retrying(finding, decision)
        took = self._now() - first.began
        transcript, splice, held = healing.begin(order, first, plan)
        fresh = False
        while True:
            self._reporting.attempts += 1
            second = self._finish.attempt = Attempt(
                fuse,
                healing.order(order),
                self._reply,
                self._finish.own,
                noted,
                self._reporting.attempts,
                plan.body,
                transcript,
                splice=splice,
                fresh=fresh,
                retry=True,
                timeouts=heal_timeouts(order, took),
                held=held,
                trace=self._reporting.asking(),
            )
            self._waits.watchdog = second.watchdog
            self._waits.until = None if order.ask.streaming else self._patience.until(order)
            try:
                came = await self._waits.wait(second.run())
            except (asyncio.CancelledError, ClientGone):
                self._reporting.attempted(second, None, gone=True)
                raise
            finally:
                self._waits.watchdog = self._waits.until = None
                self._admission.leave_slot(second)
            self._reporting.attempted(second, came)
            if fresh or not (isinstance(came, Failure) and came.code == STALE):
                break
            if not await self._admission.slot_for_heal(order):
                break
            fresh = True  # the request was never read
        came = healing.checked(order, second, came)
        if came is None or (isinstance(came, Failure) and came.kind in (Kind.NETWORK, Kind.SERVER, Kind.RATE_LIMIT)):
            self._admission.heard(order, second, came)
        result = healing.over(order, first, second, came)
        self._reporting.healed(plan, result)
        if came is None:
            self._reporting.found(finding, acted=True, asked=order.ask.body)
            await book.charge(None, lambda _account: Accept(), fuse.clock.wall())
            first.let_go()
            return Accept()
        if isinstance(came, Finding):
            self._reporting.found(came, acted=True, asked=order.ask.body)
        if transcript is None and not second.released:
            # The client has nothing of the second answer: the first one ends as it stood.
            self._finish.attempt = first
            second.let_go()
        else:
            first.let_go()
        self._finish.healing = healing
        return Settle()

    async def _healable(self, order: Order) -> bool:
        """Take what a heal needs of its provider: a place in the reserve, and one among its calls."""
        reserve, wall = self._fuse.reserves[order.name], self._fuse.clock.wall
        if not reserve.withdraw(wall()):
            return False
        if await self._admission.slot_for_heal(order):
            return True
        reserve.refund(wall())
        return False
