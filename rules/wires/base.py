"""The contract of a wire: one protocol, both directions, pure.

A Wire is stateless. A Codec is one answer on it: it reads the upstream's events into deltas (its parse state is the
*upstream's* view) and writes the legal ends. What the *client* has been shown is kept in the Transcript, which
the Stream notes as it forwards; closers ask the Transcript, never the codec's own reading.
Each file or folder beside this one exports exactly one `WIRE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from ..values.brief import Brief
from ..values.delta import Channel, Delta, Piece
from ..values.failures import Failure, Kind, Phase
from ..values.json import loads

if TYPE_CHECKING:
    from ..framing.sse import Event
    from ..values.transcript import Transcript

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request is about, as far as the engine needs to know."""

    model: str
    streaming: bool
    wants_usage: bool = False
    has_tools: bool = False
    wants_json: bool = False
    """The client asked for JSON output (response_format, json_schema): half an answer is of no use to it."""
    choices: int = 1
    body: Json = field(default_factory=dict)
    brief: Brief = field(default_factory=Brief)


@dataclass(frozen=True, slots=True)
class Ending:
    """How to end: the notice to show (None = none) and the facts for the extra `streamfuse` object."""

    notice: str | None = None
    marker: Mapping[str, Any] = field(default_factory=dict)
    """rule, action, channel, choice, since, period, copies, attempts, evidence, bars: numbers and names only."""
    finish: str | None = None
    """The wire's own finish reason to use; None = the wire's quiet one (stop, end_turn, completed)."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What is said to a model whose shown text went round in circles."""

    text: str
    keep: int | None = None
    """Characters of the shown text worth repeating to it: up to one copy of the loop. None = all."""

    def turn(self, text: str) -> str:
        """What it is told to have said."""
        kept = text[: self.keep].rstrip() if self.keep else ""
        return kept or text.rstrip()


class Codec(ABC):
    """One answer. `splice()` tells it that a second upstream continues the same client stream.

    The Stream calls `bind(transcript)` (or `splice`, which binds too) before the first `read`; what a codec must know
    of the bytes that went out (the last sequence number) lives in `Transcript.memory`, so that it outlives the attempt.
    """

    shown: Transcript | None = None
    again: bool = False
    """The event just read is like one read before, but for the text of its piece."""

    def bind(self, transcript: Transcript) -> None:
        """This is what the client has been shown; it is noted by the Stream right after each `write`."""
        self.shown = transcript

    @property
    def quick(self) -> Callable[[bytes], Piece | None] | None:
        """What a whole event says, given as bytes, where it is like one read before and would be written as it is; it
        says None of any other bytes. To be asked for anew after every `read`. Default: this wire has no such way."""
        return None

    def unread(self) -> None:
        """The event that `quick` has just read is read, and written, in the long way, or does not go out."""

    @abstractmethod
    def read(self, event: Event) -> Sequence[Delta]:
        """Deltas of one event, in order; [] = a start-up or keep-alive event that teaches the client nothing.

        Never raises: what is not of this wire is `[Malformed(why)]`, what is unread is `[Unknown(kind)]`. A `Piece`
        with empty text ties an event to its block (for the hold) and says nothing.
        """

    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        """The bytes to forward for an event. Default: its own (normalised) bytes; a spliced answer is rewritten.

        Called exactly once for every event that goes out, in order, at the moment it goes out (a held event: when it is
        released): codecs count here what the client has really been sent. b"" = the event is swallowed.
        """
        return event.raw

    def without(self, event: Event, choices: frozenset[int]) -> bytes:
        """The event without what belongs to these (already ended) choices; b"" when nothing is left."""
        return event.raw

    def quieten(self, event: Event, choice: int, marker: Mapping[str, Any]) -> str:
        """Rewrite an event that was read and that finishes this choice: the wire's quiet reason instead of the one it
        has, and the marker. Returns that reason."""
        raise NotImplementedError

    @abstractmethod
    def close_choice(self, transcript: Transcript, choice: int, ending: Ending) -> bytes:
        """End one choice: its open blocks closed, the notice, its finish. Not the terminal event."""

    @abstractmethod
    def close(self, transcript: Transcript, ending: Ending) -> bytes:
        """End everything that is open and the stream itself, legally, as a normal end. b"" if already ended."""

    @abstractmethod
    def fail(self, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None) -> bytes:
        """End the stream with this wire's in-band error. b"" if already ended."""

    def finish_missing(self, transcript: Transcript) -> bytes:
        """All choices have finished but the terminal event never came: what is missing ([DONE], message_stop)."""
        return b""

    def splice(self, transcript: Transcript) -> None:
        """A new upstream continues this answer: from now on drop its head, keep ids, renumber."""
        self.bind(transcript)

    strips: bool = False
    """Can `strip`: this wire's answers can be gone on with in the middle of a text."""

    def strip(self, event: Event, deltas: Sequence[Delta], chars: int) -> Sequence[Delta]:
        """Take the first `chars` characters of visible text out of an event that was read: an echo of what the client
        has. The event is rewritten; its deltas without them."""
        body = event.json
        self._shorten(body, chars)
        event.rewrite(body)
        left: list[Delta] = []
        for delta in deltas:
            if chars and type(delta) is Piece and delta.channel is Channel.TEXT:
                left.append(delta._replace(text=delta.text[chars:]))
                chars = max(0, chars - len(delta.text))
            else:
                left.append(delta)
        return left

    def _shorten(self, body: Any, chars: int) -> None:
        """Take the first `chars` characters of visible text out of the parsed event."""
        raise NotImplementedError

    def heartbeat(self, started: bool) -> bytes:
        """As `Wire.heartbeat`, for wires whose heartbeat carries a number of this very stream. Prefer this one."""
        return b": hb\n"

    def prelude(self, transcript: Transcript, ident: str, created: int) -> bytes:
        """A synthetic first event for a long prefill, so that real heartbeats may follow; b"" = not on this wire or
        not for this request. It commits the reply. `ident` is a token unique to this answer, `created` unix seconds.
        The upstream's own first events are swallowed and its id replaced from then on."""
        return b""


