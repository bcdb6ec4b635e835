"""One message on its way: upstream events to deltas, a second attempt into the first, and the legal ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from ...framing.sse import encode
from ...framing.template import Template
from ...values.delta import Block, Channel, Close, Delta, Done, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from ...values.failures import Failure, Kind, Phase
from ..base import Ask, Codec, Ending
from ..server_cuts import details, unsaid
from .grammar import BLOCKS, PIECES, channel_of, error_body, fault, heartbeat, message_object, pack, status_of, stop

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript

HALF_CALL: Final = Failure(
    Phase.STREAM, Kind.LOOP, "The answer was cut inside a tool call; the call is not to be run.", code="streamfuse_loop"
)


class MessagesCodec(Codec):
    """One message."""

    strips = True

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._offset = 0
        self._spliced = False
        self._carry: int | None = None
        """The client's open text block that the first text block of a second upstream goes on in."""
        self._merged = False
        self._began = False
        self._spent = 0
        self._blocks: dict[object, tuple[Block, Channel | None]] = {}
        self._stopped: set[object] = set()
        self._template = Template()

    # reading -----------------------------------------------------------------------------------------------
    @property
    def quick(self) -> Callable[[bytes], Piece | None] | None:
        return None if self._spliced else self._template.match

    @property
    def alike(self) -> Template | None:
        return None if self._spliced else self._template

    def read(self, event: Event) -> Sequence[Delta]:
        raw = event.data
        plain = raw is not None and event.name == "content_block_delta"
        if plain and (piece := self._template.match(event.raw)) is not None:
            self.again = True
            return [piece]
        self.again = False
        data = event.json
        if type(data) is not dict:
            if raw is None:
                return []
            lost = not raw and event.name in KINDS and event.name != "ping"
            return [Malformed("not an object", lost or event.unreadable)]
        kind = data.get("type")
        if event.name != kind and type(kind) is str and event.name != "error":
            if kind not in KINDS and event.name in KINDS:
                return [Malformed("a type that is not its event's name", True)]
            event.renamed(kind)  # clients go by the name
        if kind == "content_block_delta":
            try:
                index, delta = data["index"], data["delta"]
                what = PIECES.get(delta["type"])
                if what is None:
                    return self._other_delta(index, str(delta["type"]))
                text = delta[what[1]]
                known = self._blocks[index]
            except (KeyError, TypeError):
                return [Malformed("a delta that says nothing, or of no block", True)]
            if type(text) is not str or index in self._stopped:
                return [Malformed("a delta that says nothing, or of no block", True)]
            if known[1] is not what[0]:
                return [Unknown(str(delta["type"]))]
            piece = Piece(known[0], what[0], text)
            if plain and text and what[0] is not Channel.TOOL:
                self._template.learn(event.raw, piece)
            return [piece]
        reader = READERS.get(kind) if type(kind) is str else None
        if reader is not None:
            return reader(self, data)
        if data.get("error"):
            return [fault(data)]
        return [Unknown(kind)] if type(kind) is str else [Malformed("no type", event.name in KINDS)]

    def _meet(self, index: object, channel: Channel | None) -> tuple[Block, Channel | None]:
        at = index if type(index) is int else 0
        known = self._blocks[index] = ((0, str(at + self._offset)), channel)
        return known

    def _other_delta(self, index: object, kind: str) -> Sequence[Delta]:
        """Does this delta show the client content? A signature does not; citations and unknown types do."""
        if kind != "signature_delta":
            return [Unknown(kind)]
        known = self._blocks.get(index) or self._meet(index, Channel.REASONING)
        return [Piece(known[0], Channel.REASONING, "")]

    def _message_start(self, data: dict[str, Any]) -> Sequence[Delta]:
        message = data.get("message")
        if type(message) is not dict:
            return [Malformed("message_start without a message", True)]
        fields = {key: message[key] for key in ("id", "model", "role", "usage") if message.get(key) is not None}
        usage = message.get("usage")
        return [Head(fields), Usage(usage)] if type(usage) is dict and not self._spliced else [Head(fields)]

    def _block_start(self, data: dict[str, Any]) -> Sequence[Delta]:
        block = data.get("content_block")
        if type(block) is not dict:
            return [Malformed("content_block_start without a block", True)]
        kind = block.get("type")
        channel = channel_of(kind)
        if self._spliced and not self._began:
            self._merged = self._carry is not None and kind == "text"
            if self._merged and self._carry is not None:
                self._offset = self._carry
        self._began = True
        self._template.forget()
        index = data.get("index")
        if type(index) is not int:
            return [Malformed("a block without its index", True)]
        self._stopped.discard(index)
        where, _ = self._meet(index, channel)
        if channel is None:
            silent = Channel.REASONING if kind == "redacted_thinking" else Channel.TEXT
            return [Open(where, silent), Unknown(str(kind))]
        if channel is Channel.TOOL:
            given = block.get("input")
            opened = Open(where, channel, str(block.get("name", "")), {"id": block.get("id")})
            return [opened, Piece(where, channel, orjson.dumps(given).decode())] if given else [opened]
        text = block.get(BLOCKS[kind][1])  # type: ignore[index]
        opened = Open(where, channel, "", {"type": kind})
        return [opened, Piece(where, channel, text)] if type(text) is str and text else [opened]

    def _block_stop(self, data: dict[str, Any]) -> Sequence[Delta]:
        index = data.get("index")
        if type(index) is not int:
            return [Malformed("a block without its index", True)]
        if index not in self._blocks or index in self._stopped:
            return [Malformed("the end of a block that is not open", True)]
        self._stopped.add(index)
        return [Close(self._blocks[index][0])]

    def _message_delta(self, data: dict[str, Any]) -> Sequence[Delta]:
        found: list[Delta] = []
        usage, delta = data.get("usage"), data.get("delta")
        if type(usage) is dict:
            found.append(Usage(self._summed(usage)))
        if type(delta) is dict and type(delta.get("stop_reason")) is str and not unsaid(delta["stop_reason"]):
            found.append(Finish(0, delta["stop_reason"], details({**delta, "stop_reason": None})))
        return found

    def _summed(self, usage: dict[str, Any]) -> dict[str, Any]:
        """Output of all attempts, input of the first: a later input holds what was shown."""
        spent = usage.get("output_tokens")
        if not self._spliced or type(spent) is not int:
            return usage
        first = self.shown.head.get("usage") if self.shown is not None else None
        asked = {key: first[key] for key in usage if key in first} if type(first) is dict else {}
        return {**usage, **asked, "output_tokens": spent + self._spent}

    def _message_stop(self, data: dict[str, Any]) -> Sequence[Delta]:
        return [Done()]

    def _ping(self, data: dict[str, Any]) -> Sequence[Delta]:
        return []

    def _error(self, data: dict[str, Any]) -> Sequence[Delta]:
        return [fault(data)]

    # writing -----------------------------------------------------------------------------------------------
    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        if not self._spliced:
            if event.name or event.data is None:
                return event.raw
            data = event.json
            return encode(event.data, str(data.get("type", ""))) if type(data) is dict else event.raw
        data = event.json
        if type(data) is not dict or event.data is None:
            return event.raw
        kind = str(data.get("type", ""))
        index = data.get("index")
        if kind == "content_block_start" and self._merged and index == 0:
            text = data["content_block"].get("text")  # goes on in the client's open block
            delta = {"type": "text_delta", "text": text}
            return pack("content_block_delta", index=self._offset, delta=delta) if text else b""
        if kind == "message_start":
            return b""
        if kind == "content_block_delta" and data.get("delta") == {"type": "text_delta", "text": ""}:
            return b""
        before = b""
        if type(index) is int:
            data = {**data, "index": index + self._offset}
        if kind in ("content_block_start", "message_delta"):
            before = self._shut()
        if kind == "message_delta" and type(data.get("usage")) is dict:
            data = {**data, "usage": self._summed(data["usage"])}
        return before + encode(orjson.dumps(data), kind)

    def _resaid(self, body: Any, text: str) -> bool:
        delta = body.get("delta")
        name = {"text_delta": "text", "thinking_delta": "thinking"}.get(delta.get("type")) if delta else None
        if body.get("type") != "content_block_delta" or name is None:
            return False
        delta[name] = text
        return True

    def _shorten(self, body: Any, chars: int) -> None:
        holder = body.get("delta") or body["content_block"]
        holder["text"] = holder["text"][chars:]

    def _lead(self, body: Any, text: str) -> None:
        holder = body.get("delta") or body["content_block"]
        holder["text"] = text + holder["text"]

    def _shut(self) -> bytes:
        """Close what the first upstream left open, and note it."""
        out = []
        if self.shown is not None:
            for shape in self.shown.open_shapes():
                out.append(pack("content_block_stop", index=int(shape.block[1])))
                self.shown.note(Close(shape.block))
        return b"".join(out)

    def splice(self, transcript: Transcript) -> None:
        super().splice(transcript)
        self._spliced = bool(transcript.head)
        self._offset = len(transcript.shapes)
        self._spent = max(_spent(transcript), transcript.earlier)
        for shape in transcript.open_shapes():
            if shape.fields.get("type") == "text":
                self._carry = int(shape.block[1])

    def heartbeat(self, started: bool) -> bytes:
        return heartbeat(started)

    def quieten(self, event: Event, choice: int, marker: Mapping[str, Any]) -> str:
        body = event.json
        called = any(channel is Channel.TOOL for _, channel in self._blocks.values())
        quiet = stop(Ending(), called)
        body["delta"] = {**{k: v for k, v in body["delta"].items() if k != "stop_details"}, **quiet}
        body["streamfuse"] = dict(marker)
        event.rewrite(body)
        return str(quiet["stop_reason"])

    # ending ------------------------------------------------------------------------------------------------
    def close_choice(self, transcript: Transcript, choice: int, ending: Ending) -> bytes:
        """The open blocks closed, the notice, message_delta with its stop reason."""
        out = [] if transcript.head else [self._start()]
        index = len(transcript.shapes)
        notice = ending.notice
        for shape in transcript.open_shapes():
            at = int(shape.block[1])
            if notice and shape.fields.get("type") == "text":
                text = f"\n\n{notice}" if shape.chars else notice
                out.append(pack("content_block_delta", index=at, delta={"type": "text_delta", "text": text}))
                notice = None
            out.append(pack("content_block_stop", index=at))
        if notice:
            out.append(pack("content_block_start", index=index, content_block={"type": "text", "text": ""}))
            out.append(pack("content_block_delta", index=index, delta={"type": "text_delta", "text": notice}))
            out.append(pack("content_block_stop", index=index))
        called = any(shape.channel is Channel.TOOL for shape in transcript.shapes.values())
        usage = {**transcript.head.get("usage", {}), **(transcript.usage or {}), "output_tokens": _spent(transcript)}
        members: dict[str, Any] = {"delta": stop(ending, called), "usage": usage}
        if ending.marker:
            members["streamfuse"] = dict(ending.marker)
        out.append(pack("message_delta", **members))
        return b"".join(out)

    def close(self, transcript: Transcript, ending: Ending) -> bytes:
        if transcript.done or transcript.fault:
            return b""
        if transcript.finished:
            return self.finish_missing(transcript)
        if any(shape.channel is Channel.TOOL for shape in transcript.open_shapes()):
            return self.fail(transcript, HALF_CALL, ending.marker)
        return self.close_choice(transcript, 0, ending) + pack("message_stop")

    def fail(self, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None) -> bytes:
        if transcript.done or transcript.fault:
            return b""
        body = error_body(failure, status_of(failure))
        if marker:
            body["streamfuse"] = dict(marker)
        return encode(orjson.dumps(body), "error")

    def finish_missing(self, transcript: Transcript) -> bytes:
        return pack("message_stop") if transcript.finished and not transcript.done else b""

    def _start(self) -> bytes:
        message = message_object("msg_streamfuse", self._ask.model, {"input_tokens": 0, "output_tokens": 0})
        return pack("message_start", message=message)


READERS: Final[Mapping[str, Callable[[MessagesCodec, dict[str, Any]], Sequence[Delta]]]] = {
    "message_start": MessagesCodec._message_start,
    "content_block_start": MessagesCodec._block_start,
    "content_block_stop": MessagesCodec._block_stop,
    "message_delta": MessagesCodec._message_delta,
    "message_stop": MessagesCodec._message_stop,
    "ping": MessagesCodec._ping,
    "error": MessagesCodec._error,
}
KINDS: Final = frozenset({*READERS, "content_block_delta"})
"""The types of event that are read."""


def _spent(transcript: Transcript) -> int:
    """Output tokens the client was last told of."""
    for counts in (transcript.usage, transcript.head.get("usage")):
        if type(counts) is dict and type(counts.get("output_tokens")) is int:
            return int(counts["output_tokens"])
    return 0
