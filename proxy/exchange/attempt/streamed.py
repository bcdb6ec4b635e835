"""The answer to a request for a stream: relayed event by event, or made into a stream where it came as one body."""

from __future__ import annotations

import contextlib
from functools import partial

from rules import MISSHAPEN, Failure, Fault, Framing, Malformed, Shown, classify, likeness, whole_calls

from ...upstream.client import UpstreamResponse
from .answer import BLANK, FRAMED, REFUSAL, SNIFF, AttemptAnswer, AttemptEnd, object_of
from .looks import Looks, is_events, never, seen
from .relay import Relay

CHARACTERS = 4
"""Of an event, at least, for `timeouts.slow_characters`: about one token
(https://platform.openai.com/tokenizer)."""


class StreamedAnswer(AttemptAnswer):
    """An answer that its client takes as a stream."""

    async def _streamed(self, answer: UpstreamResponse) -> AttemptEnd:
        start = await self._start(answer)
        if isinstance(start, Failure):
            return start
        if not self._reply.started and self._stream is None:
            framed = self._order.wire.as_framed(self._ask, start)
            if framed is not self._ask:
                self._ask, self._transcript.memory[FRAMED] = framed, start
        kind, framing = seen(answer, start), self._framing
        if len(start) > SNIFF and not start.strip(BLANK) and framing.media_type.startswith(answer.content_type or "-"):
            return await self._relayed(answer, start)  # it says that it is a stream, and its timers bound the blanks
        if kind is Looks.SSE or (kind is Looks.JSON and framing.begins(start)):
            return await self._relayed(answer, start or None)
        if not start.strip():  # the body has ended, or is nothing but blank lines
            if self._other(answer, start):
                return await self._spill(answer, start)
            self._came = start
            return classify.ended(0)
        if kind is Looks.OTHER and answer.foreign:
            return await self._spill(answer, start)
        until = is_events if framing.sse else never
        if kind is Looks.JSON:
            data = await answer.whole(self._fuse.settings.limits.json_answer, start, until=until)
            if isinstance(data, Failure):
                if object_of(answer.before_break) is None:
                    return data
                data = answer.before_break  # what breaks behind the end of an answer is no failure
        else:
            data = start + await answer.beginning(likeness.MOST, REFUSAL, until=until)
        if until(data):
            return await self._relayed(answer, data)
        self._came = data
        if kind is Looks.JSON:
            return await self._converted(answer, data)
        return await self._spill(answer, data) if self._other(answer, data) else self._strange(answer, data)

    async def _relayed(self, answer: UpstreamResponse, start: bytes | None) -> AttemptEnd:
        self._relay = Relay(
            answer,
            self.stream,
            self._reply,
            self.watchdog,
            self._now,
            begin=self._begin,
            tell=self._tell,
            hold=self._fuse.settings.replay.hold_bytes,
            hold_all=self._fuse.settings.limits.json_answer if self.holds_output else 0,
            until=None if self._more.hold else self._fast_enough,
            first=partial(self._fuse.gates.answered, self._order.gate),
            held=self._held,
        )
        self._held = b""
        return await self._relay.run(start)

    def _fast_enough(self) -> bool:
        """Need nothing be held any longer? Half a tool call is output, too, which never leaves: each event counts as
        some characters, about one token."""
        watchdog, stream = self.watchdog, self.stream
        if watchdog.judging:
            written = sum(shape.chars for shape in stream.transcript.shapes.values())
            if max(written, stream.events * CHARACTERS) < watchdog.timeouts.slow_characters:
                return False
            watchdog.judging = False
        return True

    async def _converted(self, answer: UpstreamResponse, data: bytes) -> AttemptEnd:
        """JSON in answer to a stream request: an error, or a whole completion that becomes a stream."""
        self.bytes_in = len(data)
        body = object_of(data)
        wire = self._order.wire
        events = b""
        with contextlib.suppress(*MISSHAPEN):
            deltas = wire.whole(body) if body is not None else ()
            if body is not None and deltas and not any(isinstance(d, Fault | Malformed) for d in deltas):
                events = wire.to_events(self._ask, whole_calls(wire, body, deltas))
        if not events:
            return await self._spill(answer, data) if self._other(answer, data) else self._strange(answer, data)
        return await self._relayed(answer, events)

    async def _begin(self, first: bytes | None) -> None:
        headers = self._headers()
        headers.update(streaming(self._framing))
        await self._reply.begin(200, headers, first, close=self._fuse.draining)

    def prelude(self, ident: str) -> bytes:
        """The beginning of the answer, long before anything of it is said: the upstream's own where it is there, else
        one of ours where the wire has one. b"" where it is out, or must wait. To be written at once."""
        stream = self.stream
        if stream.begun or self.shown > Shown.NOTHING or stream.transcript.shown > Shown.NOTHING:
            return b""
        if self._relay is None or not self._relay.holding:
            return stream.prelude(ident, int(self._fuse.clock.wall()))
        raw = self._relay.release()
        stream.begun = bool(raw)
        return raw or stream.prelude(ident, int(self._fuse.clock.wall()))

    def overdue(self, now: float) -> bytes:
        """Text that has waited in doubt as long as it may. To be written at once."""
        if self._stream is None or self._relay is None or self._relay.holding or self._relay.first_at is None:
            return b""
        return self._stream.overdue(now)

    async def rest(self) -> bytes:
        """What is held back, if anything, for whoever ends the body: the reply is begun with this."""
        if not self._reply.started:
            await self._begin(None)
        return self.held()

    def held(self) -> bytes:
        """What is held back, for whoever writes it; nothing is held any longer then."""
        held, self._held = self._held, b""
        return held + (self._relay.rest() if self._relay is not None else b"")


def streaming(framing: Framing) -> dict[str, str]:
    """The headers of every stream."""
    return {"Content-Type": framing.media_type, **_STREAMING}


_STREAMING = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}
"""Sent on every stream, because nginx with gzip otherwise holds a stream to its end (measured, docs/sources.md)."""
