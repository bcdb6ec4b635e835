"""The answer to a request for a whole body (`stream: false`): gathered, judged, kept until the exchange sends it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from multidict import CIMultiDict

from rules import Failure, Framing, Gathering, JudgedBody, classify, likeness, look_whole

from ...intake.order import dumps
from ...upstream.client import UpstreamResponse
from .answer import BLANK, AttemptAnswer, AttemptEnd, object_of
from .looks import Looks, is_events, seen

BLANK_WAIT = 1.0
"""Seconds that blank bytes of a whole answer wait before the client's head goes out with them. Gateways send the first
after seconds and balancers cut after some 60, so it harms nobody; what fails at once is still told with a status."""

AT_ONCE = 64 << 10
"""Bytes of events that are gathered into one answer without a thread of their own: some 5 ms."""


class WholeAnswer(AttemptAnswer):
    """An answer that its client takes as one JSON body."""

    async def _whole(self, answer: UpstreamResponse) -> AttemptEnd:
        start = await self._start(answer)
        if isinstance(start, Failure):
            return start
        limit = self._fuse.settings.limits.json_answer
        gathering = None
        kind = seen(answer, start)
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
        body = object_of(data) if gathering is None else None
        self._ask = self._order.wire.as_framed(self._ask, data)
        framing = self._framing
        events = is_events(data) if framing.sse else framing.begins(data)
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
            if (kind is Looks.OTHER and answer.foreign) or (gathering is None and self._other(answer, data)):
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
                whole = gathering.finished if gathering is not None else object_of(b"".join(parts)) is not None
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
            if seen.failure is None and not changed and self._other(answer, data):
                return await self._spill(answer, data)
            self.no_answer = None if changed else data
            if seen.failure is not None and not changed and order.wire.fails_itself(body):
                # Alone the client asks once and takes it for an answer: one more call is all that may be spent on it.
                self.fails_itself = True
                return likeness.compared(seen.failure, data)
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


async def _in_turns(looking: Generator[None, None, JudgedBody]) -> JudgedBody:
    """A long answer must not keep the other streams waiting."""
    while True:
        try:
            next(looking)
        except StopIteration as end:
            seen: JudgedBody = end.value
            return seen
        await asyncio.sleep(0)
