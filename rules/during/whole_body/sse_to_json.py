"""Turns a stream into one JSON body, where the client asked for a whole answer but the upstream sent a stream.

Failures are the same as on a stream: a known error, an in-band error, an end without a finish, an event without an end.
Events behind the last event of the answer, and an error after its finish, are not part of the answer.
"""

from __future__ import annotations

from ...errors import classify
from ...errors.error_rules import ErrorRules
from ...framing.framing import SSE, Framing
from ...framing.sse import Decoder, Event, EventTooLarge
from ...values.delta import Done, Fault, Malformed
from ...values.failures import Failure, Kind, Phase
from ...values.transcript import Shown, Transcript
from ...wires.base import Ask, Json, Wire

MISSHAPEN = (TypeError, ValueError, LookupError, AttributeError)
"""Exceptions that mean: the members of this body do not have the wire's types. Such a body is no answer and is treated
like a web page."""


class Gathering:
    """Collects the events of a stream into one body."""

    def __init__(
        self,
        wire: Wire,
        ask: Ask,
        *,
        error_rules: ErrorRules | None = None,
        limit: int = 16 << 20,
        framing: Framing = SSE,
    ) -> None:
        """`limit`: bytes of one event. `framing`: of what came, whatever was asked for."""
        self._wire = wire
        self._ask = ask
        self._rules = error_rules
        self._decoder = framing.decoder(limit)
        self._codec = wire.codec(ask)
        self._shown = Transcript()
        self._shown.expected = ask.choices
        self._codec.bind(self._shown)
        self._kept: list[Event] = []
        self._failure: Failure | None = None
        self._misshapen = False
        self.over = False
        """The answer is complete or has failed: later bytes do not belong to it."""

    @property
    def finished(self) -> bool:
        """All choices have finished; the end mark may still be missing."""
        return self._failure is None and self._shown.shown is Shown.FINISHED

    def feed(self, data: bytes) -> None:
        """Take more of the body."""
        if self.over:
            return
        try:
            self._take(self._decoder.feed(data))
        except EventTooLarge as large:
            self._take(large.events)
            if not self.over:
                self._fail(Failure(Phase.STREAM, Kind.SERVER, str(large), code="streamfuse_event_too_large"))

    def end(self) -> None:
        """The body has ended."""
        if not self.over:
            self._take(self._decoder.eof())

    def result(self) -> Json | Failure | None:
        """The body; or a Failure; or None where the events are not of this wire."""
        if self._failure is not None:
            return self._failure
        try:
            body = None if self._misshapen else self._wire.gather(self._ask, self._kept)
        except MISSHAPEN:
            return None
        if self._misshapen:
            return None
        return body if body is not None else classify.ended(len(self._kept))

    def _fail(self, failure: Failure) -> None:
        self.over = True
        if self._shown.shown is not Shown.FINISHED:
            self._failure = failure

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if event.data is None:
                continue
            try:
                self._one(event)
            except MISSHAPEN:
                self._misshapen = self.over = True
            if self.over:
                return

    def _one(self, event: Event) -> None:
        deltas = self._codec.read(event)
        if deltas and isinstance(deltas[0], Malformed):
            if deltas[0].torn and not (self._shown.shown is Shown.FINISHED and self._codec.final_finish):
                self.over, self._failure = True, classify.unreadable()
            return
        failure = self._rules.failure(event.json) if self._rules else None
        for delta in deltas:
            if isinstance(delta, Fault):
                failure = failure or classify.finish(str(delta.code)) or classify.in_band(delta)
            else:
                self._shown.note(delta)
        if failure is not None:
            self._fail(failure)
            return
        self._kept.append(event)
        self.over = any(isinstance(delta, Done) for delta in deltas)


def gathered(
    wire: Wire,
    ask: Ask,
    raw: bytes,
    *,
    error_rules: ErrorRules | None = None,
    limit: int = 16 << 20,
    framing: Framing = SSE,
) -> Json | Failure | None:
    """Convert a whole stream: its body, a Failure, or None where the events are not of this wire. `limit`: bytes of one
    event."""
    gathering = Gathering(wire, ask, error_rules=error_rules, limit=limit, framing=framing)
    gathering.feed(raw)
    gathering.end()
    return gathering.result()


def unwrapped(raw: bytes) -> bytes:
    """The data of the first event that holds an object: the body of an HTTP error that was sent in the form of a
    stream. `raw` where there is none."""
    decoder = Decoder(max(1024, 2 * len(raw)))
    events = [*decoder.feed(raw), *decoder.eof()]
    return next((event.data for event in events if event.data is not None and isinstance(event.json, dict)), raw)
