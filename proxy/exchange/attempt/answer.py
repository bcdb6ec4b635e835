"""What is known of one upstream call and its answer, whether a stream or a whole body was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import orjson
from multidict import CIMultiDict

from rules import (
    Failure,
    Finding,
    Framing,
    JudgedBody,
    Kind,
    NearMiss,
    Phase,
    ServerCut,
    Shown,
    Splice,
    Stream,
    TextWait,
    Timeouts,
    Transcript,
    Watchdog,
    classify,
    loads,
    record,
)

from ...intake import routing
from ...intake.order import Order
from ...upstream.client import UpstreamResponse
from ..context import Context
from ..reply import Reply
from .relay import Relay

SNIFF = 64 << 10
"""Blank bytes that may stand before an answer: DeepSeek sends blank lines while a request waits in its queue."""

LATER = ("deferred", "background")
"""Members of a request that ask for an answer later: xAI's deferred completions, background mode of Responses."""

BLANK = b" \t\r\n"
"""What JSON lets stand before a value (RFC 8259 §2): clients read over it."""

REFUSAL = 5.0
"""Seconds for the body of an HTTP error, after its head: what has come by then is all that is known of it."""

UNKNOWN_CODING = Failure(
    Phase.STREAM,
    Kind.TERMINAL,
    "the upstream's answer comes in a content-encoding that is not known here",
    code="streamfuse_upstream_invalid",
)
"""It would come so again. Where nothing was sent yet the answer goes through unread instead."""

AttemptEnd: TypeAlias = Failure | Finding | None
"""What ended an attempt; None = a clean end."""


Ready: TypeAlias = tuple[int, CIMultiDict[str], bytes]
"""Status, headers and body of a whole answer."""


@record(frozen=True, slots=True)
class More:
    """How an answer may be followed up: halted at its length limit, or held until it is whole."""

    length: bool = False
    hold: bool = False
    keep: bool = False
    """Its text is needed."""


FRAMED = "framed"
"""In the transcript's memory: how a stream began that came in another framing than the one that was asked for. Calls
that go on in it write the same."""


