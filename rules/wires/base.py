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

import orjson

from ..framing.framing import SSE, Framing
from ..values.brief import Brief
from ..values.delta import Channel, Delta, Piece
from ..values.failures import Failure, Kind, Phase
from ..values.json import loads

if TYPE_CHECKING:
    from ..framing.sse import Event
    from ..framing.template import Template
    from ..values.transcript import Transcript

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
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


LEAST_TOKENS = 64
"""Tokens of the client's own limit that must be left for a second answer, else it is not worth a call."""
WARM = 0.9
"""Lowest temperature of a second answer after a loop in text: 0.7 and less fell back into the loop (docs/heal.md)."""


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
        """Is this body a request of this wire? Asked only where the path is; False: the call passes unread. Default
        True; wires with paths that other services use, too, look for a member that their requests must have."""
        return True

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


# what OpenAI's wires share ------------------------------------------------------------------------------
def resumable(transcript: Transcript) -> bool:
    """Was only text (and reasoning before it) of one open choice shown, and was all of the text kept?"""
    shapes = transcript.shapes.values()
    if not (transcript.keep and transcript.whole) or transcript.finished or transcript.done:
        return False
    if any(s.channel not in (Channel.TEXT, Channel.REASONING) or s.block[0] != 0 for s in shapes):
        return False
    return bool(transcript.text().strip())


def less(body: Json, transcript: Transcript, *names: str) -> dict[str, int]:
    """The token limits of a request, reduced by what earlier attempts have used."""
    return {n: max(1, body[n] - transcript.earlier) for n in names if type(body.get(n)) is int}


def heal_limits(body: Json, spent: int, *names: str) -> dict[str, int] | None:
    """The token limits of a second request; None where too little is left of one."""
    given = {name: body[name] - spent for name in names if type(body.get(name)) is int}
    return None if any(left < LEAST_TOKENS for left in given.values()) and spent else given


def warmed(body: dict[str, Any], hottest: float | None) -> list[str]:
    """Make the sampling of a request warmer, in place: the same sampling gives the same loop. Returns the names of what
    changed. Nothing is done where `hottest` is None."""
    if hottest is None:
        return []
    changed = []
    asked = body.get("temperature")
    warm = min(hottest, max(WARM, asked) if isinstance(asked, int | float) else 1.0)
    if warm != asked:
        body["temperature"] = warm
        changed.append("temperature")
    if body.pop("seed", None) is not None:
        changed.append("seed")
    if body.get("top_k") == 1:
        del body["top_k"]
        changed.append("top_k")
    return changed


def least_effort(model: str) -> str:
    """The lowest reasoning effort that a model takes (developers.openai.com/api/docs/guides/reasoning): gpt-5 itself
    has `minimal`, its successors `none`, older models and gpt-oss `low`. Google's models, under OpenAI's names for it
    (https://ai.google.dev/gemini-api/docs/openai): Gemini 2.5 Flash has `none`, newer Flash `minimal`, Pro `low`."""
    name = model.lower().rpartition("/")[2]
    if name.startswith(("o1", "o3", "o4", "gpt-oss", "codex")) or "codex" in name:
        return "low"
    if name.startswith("gemini"):
        return "low" if "pro" in name else "none" if name.startswith("gemini-2") else "minimal"
    return "minimal" if name.startswith("gpt-5") and not name.startswith("gpt-5.") else "none"


def both_usages(first: Any, second: Any) -> dict[str, Any] | None:
    """The usage of an answer that was asked for twice: the first prompt, and the output of both; of one alone where the
    other told none. None where neither did."""
    if not isinstance(second, dict):
        return dict(first) if isinstance(first, dict) else None
    out = dict(second)
    if not isinstance(first, dict):
        return out
    for asked, said in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
        if all(type(usage.get(name)) is int for usage in (first, second) for name in (asked, said)):
            out[asked], out[said] = first[asked], first[said] + second[said]
            if "total_tokens" in second:
                out["total_tokens"] = out[asked] + out[said]
    return out


def earlier_usage(transcript: Transcript) -> tuple[int, int | None, int]:
    """(output tokens, prompt tokens or None where none were told, output tokens that the later prompt holds) of earlier
    attempts."""
    said = transcript.usage or {}
    given, asked = said.get("completion_tokens"), said.get("prompt_tokens")
    spent = max(given if type(given) is int else 0, transcript.earlier)
    return spent, asked if type(asked) is int else None, spent if transcript.resent is None else transcript.resent


def summed(usage: Json, spent: int, asked: int | None, resent: int) -> dict[str, Any]:
    """The usage of one answer that several upstreams gave: the output of all, and the prompt of the first. What a later
    prompt holds of the earlier output is subtracted where the first prompt's length is not known."""
    said, prompt = usage.get("completion_tokens"), usage.get("prompt_tokens")
    if not spent or type(said) is not int or type(prompt) is not int:
        return dict(usage)
    asked = max(0, prompt - resent) if asked is None else asked
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
    """The HTTP status that reports a failure: the upstream's own error status, else one by kind (502 by default)."""
    if failure.status is not None and 400 <= failure.status <= 599:
        return failure.status
    return _STATUS.get(failure.kind, 502)


def openai_error_object(failure: Failure) -> dict[str, Any]:
    """The `error` member: as the upstream sent it in its stream, with our members where it has none. Its type must be
    right, because OpenCode decides by it whether to ask again."""
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
    """(error object, members beside it) of the event that reported this failure, as the upstream sent them: clients
    read members that we do not (OpenRouter's `metadata`), and the code may be a number. Two empty ones where there is
    none, or where the failure is not an error inside a stream."""
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
    """The upstream's own body under this status, where it is JSON of any shape (Gemini: an array, FastAPI: `detail`):
    the client gets what it would get without us. None for an error inside a stream, which has the shape of an event,
    and where the body is not JSON."""
    if failure.body is None or failure.phase is not Phase.HEADERS or http_status(failure) != failure.status:
        return None
    try:
        return failure.body if loads(failure.body) else None
    except ValueError:
        return None


def openai_error(failure: Failure) -> tuple[int, bytes]:
    """(status, body): the upstream's own body unchanged, where it answered with it or it has OpenAI's error shape; else
    a body of ours in that shape."""
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
