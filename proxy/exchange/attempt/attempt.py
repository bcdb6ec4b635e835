"""One upstream call: open it, see what kind of answer came, and carry it to its end, a halt or a failure."""

from __future__ import annotations

from rules import Failure, Finding, Kind, Phase, Shown, classify, likeness, limits_spent, unwrapped

from ...intake import routing
from ...intake.ring import ANSWERED
from ...upstream.client import UpstreamRequest, UpstreamResponse
from .answer import REFUSAL, AttemptEnd, Ready, json_of
from .looks import Looks, seen
from .streamed import StreamedAnswer
from .whole import WholeAnswer

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


class Attempt(StreamedAnswer, WholeAnswer):
    """Carried from its request to its end."""

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
        if came is None and (failure.code == likeness.INVALID or failure.code in likeness.OVERSIZE):
            came = b""  # what its coding hides, or what is too long to be kept, cannot be compared: the code is enough
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

    async def _refused(self, answer: UpstreamResponse) -> Failure:
        """An HTTP error."""
        body = await answer.beginning(self._fuse.settings.limits.error_body, REFUSAL)
        kind = seen(answer, body)
        if kind is Looks.SSE:
            body = unwrapped(body)
        elif kind is Looks.OTHER and answer.foreign:
            body = b""
        if answer.status == 401 and self._fuse.keys and ANSWERED in answer.headers and OUR_KEY in body:
            return NO_KEY
        failure = classify.response(answer.status, answer.headers, body, now=self._fuse.clock.wall())
        self.refused = routing.incoming(answer.headers)
        return self._order.engine.error_rules.failure(json_of(body), failure) or failure


def _unheard(_finding: Finding) -> None:
    """What a finding is told to when the exchange is over."""
