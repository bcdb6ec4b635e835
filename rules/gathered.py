"""A stream in answer to a request for a whole answer, read as one: its body, or the Failure that it holds.

The same words as on a stream: a known error, an in-band error, an end without a finish and an event without an end are
told as what they are; what comes after the last event of the answer, or an error after its finish, is not part of it.
"""

from __future__ import annotations

from . import classify
from .delta import Done, Fault, Malformed
from .error_rules import ErrorRules
from .failures import Failure, Kind, Phase
from .sse import Decoder, Event, EventTooLarge
from .transcript import Shown, Transcript
from .wires.base import Ask, Json, Wire

MISSHAPEN = (TypeError, ValueError, LookupError, AttributeError)
"""What a body raises whose members are not of the wire's types, where it is to be written in another form: it is no
answer then, and is treated like a web page."""


def gathered(
    wire: Wire, ask: Ask, raw: bytes, *, error_rules: ErrorRules | None = None, limit: int = 16 << 20
) -> Json | Failure | None:
    """The body; a Failure; None where the events are none of this wire's. `limit`: bytes of one event."""
    decoder = Decoder(limit)
    try:
        events = [*decoder.feed(raw), *decoder.eof()]
    except EventTooLarge as large:
        return Failure(Phase.STREAM, Kind.SERVER, str(large), code="streamfuse_event_too_large")
    try:
        kept = _answer(wire, ask, events, error_rules)
        if isinstance(kept, Failure):
            return kept
        body = wire.gather(ask, kept)
    except MISSHAPEN:
        return None
    return body if body is not None else classify.ended(sum(event.data is not None for event in kept))


def unwrapped(raw: bytes) -> bytes:
    """The data of the first event that holds an object: an HTTP error's body, said in the form of the stream that was
    asked for. `raw` where there is none."""
    decoder = Decoder(max(1024, 2 * len(raw)))
    events = [*decoder.feed(raw), *decoder.eof()]
    return next((event.data for event in events if event.data is not None and isinstance(event.json, dict)), raw)


def _answer(wire: Wire, ask: Ask, events: list[Event], error_rules: ErrorRules | None) -> list[Event] | Failure:
    """The events up to the last one of the answer."""
    codec = wire.codec(ask)
    shown = Transcript()
    shown.expected = ask.choices
    codec.bind(shown)
    kept: list[Event] = []
    for event in events:
        if event.data is None:
            continue
        deltas = codec.read(event)
        if deltas and isinstance(deltas[0], Malformed):
            if deltas[0].torn and shown.shown is not Shown.FINISHED:
                return classify.unreadable()
            continue
        failure = error_rules.failure(event.json) if error_rules else None
        for delta in deltas:
            if isinstance(delta, Fault):
                failure = failure or classify.finish(str(delta.code)) or classify.in_band(delta)
            else:
                shown.note(delta)
        if failure is not None:
            if shown.shown is Shown.FINISHED:
                return kept
            return failure
        kept.append(event)
        if any(isinstance(delta, Done) for delta in deltas):
            return kept
    return kept
