"""The contract of a wire: one protocol, in both directions, without I/O.

A Wire has no state. A Codec is one answer on a wire: it reads the upstream's events into deltas, and its parse state is
the *upstream's* view. What the *client* has been shown is in the Transcript, which the Stream updates as it forwards.
Methods that end an answer look at the Transcript, never at the codec's parse state, because read events may not have
been forwarded. Each file or folder beside this one exports exactly one `WIRE`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..framing.framing import SSE, Framing
from ..values import record
from ..values.brief import Brief
from ..values.delta import Channel, Delta, Piece
from ..values.failures import Failure
from .usages import both_usages

if TYPE_CHECKING:
    from ..framing.sse import Event
    from ..framing.template import Template
    from ..values.transcript import Transcript

Json: TypeAlias = Mapping[str, Any]


@record(frozen=True, slots=True)
class Ask:
    """The facts of a request that the engine needs."""

    model: str
    streaming: bool
    wants_usage: bool = False
    has_tools: bool = False
    wants_json: bool = False
    """The client asked for JSON output (response_format, json_schema): half an answer is useless to it."""
    choices: int = 1
    body: Json = field(default_factory=dict)
    brief: Brief = field(default_factory=Brief)
    call: str = ""
    """Path and query of the request, for wires on which they say what the body does not: the model, the method, the
    framing."""
    asks_again: bool = False
    """The client is known to ask again by itself after an answer that ended without its finish."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How an answer ends: the notice to show (None = none) and the facts for the extra `streamfuse` object."""

    notice: str | None = None
    marker: Mapping[str, Any] = field(default_factory=dict)
    """rule, action, channel, choice, since, period, copies, attempts, evidence, bars: numbers and names only."""
    finish: str | None = None
    """The finish reason to write; None = the wire's quiet one (stop, end_turn, completed)."""


@dataclass(frozen=True, slots=True)
class Change:
    """How the second request of a heal differs from the first (`rules/heal/plan.py` decides, a wire writes it)."""

    kept: str = ""
    """The beginning of the answer that the model is given as its own; "" = it begins anew."""
    style: str = "none"
    """How the provider continues `kept` (`providers.NAME.resume`); none: as a turn of its own, with `note` behind."""
    note: str = ""
    """A correction, as the next turn after `kept`."""
    thinking: str = ""
    """How thinking is ended: template, disabled, flag, effort, openrouter, level; "" = as asked."""
    hottest: float | None = None
    """Make the sampling warmer, up to this temperature; None = leave it as asked."""
    spent: int = 0
    """Output tokens of the first answer that count against the client's own limit."""


class Misshapen(Exception):
    """A member that carries output has a type that no client can read."""


