"""One upstream call: open it, see what kind of answer came, and carry it to its end, a halt or a failure.

What the answer is, is decided by its bytes before its Content-Type: servers send SSE as text/plain, errors and whole
completions as 200 JSON to a stream request, web pages with status 200, and streams to a request that asked for none.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, TypeAlias

import orjson
from multidict import CIMultiDict

from rules import (
    MISSHAPEN,
    Failure,
    Fault,
    Finding,
    Framing,
    Gathering,
    JudgedBody,
    Kind,
    Malformed,
    NearMiss,
    Phase,
    ServerCut,
    Shown,
    Splice,
    Stream,
    Timeouts,
    Transcript,
    Watchdog,
    classify,
    likeness,
    limits_spent,
    loads,
    look_whole,
    unwrapped,
    whole_calls,
)

from ..intake import routing
from ..intake.order import Order, dumps
from ..intake.ring import ANSWERED
from ..upstream.client import UpstreamRequest, UpstreamResponse
from .context import Context
from .relay import Relay
from .reply import Reply

SNIFF = 64 << 10
"""Blank bytes that may stand before an answer: DeepSeek sends blank lines while a request waits in its queue."""

BLANK = b" \t\r\n"
"""What JSON lets stand before a value (RFC 8259 §2): clients read over it."""

BLANK_WAIT = 1.0
"""Seconds that blank bytes of a whole answer wait before the client's head goes out with them. Gateways send the first
after seconds and balancers cut after some 60, so it harms nobody; what fails at once is still told with a status."""

AT_ONCE = 64 << 10
"""Bytes of events that are gathered into one answer without a thread of their own: some 5 ms."""

REFUSAL = 5.0
"""Seconds for the body of an HTTP error, after its head: what has come by then is all that is known of it."""

EVENTS = re.compile(rb"[\r\n](?:data|event):")
"""A line of server-sent events that is not the first. No JSON holds one: within its strings a line break is escaped."""

UNKNOWN_CODING = Failure(
    Phase.STREAM,
    Kind.TERMINAL,
    "the upstream's answer comes in a content-encoding that is not known here",
    code="streamfuse_upstream_invalid",
)
"""It would come so again. Where nothing was sent yet the answer goes through unread instead."""

OUR_KEY = b'"streamfuse_unauthorized"'

NO_KEY = Failure(
    Phase.HEADERS,
    Kind.TERMINAL,
    "The base_url of this provider is the address of a streamfuse that wants one of its auth.keys. If it is this one "
    "(its own published port, say), give it the address of the real provider; if it is another on purpose, give its "
    "key as the provider's api_key.",
    status=502,
    code="streamfuse_ring",
    should_retry=False,
)
"""Its own words would send the client to look for a key that it has given already."""

AttemptEnd: TypeAlias = Failure | Finding | None
"""What ended an attempt; None = a clean end."""


Ready: TypeAlias = tuple[int, CIMultiDict[str], bytes]
"""Status, headers and body of a whole answer."""


class Looks(Enum):
    """What an answer is, by its first bytes."""

    SSE = "sse"
    JSON = "json"
    PAGE = "page"
    OTHER = "other"


def looks(content_type: str, start: bytes) -> Looks:
    """By the first bytes that are not blank; by the media type where they say nothing."""
    head = start.lstrip(b"\xef\xbb\xbf \t\r\n")[:16].lower()
    if head.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        return Looks.SSE
    if head.startswith((b"{", b"[")):
        return Looks.JSON
    if head.startswith(b"<"):
        return Looks.PAGE
    if content_type == "text/event-stream":
        return Looks.SSE
    if content_type == "application/json" or content_type.endswith("+json"):
        return Looks.JSON
    return Looks.OTHER


def _is_events(data: bytes) -> bool:
    """Are these events whose first one is damaged?"""
    return EVENTS.search(data) is not None


def _never(_: bytes) -> bool:
    """Nothing shows that these are events."""
    return False


def _seen(answer: UpstreamResponse, start: bytes) -> Looks:
    """What an answer is. Under a coding that nobody knows only plain text shows itself: servers write `utf-8` there,
    and clients read on; what the media type promises is then still packed."""
    return looks("" if answer.foreign else answer.content_type, start)


@dataclass(frozen=True, slots=True)
class More:
    """How an answer may be followed up: halted at its length limit, or held until it is whole."""

    length: bool = False
    hold: bool = False
    keep: bool = False
    """Its text is needed."""


FRAMED = "framed"
"""In the transcript's memory: how a stream began that came in another framing than the one that was asked for. Calls
that go on in it write the same."""


class Attempt:
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
    ) -> None:
        """`own`: our headers for the reply, asked at the moment they go out. `tell`: a finding that only reports.
        `number`: of this attempt. `body`: instead of the client's own. `transcript`: what earlier attempts have shown.
        `more`: how the answer may be followed up. `splice`: it goes on in the middle of the text.
        `fresh`: on a new connection. `retry`: it has drawn on the provider's reserve.
        `timeouts`: instead of the provider's. `held`: bytes of an earlier attempt that go out before its own.
        `trace`: headers that take the client's trace to the provider."""
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
    def shown(self) -> Shown:
        """What the client has been shown, by all attempts together."""
        if self.spilled:
            return Shown.FINISHED
        if self._more.hold and not self.spliced and not self.released:
            return Shown.NOTHING
        return self._transcript.shown

    def heard(self) -> Transcript | None:
        """The answer as the client has it, or will have it; None where it went through unread."""
        if self.spilled:
            return None
        if self.ready is None:
            return self._transcript
        deltas = self._whole_seen.deltas if self._whole_seen is not None else ()
        if not deltas and (body := _object(self.ready[2])) is not None:
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

    async def run(self) -> AttemptEnd:
        """Carry it through. Raises ClientGone; cancelling it cuts the upstream."""
        order, now = self._order, self._now
        body, headers = order.packed(self._body)
        if self._trace:
            headers.update(self._trace)
        # The call is kept by aiohttp's tracing, so it must not know this attempt.
        watchdog = self.watchdog
        call = UpstreamRequest(order.method, order.url, headers, body, on_connected=lambda: watchdog.connected(now()))
        call.transport = self._fuse.transports[order.name]
        call.fresh = self._fresh
        answer = await self._fuse.upstream.open(call)
        if isinstance(answer, Failure):
            return answer
        self.watchdog.opened(now())
        self._fuse.ring.answered(order.name, answer.headers)
        self.status, self._answer = answer.status, answer
        self.server = answer.headers.get("Server", "")
        if self._order.provider.concurrency.adaptive:
            self.spent = limits_spent(answer.headers, self._fuse.clock.wall())
        try:
            if not 200 <= answer.status < 300:
                return await self._refused(answer)
            self._fuse.gates.opened(order.gate)
            if self._retry:
                self._fuse.reserves[order.name].refund(self._fuse.clock.wall())
            came = await (self._streamed(answer) if self._ask.streaming else self._whole(answer))
            return self._known(came) if isinstance(came, Failure) else came
        finally:
            self.bytes_in = max(self.bytes_in, self._relay.bytes_in if self._relay else 0)
            if self._stream is not None and self._stream.finished and not answer.ended:
                self._fuse.later(answer.let_go())
            else:
                answer.close()

    def _known(self, failure: Failure) -> Failure:
        """The failure with its likeness, where all that came in place of an answer is at hand."""
        came = self._relay.came if self._relay is not None else self._came
        if came is None and failure.code == likeness.INVALID:
            came = b""  # what its coding hides cannot be compared; that it does not hold is enough
        return failure if came is None or self._transcript.shown > Shown.NOTHING else likeness.known(failure, came)

    def as_came(self) -> Ready | None:
        """What came where a whole answer was asked for, as it came; None where it was not kept."""
        if self._ask.streaming or self._answer is None or self._came is None:
            return None
        return self._answer.status, self._headers(), self._came

    def let_go(self) -> None:
        """Nothing will be asked of it any more: cut the links that lead in a circle (to whoever told it its headers,
        to the relay that begins the reply through it), so that body, decoder and answer are free at once and do not
        wait for the garbage collector."""
        self._own, self._tell = dict, _unheard
        self._relay = self._answer = None

    def prelude(self, ident: str) -> bytes:
        """The beginning of the answer, long before anything of it is said: the upstream's own where it is there, else
        one of ours where the wire has one. b"" where it is out, or must wait. To be written at once."""
        stream = self.stream
        if stream.begun or self.shown > Shown.NOTHING:
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

    def blank(self, now: float, late: bool) -> bytes:
        """Blank bytes to begin the reply to a whole answer with: those that have come, after BLANK_WAIT. `late`: the
        client should hear something, so a blank line of ours where the answer itself has begun to come. b"" where
        there is nothing to say yet."""
        if not self._passes:
            return b""
        if self._blank and not self._blank.strip(BLANK):
            return self._blank if now - self._blank_since >= BLANK_WAIT else b""
        return b"\n" if late and self.heard_at is not None else b""

    def blank_sent(self) -> None:
        """The blank bytes that were asked for are on their way."""
        self._blank = b""

    def head(self) -> CIMultiDict[str]:
        """The headers of a reply that begins before its whole answer is there."""
        headers = self._headers()
        if headers.get("Content-Type", "").startswith("text/event-stream"):
            headers["Content-Type"] = "application/json"
        headers["X-Accel-Buffering"] = "no"
        return headers

    @property
    def _passes(self) -> bool:
        """Blank bytes mean nothing to this answer's client, and a later try of ours can follow them."""
        answer = self._answer
        return not self._ask.streaming and answer is not None and answer.status == 200 and not answer.foreign

    async def rest(self) -> bytes:
        """What is held back, if anything, for whoever ends the body: the reply is begun with this."""
        if not self._reply.started:
            await self._begin(None)
        return self.held()

    def held(self) -> bytes:
        """What is held back, for whoever writes it; nothing is held any longer then."""
        held, self._held = self._held, b""
        return held + (self._relay.rest() if self._relay is not None else b"")

    @property
    def judged(self) -> JudgedBody | None:
        """What the rules said of a whole answer."""
        return self._whole_seen

    async def _refused(self, answer: UpstreamResponse) -> Failure:
        """An HTTP error."""
        body = await answer.beginning(self._fuse.settings.limits.error_body, REFUSAL)
        kind = _seen(answer, body)
        if kind is Looks.SSE:
            body = unwrapped(body)
        elif kind is Looks.OTHER and answer.foreign:
            body = b""
        if answer.status == 401 and self._fuse.keys and ANSWERED in answer.headers and OUR_KEY in body:
            return NO_KEY
        failure = classify.response(answer.status, answer.headers, body, now=self._fuse.clock.wall())
        return self._order.engine.error_rules.failure(_json(body), failure) or failure

    # --- a stream was asked for ---------------------------------------------------------------------------------------
    async def _streamed(self, answer: UpstreamResponse) -> AttemptEnd:
        start = await self._start(answer)
        if isinstance(start, Failure):
            return start
        if not self._reply.started and self._stream is None:
            framed = self._order.wire.as_framed(self._ask, start)
            if framed is not self._ask:
                self._ask, self._transcript.memory[FRAMED] = framed, start
        kind, framing = _seen(answer, start), self._framing
        if len(start) > SNIFF and not start.strip(BLANK) and answer.content_type == framing.media_type:
            return await self._relayed(answer, start)  # it says that it is a stream, and its timers bound the blanks
        if kind is Looks.SSE or (kind is Looks.JSON and framing.begins(start)):
            return await self._relayed(answer, start or None)
        if not start.strip():  # the body has ended, or is nothing but blank lines
            self._came = start
            return classify.ended(0)
        if kind is Looks.OTHER and answer.foreign:
            return await self._spill(answer, start)
        until = _is_events if framing.sse else _never
        if kind is Looks.JSON:
            data = await answer.whole(self._fuse.settings.limits.json_answer, start, until=until)
            if isinstance(data, Failure):
                if _object(answer.before_break) is None:
                    return data
                data = answer.before_break  # what breaks behind the end of an answer is no failure
        else:
            data = start + await answer.beginning(likeness.MOST, REFUSAL, until=until)
        if until(data):
            return await self._relayed(answer, data)
        self._came = data
        return await self._converted(answer, data) if kind is Looks.JSON else self._strange(answer, data)

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
            hold_all=self._fuse.settings.limits.json_answer if self._more.hold and not self.spliced else 0,
            first=partial(self._fuse.gates.answered, self._order.gate),
            held=self._held,
        )
        self._held = b""
        return await self._relay.run(start)

    async def _converted(self, answer: UpstreamResponse, data: bytes) -> AttemptEnd:
        """JSON in answer to a stream request: an error, or a whole completion that becomes a stream."""
        self.bytes_in = len(data)
        body = _object(data)
        wire = self._order.wire
        events = b""
        with contextlib.suppress(*MISSHAPEN):
            deltas = wire.whole(body) if body is not None else ()
            if body is not None and deltas and not any(isinstance(d, Fault | Malformed) for d in deltas):
                events = wire.to_events(self._ask, whole_calls(wire, body, deltas))
        if not events:
            return self._strange(answer, data)
        return await self._relayed(answer, events)

    async def _begin(self, first: bytes | None) -> None:
        headers = self._headers()
        headers.update(streaming(self._framing))
        await self._reply.begin(200, headers, first, close=self._fuse.draining)

    def _headers(self) -> CIMultiDict[str]:
        headers = routing.incoming(self._answer.headers) if self._answer is not None else CIMultiDict[str]()
        headers.update(self._own())
        return headers

    # --- a whole answer was asked for ---------------------------------------------------------------------------------
    async def _whole(self, answer: UpstreamResponse) -> AttemptEnd:
        start = await self._start(answer)
        if isinstance(start, Failure):
            return start
        limit = self._fuse.settings.limits.json_answer
        gathering = None
        kind = _seen(answer, start)
        if kind is Looks.SSE:
            gathering = self._gathering()
        data = await self._all(answer, start, limit, gathering)
        if isinstance(data, Failure):
            return data
        if len(data) > limit:
            if self._reply.started and gathering is not None:
                return self._strange(answer, data)
            return await self._spill(answer, data)
        self.bytes_in = len(data)
        self._came = data
        body = _object(data) if gathering is None else None
        self._ask = self._order.wire.as_framed(self._ask, data)
        framing = self._framing
        events = _is_events(data) if framing.sse else framing.begins(data)
        if gathering is None and body is None and events:
            # A stream where none was asked for, whose first bytes look like those of a whole answer.
            gathering = self._gathering(None if framing.sse else framing)
            gathering.feed(data)
            gathering.end()
        if gathering is not None:
            # Tens of thousands of events must not keep the other streams waiting.
            got = gathering.result() if len(data) < AT_ONCE else await asyncio.to_thread(gathering.result)
            if isinstance(got, Failure):
                return got
            body = dict(got) if got is not None else None
        if body is None:
            if kind is Looks.OTHER and answer.foreign:
                return await self._spill(answer, data)
            return self._strange(answer, data) if data.strip() else classify.ended(0)
        return await self._judged(answer, data, body, changed=gathering is not None)

    def _gathering(self, framing: Framing | None = None) -> Gathering:
        rules, limit = self._order.engine.error_rules, self._fuse.settings.limits.event
        more = {"framing": framing} if framing is not None else {}
        return Gathering(self._order.wire, self._ask, error_rules=rules, limit=limit, **more)

    async def _all(
        self, answer: UpstreamResponse, start: bytes, limit: int, gathering: Gathering | None
    ) -> bytes | Failure:
        """The body, or more than `limit` bytes of it. What breaks behind the end of an answer is no failure."""
        parts, size = [start], len(start)
        while size <= limit:
            if gathering is not None:
                gathering.feed(parts[-1])
                if gathering.over:
                    break
            data = await answer.read()
            if data is None:
                if gathering is not None:
                    gathering.end()
                break
            if isinstance(data, Failure):
                whole = gathering.finished if gathering is not None else _object(b"".join(parts)) is not None
                if not whole:
                    return data
                break
            # Nothing of it is output yet: it stretches the wait for the answer as a comment does.
            self.heard_at = self._now()
            self.watchdog.heard(self.heard_at, False)
            parts.append(data)
            size += len(data)
        return b"".join(parts)

    async def _judged(self, answer: UpstreamResponse, data: bytes, body: dict[str, Any], changed: bool) -> AttemptEnd:
        order = self._order
        if (failure := order.engine.error_rules.failure(body)) is not None:
            self.no_answer = None if changed else data
            return failure
        looking = look_whole(
            order.wire,
            self._ask,
            order.engine.rules,
            body,
            mode=order.mode,
            cut=order.engine.cut,
            attempts=self._number,
        )
        seen = await _in_turns(looking)
        self._whole_seen = seen
        if seen.failure is not None or not seen.known:
            self.no_answer = None if changed else data
            return seen.failure or self._strange(answer, data)
        for finding in seen.findings:
            # One cut is one finding; other choices have their own.
            if not finding.acts or (seen.cut is not None and finding.choice != seen.cut.choice):
                self._tell(finding)
        headers = self._headers()
        if changed:
            headers["Content-Type"] = "application/json"
        self.whole_usage = self._order.wire.usage(seen.body)
        self.ready = (answer.status, headers, dumps(seen.body) if changed or seen.body is not body else data)
        return seen.cut

    # --- shared -------------------------------------------------------------------------------------------------------
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

    def _strange(self, answer: UpstreamResponse, body: bytes) -> Failure:
        return classify.strange(answer.status, answer.content_type, body, answer.headers, now=self._fuse.clock.wall())


