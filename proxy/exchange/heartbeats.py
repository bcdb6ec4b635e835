"""What a client hears while nothing of its answer comes: heartbeats of its wire, blank lines before a whole answer, and
text that has waited in doubt for as long as it may.
"""

from __future__ import annotations

from contextlib import suppress

from rules import Shown

from ..intake.order import Order
from ..intake.request_body import ClientGone
from .attempt.streamed import streaming
from .context import Context
from .finish import ExchangeFinish
from .reply import Reply
from .reporting import Reporting
from .tries.patience import Patience
from .waits import Waits


class Heartbeats:
    """Those of one exchange. It remembers nothing, so a new one is made at each tick of the clock."""

    __slots__ = ("_finish", "_fuse", "_ident", "_patience", "_reply", "_reporting", "_waits")

    def __init__(
        self,
        fuse: Context,
        reply: Reply,
        reporting: Reporting,
        waits: Waits,
        finish: ExchangeFinish,
        patience: Patience,
        ident: str,
    ) -> None:
        """`ident`: of the exchange."""
        self._fuse = fuse
        self._reply = reply
        self._reporting = reporting
        self._waits = waits
        self._finish = finish
        self._patience = patience
        self._ident = ident

    def let_out(self, now: float) -> None:
        """Text waits in doubt while nothing more comes: its time is up."""
        attempt = self._finish.attempt
        if attempt is None or not self._reply.started or not self._reply.idle:
            return
        if raw := attempt.overdue(now):
            with suppress(ClientGone):
                self._reply.put(raw)

    def keep_alive(self, now: float) -> None:
        order, every = self._finish.order, self._fuse.settings.heartbeat.every
        if order is not None and order.ask is not None and not order.ask.streaming:
            self._pass_blanks(order, now, every)
            return
        if not every or order is None or order.ask is None:
            return
        if now - self._reply.heard_at < every or not self._reply.idle:
            return
        if self._reply.started:
            self._reply.beat(self._heartbeat(order, now))
        elif self._waits.waiting and now - self._reporting.began >= self._patience.begins_after(order):
            begins = streaming(order.wire.framing(order.ask)) if order.ask is not None else {}
            self._reply.beat(self._heartbeat(order, now), {**begins, **self._finish.own()})

    def _pass_blanks(self, order: Order, now: float, every: float) -> None:
        """A whole answer: what its upstream sends to keep the connection alive begins the reply. From then on the
        client hears that bytes come, also where they are kept until the answer is whole, and that we ask again. An
        upstream that answers and is silent stays silent: the client's own timers decide about it."""
        attempt = self._finish.attempt
        if attempt is None or not self._waits.waiting:
            return
        running = self._waits.watchdog is not None
        if not self._reply.started:
            hold = self._fuse.settings.replay.hold_time
            late = every > 0 and now - self._reporting.began >= min(hold, order.client.silence or hold)
            blank = attempt.blank(now, late) if running else b""
            if blank and self._reply.beat(blank, attempt.head()):
                attempt.blank_sent()
        elif every and now - self._reply.heard_at >= every:
            coming = attempt.heard_at is not None and attempt.heard_at > self._reply.heard_at
            if coming or not (running and attempt.opened):
                self._reply.beat(b"\n")

    def _heartbeat(self, order: Order, now: float) -> bytes:
        if self._finish.attempt is None:
            return order.wire.heartbeat(False)
        if self._finish.attempt.holds_output and self._finish.attempt.stream.transcript.shown > Shown.NOTHING:
            return order.wire.heartbeat(False)
        after = self._fuse.settings.heartbeat.prelude
        # Between two attempts the next one's beginning is decided already.
        if after and self._waits.watchdog is not None and now - self._reporting.began >= after:
            return self._finish.attempt.prelude(self._ident) or self._finish.attempt.stream.heartbeat()
        return self._finish.attempt.stream.heartbeat()