class Codec(ABC):
    """One answer on a wire.

    The Stream calls `bind(transcript)`, or `splice` where this answer continues an earlier one, before the first
    `read`. What a codec must know about sent bytes (the last sequence number) is kept in `Transcript.memory`, so that
    it outlives the attempt.
    """

    shown: Transcript | None = None
    final_finish: bool = True
    """Nothing of a choice comes after its finish. Where that is not so, an event that cannot be read may have carried
    content, even though a finish has come."""
    again: bool = False
    """The event just read differs from an earlier one only in the text of its piece."""

    def bind(self, transcript: Transcript) -> None:
        """Set what the client has been shown. The Stream updates it right after each `write`."""
        self.shown = transcript

    @property
    def quick(self) -> Callable[[bytes], Piece | None] | None:
        """A function that reads a whole event from its bytes, where the event differs from an earlier one in its text
        alone and would be written unchanged; it returns None for any other bytes. Ask for it again after every `read`.
        Default None: this wire has no such function."""
        return None

    @property
    def alike(self) -> Template | None:
        """The shape of events that `quick` reads, where a run of them may be read together. Default None."""
        return None

    def unread(self) -> None:
        """Undo what `quick` counted for the event that it read last: the event is now read and written the long way, or
        it is not sent."""

    @abstractmethod
    def read(self, event: Event) -> Sequence[Delta]:
        """Deltas of one event, in order; [] = a start-up or keep-alive event without content.

        Never raises: an event that is not of this wire gives `[Malformed(why)]`, content that is not read gives
        `[Unknown(kind)]`. A `Piece` with empty text only ties an event to its block, for the hold.
        """

    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        """The bytes to forward for an event. Default: its own (normalised) bytes; a spliced answer is rewritten.

        Called exactly once for every event that is sent, in order, at the moment it is sent (for a held event: when it
        is released), so codecs count here what the client really got. b"" = the event is left out.
        """
        return event.raw

    divides: bool = False
    """An event may say several things, and `only` can leave any of them out."""

    def only(self, event: Event, deltas: Sequence[Delta], wanted: Sequence[Delta | None]) -> Event | None:
        """A copy of an event that was read as these deltas, which says only what is wanted of each: the delta itself, a
        piece with less of its text, or nothing. It ends nothing and tells no usage that ends an answer. None where it
        cannot be written. Default: an event of one piece of text, with `_resaid`."""
        if len(deltas) != 1 or type(wanted[0]) is not Piece:
            return None
        part = event.copy()
        body = part.json
        if type(body) is not dict or not self._resaid(body, wanted[0].text):
            return None
        part.rewrite(body)
        return part

    def _resaid(self, body: Any, text: str) -> bool:
        """Put another text into a parsed event of one piece; False where that is not known to work."""
        return False

    def without(self, event: Event, choices: frozenset[int]) -> bytes:
        """The event without the parts of these (already ended) choices; b"" when nothing is left."""
        return event.raw

    def quieten(self, event: Event, choice: int, marker: Mapping[str, Any]) -> str:
        """Rewrite an event that was read and that finishes this choice: put the wire's quiet reason and the marker into
        it. Returns that reason."""
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

    def ended(self) -> Sequence[Delta]:
        """The body has ended cleanly: the deltas that this implies. Default none; on a wire whose finish reasons may
        come too early, those that turn out to be the last."""
        return ()

    def finish_missing(self, transcript: Transcript) -> bytes:
        """The missing terminal event ([DONE], message_stop), where all choices have finished without it."""
        return b""

    def splice(self, transcript: Transcript) -> None:
        """This upstream continues an earlier answer: from now on drop its head, keep the first ids, renumber."""
        self.bind(transcript)

    strips: bool = False
    """`strip` works: answers of this wire can be continued in the middle of a text."""

    def strip(self, event: Event, deltas: Sequence[Delta], chars: int, lead: str = "") -> Sequence[Delta]:
        """Remove the first `chars` characters of visible text from an event that was read, because the client has them,
        and put `lead` in front of what is left. Rewrites the event and returns its deltas as they are then."""
        body = event.json
        self._shorten(body, chars)
        if lead:
            self._lead(body, lead)
        event.rewrite(body)
        left: list[Delta] = []
        for delta in deltas:
            if (chars or lead) and type(delta) is Piece and delta.channel is Channel.TEXT:
                rest = delta.text[chars:]
                chars = max(0, chars - len(delta.text))
                if rest and lead:
                    rest, lead = lead + rest, ""
                left.append(delta._replace(text=rest))
            else:
                left.append(delta)
        return left

    def lead_in(self, event: Event, deltas: Sequence[Delta], lead: str) -> Sequence[Delta]:
        """Put visible text in front of a tool call, in the event that begins it. Returns the deltas of both. Only on
        wires whose thinking may stand in the text; elsewhere nothing is changed."""
        return deltas

    def _shorten(self, body: Any, chars: int) -> None:
        """Remove the first `chars` characters of visible text from the parsed event."""
        raise NotImplementedError

    def _lead(self, body: Any, text: str) -> None:
        """Put `text` in front of the first visible text that is left in the parsed event."""
        raise NotImplementedError("a codec with `strips` has its own")

    def mark(self, event: Event, marker: Mapping[str, Any]) -> None:
        """Put the extra object into an event that was read and that finishes the answer."""
        body = event.json
        if type(body) is dict:
            body["streamfuse"] = dict(marker)
            event.rewrite(body)

    def mark_end(self, marker: Mapping[str, Any]) -> None:
        """Put the extra object into what `ended` implied, and `finish_missing` will write. Default: nothing is."""

    def heartbeat(self, started: bool) -> bytes:
        """As `Wire.heartbeat`, for wires whose heartbeat needs a number of this stream. Prefer this one."""
        return b": hb\n"

    def prelude(self, transcript: Transcript, ident: str, created: int) -> bytes:
        """A first event of our own for a long prefill, so that heartbeats may follow; b"" = not on this wire or not for
        this request. It commits the reply to status 200. `ident`: a token unique to this answer. `created`: unix
        seconds. From then on the upstream's own first events are left out and its id is replaced."""
        return b""


