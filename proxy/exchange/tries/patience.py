"""How long a client waits: by when it must have its status, and when its stream begins with nothing to say yet."""

from __future__ import annotations

import math

from rules import LONG

from ...intake.order import Order
from ..context import Context
from ..finish import ExchangeFinish
from ..reply import Reply
from ..reporting import Reporting
from ..waits import Waits


class Patience:
    """Of one exchange."""

    __slots__ = ("_finish", "_fuse", "_reply", "_reporting", "_waits", "failing_since")

    def __init__(self, fuse: Context, reply: Reply, reporting: Reporting, waits: Waits, finish: ExchangeFinish) -> None:
        self._fuse = fuse
        self._reply = reply
        self._reporting = reporting
        self._waits = waits
        self._finish = finish
        self.failing_since: float | None = None
        """When the first call failed (as `now`)."""

    def until(self, order: Order) -> float | None:
        """By when (as `now`) the client must have its status, or its whole answer must break off; None: it waits with
        heartbeats."""
        assert order.ask is not None
        if self._reply.started:
            if order.ask.streaming or self.failing_since is None:
                return None
            # Blank lines of a whole answer are out. To break off is as good as a status: the client goes on by itself.
            return self.failing_since + self._fuse.settings.replay.patience
        replay, client = self._fuse.settings.replay, order.client
        if client.retries:
            most = replay.patience
        elif order.ask.streaming:
            return None
        else:
            most = replay.hold_time if client.timeout is None else replay.patience
        return self._reporting.began + min(most, client.silence or most)

    def begins_after(self, order: Order) -> float:
        """Seconds after which a stream begins with nothing to say, for the sake of the client's timers.

        A client that makes tries of its own would lose them with the headers, so it gets them as late as its own
        time-out allows, and never where nothing runs that could still answer."""
        replay, client, attempt = self._fuse.settings.replay, order.client, self._finish.attempt
        running = self._waits.watchdog is not None
        if (running and attempt is not None and attempt.opened) or not client.retries:
            most = replay.hold_time
        elif running and (client.timeout is None or client.timeout >= LONG):
            most = replay.patience
        else:
            return math.inf
        return min(most, client.silence or most)