class Wire(ABC):
    """A protocol."""

    name: str
    """openai_chat, openai_responses, anthropic_messages, openai_completions, opaque."""
    reads: bool = True
    """False: bytes pass as they are, no event is looked at (opaque)."""
    keeps: bool = False
    """The closers need the text shown so far: give the codec a `Transcript(keep=True)`."""
    closes_calls: bool = False
    """The wire itself says when a tool call is complete (`Close`): a held call is released by that alone. Where it is
    False, arguments that are complete JSON release it too."""

    @abstractmethod
    def matches(self, path: str) -> bool:
        """Is this normalised path (no version prefix, no query: `/chat/completions`) spoken here?"""

    @abstractmethod
    def ask(self, body: Json) -> Ask:
        """Read a parsed request body. Never raises on odd bodies: unknown shapes give defaults."""

    @abstractmethod
    def codec(self, ask: Ask) -> Codec:
        """A fresh codec for one answer."""

    @abstractmethod
    def error(self, failure: Failure) -> tuple[int, bytes]:
        """(HTTP status, JSON body) of a failure before anything was sent, in this wire's error shape."""

    def heartbeat(self, started: bool) -> bytes:
        """Bytes that keep the client's timers quiet. `started`: an event has been sent."""
        return b": hb\n"

    # whole JSON bodies (stream: false) -------------------------------------------------------------------
    def whole(self, body: Json) -> Sequence[Delta]:
        """A whole JSON answer as deltas, as if streamed. [Fault] for an error body, [Malformed] for neither."""
        return []

    def trim(self, body: Json, keep: Mapping[tuple[int, str], int], ending: Ending) -> Json:
        """A whole answer cut: each block (choice, key) keeps so many characters, half calls dropped, ended legally.

        Blocks that `keep` does not name stay whole. A tool call is named only to be dropped. Keys are those of `whole`.
        Only choices with a named block get a new finish, and the notice and marker of `ending`.
        """
        return body

    def to_events(self, ask: Ask, body: Json) -> bytes:
        """A whole JSON answer as this wire's SSE (a stream request that was answered with JSON)."""
        return b""

    def gather(self, ask: Ask, events: Sequence[Event]) -> Json | None:
        """An SSE answer as one whole JSON body (the reverse); None where the events do not make one."""
        return None

    # history (requests) ----------------------------------------------------------------------------------
    def advise(self, body: Json, text: str) -> Json:
        """The request with one reminder added to its last user turn; other members untouched."""
        return body

    def clean(self, body: Json) -> Json:
        """The request without what an earlier cut left behind and the upstream would refuse (reasoning closed by us
        without a signature); the very same object where there is nothing to remove."""
        return body

    def resume(self, ask: Ask, transcript: Transcript, style: str, advice: Advice | None = None) -> Json | None:
        """A request that continues exactly after the shown text (`echo.prefill` of it), in the provider's style; None =
        cannot. `advice`: the shown text looped, so it becomes a turn of its own, with the advice as the next."""
        return None


# what OpenAI's wires share ------------------------------------------------------------------------------
def resumable(transcript: Transcript) -> bool:
    """Was nothing shown but text (and reasoning before it) of one open choice, and is the text there, whole?"""
    shapes = transcript.shapes.values()
    if not (transcript.keep and transcript.whole) or transcript.finished or transcript.done:
        return False
    if any(s.channel not in (Channel.TEXT, Channel.REASONING) or s.block[0] != 0 for s in shapes):
        return False
    return bool(transcript.text().strip())