class Wire(ABC):
    """A protocol."""

    name: str
    """openai_chat, openai_responses, anthropic_messages, openai_completions, gemini, ollama, opaque."""
    reads: bool = True
    """False: bytes are forwarded unchanged and no event is read (opaque)."""
    keeps: bool = False
    """Ending an answer needs the shown text: give the codec a `Transcript(keep=True)`."""
    ends_thinking: str = ""
    """How thinking is ended here at a provider of which nothing is known (`Change.thinking`); "" = it cannot be."""
    speaker: str = ""
    """The provider whose own wire this is, by its name in `heal.providers`; "" = many speak it."""
    closes_calls: bool = False
    """The wire says when a tool call is complete (`Close`), and only that releases a held call. False: arguments that
    are complete JSON release it, too."""

    thinks_in_text: bool = False
    """Thinking may stand in the text itself, in a `<think>` tag (`think_tags`)."""
    continues_by_id: bool = False
    """A request may name the answer that it follows instead of sending the history again (`previous_response_id`)."""
    block_per_item: bool = False
    """A client sends each text block of an answer back as an item of its own."""
    error_paths: str = ""
    """Paths that begin so get errors in this wire's shape, even where no wire reads them; "" = none do."""
    operation: str = "chat"
    """`gen_ai.operation.name` in the conventions of OpenTelemetry; "" = none of them."""
    key_header: str = "authorization"
    """Where the provider's key travels unless the config says otherwise: authorization (a bearer token), x-api-key,
    x-goog-api-key."""

    def claims(self, path: str) -> bool:
        """Does this wire tell a path's errors, and carry its key, even where no wire reads it?"""
        return bool(self.error_paths) and path.startswith(self.error_paths)

    @abstractmethod
    def matches(self, path: str) -> bool:
        """Is this normalised path (no version prefix, no query: `/chat/completions`) spoken here?"""

    def speaks(self, body: Json) -> bool:
        """Is this body a request of this wire? Asked only where the path is; False: the call passes unread. Wires with
        paths that other services use, too, look for a member that their requests must have.

        Default: unless `stream` is neither true, false nor null. Some servers take "true" or 1 for true (vLLM), some
        for false (llama.cpp), some refuse it: only the answer as it comes is what the client was written for."""
        stream = body.get("stream")
        return stream is None or stream is True or stream is False

    @abstractmethod
    def ask(self, body: Json, call: str = "") -> Ask:
        """Read a parsed request body. `call`: path and query of the request (`/models/m:generateContent?alt=sse`).
        Never raises: unknown shapes give defaults."""

    def framing(self, ask: Ask) -> Framing:
        """How the answer to this request is framed, where it is a stream."""
        return SSE

    def as_framed(self, ask: Ask, start: bytes) -> Ask:
        """The request whose stream begins with these bytes, where they are in another framing of this wire than the one
        that was asked for; else the request itself. `start`: the first bytes that are not blank."""
        return ask

    @abstractmethod
    def codec(self, ask: Ask) -> Codec:
        """A fresh codec for one answer."""

    @abstractmethod
    def error(self, failure: Failure) -> tuple[int, bytes]:
        """(HTTP status, JSON body) of a failure before anything was sent, in this wire's error shape."""

    def heartbeat(self, started: bool) -> bytes:
        """Bytes that reset the client's idle timer. `started`: an event has been sent."""
        return b": hb\n"

    # whole JSON bodies (stream: false) -------------------------------------------------------------------
    def whole(self, body: Json) -> Sequence[Delta]:
        """A whole JSON answer as deltas, as if streamed. [Fault] for an error body, [Malformed] for neither."""
        return []

    def fails_itself(self, body: Json) -> bool:
        """Is this a whole answer that says of itself, in this wire's own form, that it failed? A client takes it for an
        answer and does not ask again."""
        return False

    def usage(self, body: Json) -> object:
        """The token counts of a whole answer, for `tokens`; None where it tells none."""
        return body.get("usage")

    def trim(self, body: Json, keep: Mapping[tuple[int, str], int], ending: Ending) -> Json:
        """Cut a whole answer: each named block (choice, key) keeps so many characters; the answer ends legally.

        Blocks that `keep` does not name stay whole. A tool call is named only to be dropped. Keys are those of `whole`.
        Only choices with a named block get a new finish, and the notice and marker of `ending`.
        """
        return body

    def to_events(self, ask: Ask, body: Json) -> bytes:
        """A whole JSON answer as this wire's stream (a stream request that was answered with JSON)."""
        return b""

    def gather(self, ask: Ask, events: Sequence[Event]) -> Json | None:
        """A streamed answer as one whole JSON body (the reverse); None where the events do not make one."""
        return None

    # history (requests) ----------------------------------------------------------------------------------
    def advise(self, body: Json, text: str) -> Json:
        """The request with one reminder added to its last user turn; other members untouched."""
        return body

    cleans_by: tuple[str, ...] | None = ()
    """The members, besides the history, by which `clean` decides about each message alone, given that the history goes
    on behind it with a new step. None: it looks at all messages together."""

    def clean(self, body: Json) -> Json:
        """The request without parts of an earlier cut that the upstream would refuse (reasoning that we closed without
        a signature); the very same object where there is nothing to remove."""
        return body

    def heal(self, ask: Ask, change: Change) -> tuple[Json, Sequence[str]] | None:
        """The second request after a loop, and the names of the members that differ in it (`kept` and `note` apart).
        None where this wire cannot write the change, or where a second answer could contradict the request: several
        choices, logprobs, output in a form, too few tokens left."""
        return None

    def healed(self, first: Json, second: Json, marker: Mapping[str, Any]) -> Json:
        """The second whole answer (`stream: false`) as the client gets it: with the usage of both, since both are
        billed, and the extra object. Of several choices the first one is kept: one was asked for."""
        usage = both_usages(first.get("usage"), second.get("usage"))
        choices = second.get("choices")
        one = {"choices": choices[:1]} if isinstance(choices, list) else {}
        return {**second, **one, **({"usage": usage} if usage is not None else {}), "streamfuse": dict(marker)}

    def resume(self, ask: Ask, transcript: Transcript, style: str) -> Json | None:
        """A request that continues exactly after the shown text (`overlap.prefill` of it), in the provider's style;
        None = not possible."""
        return None