def streaming(framing: Framing) -> dict[str, str]:
    """The headers of every stream."""
    return {"Content-Type": framing.media_type, **_STREAMING}


_STREAMING = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}
"""Sent on every stream, because nginx with gzip otherwise holds a stream to its end (measured, docs/sources.md)."""


def attempt_timeouts(order: Order) -> Timeouts:
    """The provider's timers. Our heartbeats keep a client from noticing a silence that it would end itself: where it
    says when, that is when ours rings."""
    timeouts, own = order.engine.timeouts, order.client.idle
    if own is None or timeouts.idle is None or own >= timeouts.idle or order.ask is None or not order.ask.streaming:
        return timeouts
    return timeouts.model_copy(update={"idle": own})


async def _in_turns(looking: Generator[None, None, JudgedBody]) -> JudgedBody:
    """A long answer must not keep the other streams waiting."""
    while True:
        try:
            next(looking)
        except StopIteration as end:
            seen: JudgedBody = end.value
            return seen
        await asyncio.sleep(0)


def _unheard(_finding: Finding) -> None:
    """What a finding is told to when the exchange is over."""


def _json(data: bytes) -> Any:
    try:
        return loads(data)
    except orjson.JSONDecodeError:
        return None


def _object(data: bytes) -> dict[str, Any] | None:
    body = _json(data)
    return body if isinstance(body, dict) else None