def less(body: Json, transcript: Transcript, *names: str) -> dict[str, int]:
    """The token limits of a request, less what earlier attempts have used of them."""
    return {n: max(1, body[n] - transcript.earlier) for n in names if type(body.get(n)) is int}


def earlier_usage(transcript: Transcript) -> tuple[int, int | None]:
    """(output tokens, prompt tokens) of the attempts before; None where they did not say."""
    said = transcript.usage or {}
    spent, asked = said.get("completion_tokens"), said.get("prompt_tokens")
    return max(spent if type(spent) is int else 0, transcript.earlier), asked if type(asked) is int else None


def summed(usage: Json, spent: int, asked: int | None) -> dict[str, Any]:
    """The usage of one answer that several upstreams gave: output of all, the prompt of the first. A later prompt holds
    what was shown: where the first never said how long its own was, it is the later one less that."""
    said, prompt = usage.get("completion_tokens"), usage.get("prompt_tokens")
    if not spent or type(said) is not int or type(prompt) is not int:
        return dict(usage)
    asked = max(0, prompt - spent) if asked is None else asked
    return {**usage, "prompt_tokens": asked, "completion_tokens": said + spent, "total_tokens": asked + said + spent}


# what every wire's errors share -------------------------------------------------------------------------
_STATUS = {
    Kind.TERMINAL: 400,
    Kind.RATE_LIMIT: 429,
    Kind.STALL: 504,
    Kind.LOOP: 400,  # the only class that no SDK retries by itself
}

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    429: "rate_limit_error",
    504: "timeout_error",
}


def http_status(failure: Failure) -> int:
    """The HTTP status to tell a failure with: the upstream's own error status, else one by kind (502 by default)."""
    if failure.status is not None and 400 <= failure.status <= 599:
        return failure.status
    return _STATUS.get(failure.kind, 502)


def openai_error_object(failure: Failure) -> dict[str, Any]:
    """The `error` member: as the upstream sent it in its stream, completed by ours. Our type is
    honest: OpenCode decides by it whether to ask again."""
    status = http_status(failure)
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    ours = {
        "message": failure.message or "The upstream failed.",
        "type": kind,
        "param": None,
        "code": failure.code or f"upstream_{failure.kind.value}",
    }
    given, _ = sent_error(failure)
    return {**ours, **{name: value for name, value in given.items() if value is not None or name not in ours}}


def sent_error(failure: Failure) -> tuple[dict[str, Any], dict[str, Any]]:
    """(error object, what stood beside it) of the event that told this failure, as the upstream sent them: clients read
    members that we do not (OpenRouter's `metadata`), and its code may be a number. Two empty ones where there is none,
    or where the failure is no error inside a stream."""
    if failure.body is None or failure.phase is not Phase.STREAM:
        return {}, {}
    try:
        given = loads(failure.body)
    except ValueError:
        return {}, {}
    if not isinstance(given, dict):
        return {}, {}
    around = given
    if isinstance(given.get("response"), dict):
        around = given["response"]
    error = around.get("error")
    if isinstance(error, dict):
        beside = {name: value for name, value in given.items() if name not in _FRAME}
        return error, beside
    if given.get("object") == "error" or (given.get("type") == "error" and "error" not in given):
        return {name: value for name, value in given.items() if name not in _FRAME}, {}
    return {}, {}


_FRAME = frozenset({"error", "choices", "id", "object", "created", "model", "usage", "system_fingerprint", "response",
                    "sequence_number", "streamfuse"})  # fmt: skip
"""Members of an event that belong to the answer, not to its error."""


def own_body(failure: Failure) -> bytes | None:
    """What the upstream itself answered under this status, where it is JSON of any shape (Gemini: an array, FastAPI:
    `detail`): a client may know it, and gets what it would get without us. None for an error inside a stream, which
    came in an event's shape, and for what is no JSON."""
    if failure.body is None or failure.phase is not Phase.HEADERS or http_status(failure) != failure.status:
        return None
    try:
        return failure.body if loads(failure.body) else None
    except ValueError:
        return None


def openai_error(failure: Failure) -> tuple[int, bytes]:
    """(status, body): the upstream's own body, as it is, where it answered so itself or has OpenAI's error shape; else
    in that shape."""
    status = http_status(failure)
    if (own := own_body(failure)) is not None:
        return status, own
    if failure.body is not None:
        try:
            given = orjson.loads(failure.body)
        except orjson.JSONDecodeError:
            given = None
        error = given.get("error") if isinstance(given, dict) else None
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            return status, failure.body
    return status, orjson.dumps({"error": openai_error_object(failure)})