class AttemptAnswer:
    """One call to the upstream for an order that we read."""

    def __init__(
        self,
        fuse: Context,
        order: Order,
        reply: Reply,
        own: Callable[[], Mapping[str, str]],
        tell: Callable[[Finding], None],
        number: int = 1,
        body: Mapping[str, Any] | None = None,
        transcript: Transcript | None = None,
        more: More | None = None,
        splice: Splice | None = None,
        fresh: bool = False,
        retry: bool = False,
        timeouts: Timeouts | None = None,
        held: bytes = b"",
        trace: Mapping[str, str] | None = None,
        judge: bool = False,
    ) -> None:
        """`own`: our headers for the reply, asked at the moment they go out. `tell`: a finding that only reports.
        `number`: of this attempt. `body`: instead of the client's own. `transcript`: what earlier attempts have shown.
        `more`: how the answer may be followed up. `splice`: it goes on in the middle of the text.
        `fresh`: on a new connection. `retry`: it has drawn on the provider's reserve.
        `timeouts`: instead of the provider's. `held`: bytes of an earlier attempt that go out before its own.
        `trace`: headers that take the client's trace to the provider. `judge`: it may be too slow (`timeouts.slow`)."""
        assert order.ask is not None
        self._fuse = fuse
        self._order = order
        self._ask = replace(order.ask, asks_again=True) if order.client.agent else order.ask
        self._reply = reply
        self._own = own
        self._tell = tell
        self._number = number
        self._body = body
        self._now = fuse.clock.now
        self._answer: UpstreamResponse | None = None
        self._relay: Relay | None = None
        self.began = self._now()
        self._fresh = fresh
        self._retry = retry
        self.watchdog = Watchdog(timeouts or attempt_timeouts(order), self.began)
        self.watchdog.judging = judge and transcript is None and self.watchdog.timeouts.slow is not None
        self._may_be_slow = self.watchdog.judging
        self._held = held
        self._trace = trace
        self.spliced = transcript is not None
        """It continues a stream that the client has seen the beginning of."""
        self.unseen = (
            len(transcript.text()) if transcript is not None and (splice is None or splice.watch is None) else 0
        )
        """Characters of the shown text that this attempt's rules have not seen."""
        self._splice = splice
        self.status: int | None = None
        self.server = ""
        """The `Server` header of the answer."""
        self.bytes_in = 0
        self.spilled = False
        """The answer went through unread (too large, or of no known form): nothing is left to decide."""
        self.whole_usage: object = None
        """The usage of a whole answer."""
        self.ready: Ready | None = None
        """A whole answer (stream: false), not yet sent."""
        self.no_answer: bytes | None = None
        """JSON that came with a 2xx where a whole answer should be, mostly an error: as it came."""
        self.fails_itself = False
        """It is a whole answer that says of itself that it failed (`Wire.fails_itself`)."""
        self.refused: CIMultiDict[str] = CIMultiDict()
        """The headers of an HTTP error, for the client whose request it was. A later request that is answered from
        memory does not get them."""
        self._came: bytes | None = None
        """The body of a 2xx that is no stream, as it came; None while it is not known to be all of it."""
        self.heard_at: float | None = None
        """When bytes of a whole answer last came."""
        self._blank = b""
        """Blank bytes before a whole answer that the client has not been sent."""
        self._blank_since = 0.0
        self.spent: float | None = None
        """Seconds until the provider takes another call, where its answer says that none is left; None = not said."""
        self._more = more or More()
        if transcript is None:
            transcript = Transcript(keep=order.wire.keeps or self._more.keep or order.keeps_text)
            transcript.listener = fuse.run_memory.imprint(order)
        self._transcript = transcript
        if FRAMED in transcript.memory:
            self._ask = order.wire.as_framed(self._ask, transcript.memory[FRAMED])
        self._stream: Stream | None = None
        self._whole_seen: JudgedBody | None = None

    @property
    def stream(self) -> Stream:
        """The answer on its way; made when it is first needed, which for a whole answer is never."""
        if self._stream is None:
            order = self._order
            self._stream = Stream(
                order.wire,
                self._ask,
                order.engine.rules,
                mode=order.mode,
                cut=order.engine.cut,
                limits=order.engine.limits,
                error_rules=order.engine.error_rules,
                transcript=self._transcript,
                splice=self._splice,
                stops_at_length=self._more.length,
                attempts=self._number,
                waits=order.waits and order.engine.cut.hold,
            )
        return self._stream

    @property
    def _framing(self) -> Framing:
        """How the client expects the events of a stream."""
        return self._order.wire.framing(self._ask)

    @property
    def usage(self) -> object:
        """The usage that the provider told, in its wire's own keys; None where it told none."""
        return self.whole_usage if self._stream is None else self._transcript.usage

    @property
    def events(self) -> tuple[int, int]:
        """(events read, events dropped as malformed)."""
        return (self._stream.events, self._stream.malformed) if self._stream is not None else (0, 0)

    @property
    def server_cuts(self) -> Sequence[ServerCut]:
        """Choices that the upstream ended itself because of a loop."""
        if self._whole_seen is not None:
            return self._whole_seen.server_cuts
        return self._stream.server_cuts if self._stream is not None else ()

    def near_misses(self) -> Sequence[NearMiss]:
        """Repetitions that an answer which ended by itself was near to be cut for."""
        if self._whole_seen is not None:
            return self._whole_seen.near_misses
        return self._stream.near_misses() if self._stream is not None else ()

    @property
    def waits(self) -> Sequence[TextWait]:
        """Text that waited while a rule was half convinced."""
        return self._stream.waits if self._stream is not None else ()

    @property
    def shown(self) -> Shown:
        """What the client has been shown, by all attempts together."""
        if self.spilled:
            return Shown.FINISHED
        if self.holds_output:
            return Shown.NOTHING
        return self._transcript.shown

    @property
    def holds_output(self) -> bool:
        """Whatever has come of it is held back."""
        return (self._more.hold or self._may_be_slow) and not self.spliced and not self.released

    def heard(self) -> Transcript | None:
        """The answer as the client has it, or will have it; None where it went through unread."""
        if self.spilled:
            return None
        if self.ready is None:
            return self._transcript
        deltas = self._whole_seen.deltas if self._whole_seen is not None else ()
        if not deltas and (body := object_of(self.ready[2])) is not None:
            deltas = self._order.wire.whole(body)
        transcript = Transcript(keep=True)
        for delta in deltas:
            transcript.note(delta)
        return transcript

    @property
    def opened(self) -> bool:
        """The upstream is answering with a 2xx."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def released(self) -> bool:
        """Bytes of this answer's events have gone to the client."""
        return self._relay is not None and not self._relay.holding

    @property
    def first_at(self) -> float | None:
        """When the first event that carries output was written."""
        return self._relay.first_at if self._relay is not None else None

    @property
    def _passes(self) -> bool:
        """Blank bytes mean nothing to this answer's client, and a later try of ours can follow them."""
        answer = self._answer
        return not self._ask.streaming and answer is not None and answer.status == 200 and not answer.foreign

    @property
    def judged(self) -> JudgedBody | None:
        """What the rules said of a whole answer."""
        return self._whole_seen

    def _headers(self) -> CIMultiDict[str]:
        headers = routing.incoming(self._answer.headers) if self._answer is not None else CIMultiDict[str]()
        headers.update(self._own())
        return headers

    async def _start(self, answer: UpstreamResponse) -> bytes | Failure:
        """The first bytes up to one that is not blank."""
        while len(self._blank) <= SNIFF:
            data = await answer.read()
            if data is None:
                break
            if isinstance(data, Failure):
                return data
            now = self.heard_at = self._now()
            self.watchdog.heard(now, False)
            if data.strip():
                self._blank += data
                break
            if self._passes and self._reply.started and not data.strip(BLANK):
                await self._reply.write(data)
                continue
            if not self._blank:
                self._blank_since = now
            self._blank += data
        start, self._blank = self._blank, b""
        return start

    async def _spill(self, answer: UpstreamResponse, start: bytes) -> AttemptEnd:
        """Let an answer through unread."""
        if self._reply.started and answer.foreign:
            return UNKNOWN_CODING
        self.spilled = self._reply.verbatim = True
        if self._reply.started:
            await self._reply.write(start)
        else:
            headers = self._headers()
            if answer.foreign:  # nobody has touched it: the client may know the coding
                headers.extend(
                    (name, value) for name, value in answer.headers.items() if name.lower() == "content-encoding"
                )
            await self._reply.begin(answer.status, headers, start)
        while (data := await answer.read()) is not None:
            if isinstance(data, Failure):
                return data
            self.watchdog.heard(self._now(), True)
            await self._reply.write(data)
        return None

    def _other(self, answer: UpstreamResponse, data: bytes) -> bool:
        """Is this no completion because none was promised: a 2xx other than 200 (a job that was accepted, no content),
        or the ticket of an answer that the client asked to fetch later? It then passes as it came. An error is none."""
        if self._reply.started:
            return False
        body = object_of(data)
        if body is not None and body.get("error"):
            return False
        return answer.status != 200 or (bool(body) and any(self._ask.body.get(name) is True for name in LATER))

    def _strange(self, answer: UpstreamResponse, body: bytes) -> Failure:
        return classify.strange(answer.status, answer.content_type, body, answer.headers, now=self._fuse.clock.wall())


def attempt_timeouts(order: Order) -> Timeouts:
    """The provider's timers. Our heartbeats keep a client from noticing a silence that it would end itself: where it
    says when, that is when ours rings."""
    timeouts, own = order.engine.timeouts, order.client.idle
    if own is None or timeouts.idle is None or own >= timeouts.idle or order.ask is None or not order.ask.streaming:
        return timeouts
    return timeouts.model_copy(update={"idle": own})


def json_of(data: bytes) -> Any:
    try:
        return loads(data)
    except orjson.JSONDecodeError:
        return None


def object_of(data: bytes) -> dict[str, Any] | None:
    body = json_of(data)
    return body if isinstance(body, dict) else None
