"""How long an attempt may be silent, and how slowly it may begin: six timers over one attempt. Clock readings go in,
one deadline comes out.

The proxy waits until `deadline()` and then asks `expired()`. Any clock will do as long as it is always the same;
durations are seconds, None = no limit. Comments and pings prove that the socket lives, not that the model works:
before the first event they only stretch `first_event` up to `first_event_alive` (a llama.cpp prefill can take 20
minutes, DeepSeek holds a queued request open for 10 to 30), after it `idle` up to `idle_alive`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeGuard

from pydantic import BaseModel, ConfigDict

from ..values.durations import PositiveDuration
from ..values.failures import Failure, Kind, Phase


class Timeouts(BaseModel):
    """The limits. `headers` and `first_event` are the 600 s that the OpenAI and Anthropic SDKs wait themselves. `idle`
    is less than the 299 s of silence after which Claude Code gives up a stream (Codex: 300 s): our heartbeats keep such
    a client waiting, so we must report the failure no later. A provider that pings through a long thought (Anthropic
    does) keeps its clients waiting without us, too, and has `idle_alive`. `slow`: how long an answer may take for its
    first `slow_characters`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect: PositiveDuration | None = 10.0
    headers: PositiveDuration | None = 600.0
    first_event: PositiveDuration | None = 600.0
    first_event_alive: PositiveDuration | None = 1800.0
    idle: PositiveDuration | None = 280.0
    idle_alive: PositiveDuration | None = 900.0
    total: PositiveDuration | None = None
    slow: PositiveDuration | None = None
    slow_characters: int = 100


class Timer(StrEnum):
    """Which timer rang. The code of its failure is `streamfuse_timeout_<name>`."""

    CONNECT = "connect"
    HEADERS = "headers"
    FIRST_EVENT = "first_event"
    IDLE = "idle"
    TOTAL = "total"
    SLOW = "slow"


_PHASE = {
    Timer.CONNECT: Phase.CONNECT,
    Timer.HEADERS: Phase.HEADERS,
    Timer.FIRST_EVENT: Phase.STREAM,
    Timer.IDLE: Phase.STREAM,
    Timer.TOTAL: Phase.STREAM,
    Timer.SLOW: Phase.STREAM,
}
_SAYS = {
    Timer.CONNECT: "No connection to the upstream after {:g} s.",
    Timer.HEADERS: "The upstream sent no response headers for {:g} s.",
    Timer.FIRST_EVENT: "The upstream sent no event for {:g} s.",
    Timer.IDLE: "The upstream sent nothing new for {:g} s.",
    Timer.TOTAL: "The answer was not complete after {:g} s.",
    Timer.SLOW: "The upstream's answer came too slowly: too little of it after {:g} s.",
}


class Watchdog:
    """The timers of one attempt. Create it when the attempt starts and call it for each thing that happens."""

    __slots__ = ("_connected", "_data", "_first", "_heard", "_opened", "_started", "judging", "timeouts")

    def __init__(self, timeouts: Timeouts, now: float) -> None:
        self.timeouts = timeouts
        self._started = now
        self._connected: float | None = None
        self._opened: float | None = None
        self._heard: float | None = None
        self._data: float | None = None
        self._first: float | None = None
        self.judging = False
        """`slow` counts: nothing of the answer was shown, so that it can be asked for again. Whoever has seen enough
        of it says so by setting this to False."""

    def connected(self, now: float) -> None:
        """A connection is open (new or reused)."""
        if self._connected is None:
            self._connected = now

    def opened(self, now: float) -> None:
        """The response headers have come."""
        self.connected(now)
        self._opened = now

    def heard(self, now: float, data: bool) -> None:
        """Bytes have come. `data`: among them is an event with content (not a comment, a ping or an empty delta)."""
        self._heard = now
        if data:
            self._data = now
            if self._first is None:
                self._first = now

    def deadline(self) -> float | None:
        """The clock reading at which a timer rings unless something happens first; None = never."""
        return self._next()[0]

    def expired(self, now: float) -> Failure | None:
        """The failure of the timer that has rung by `now`; None where none has."""
        at, timer, allowed = self._next()
        if at is None or now < at:
            return None
        # A timer that rang before the connection or the headers came: report the phase that the attempt was really in.
        phase = _PHASE[timer]
        if timer is Timer.TOTAL and self._opened is None:
            phase = Phase.HEADERS if self._connected is not None else Phase.CONNECT
        # No connection: for the budgets that is a network failure, not a stalled model.
        kind = Kind.NETWORK if timer is Timer.CONNECT else Kind.STALL
        return Failure(phase, kind, _SAYS[timer].format(allowed), code=f"streamfuse_timeout_{timer.value}")

    def _next(self) -> tuple[float | None, Timer, float]:
        at, timer, allowed = self._stage()
        slow = self.timeouts.slow
        if self.judging and slow is not None and self._first is not None and (at is None or self._first + slow < at):
            at, timer, allowed = self._first + slow, Timer.SLOW, slow
        total = self.timeouts.total
        if total is not None and (at is None or self._started + total < at):
            return self._started + total, Timer.TOTAL, total
        return at, timer, allowed

    def _stage(self) -> tuple[float | None, Timer, float]:
        limits = self.timeouts
        if self._data is not None:
            return self._idle(self._data)
        if self._opened is not None:
            limit = limits.first_event
            at, timer, allowed = _from(self._opened, limit, Timer.FIRST_EVENT)
            if at is None or self._heard is None or limit is None:
                return at, timer, allowed
            stretched = self._heard + limit
            if limits.first_event_alive is not None:
                stretched = min(stretched, self._opened + limits.first_event_alive)
            return max(at, stretched), timer, max(at, stretched) - self._opened
        if self._connected is not None:
            return _from(self._connected, limits.headers, Timer.HEADERS)
        return _from(self._started, limits.connect, Timer.CONNECT)

    def _idle(self, data: float) -> tuple[float | None, Timer, float]:
        limit, alive = self.timeouts.idle, self.timeouts.idle_alive
        if limit is None or self._heard is None or self._heard <= data:
            return _from(data, limit, Timer.IDLE)
        stretched = self._heard + limit
        if alive is not None:
            stretched = max(data + limit, min(stretched, data + alive))
        return stretched, Timer.IDLE, stretched - data


def is_slow(came: object) -> TypeGuard[Failure]:
    """Did the attempt end because it began too slowly?"""
    return isinstance(came, Failure) and came.code == f"streamfuse_timeout_{Timer.SLOW.value}"


def _from(start: float, limit: float | None, timer: Timer) -> tuple[float | None, Timer, float]:
    return (None, timer, 0.0) if limit is None else (start + limit, timer, limit)
