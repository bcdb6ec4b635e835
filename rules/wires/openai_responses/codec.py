"""One response on its way: what goes out is counted, a second attempt is rewritten into the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from ...framing.sse import encode
from ...values.delta import Block, Channel, Close, Delta, Head, Open, Piece
from ...values.failures import Failure
from ..base import Ask, Ending
from . import endings
from .endings import Pen, response_object
from .grammar import BEGINS, LIFECYCLE, TERMINAL
from .reading import Carry, Edit, Item, Reading
from .shown import item_shapes, part_of, parts_of, writable

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript


class ResponsesCodec(Reading):
    """One response."""

    strips = True

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._pen = Pen({})
        self._strips: Block | None = None
        """The part whose text is stripped now."""

    def bind(self, transcript: Transcript) -> None:
        super().bind(transcript)
        self._pen = Pen(transcript.memory)
        self._rewrites = bool(transcript.head)

    def splice(self, transcript: Transcript) -> None:
        self.bind(transcript)
        items = item_shapes(transcript)
        self._offset = max((shape.fields["index"] + 1 for shape in items), default=0)
        self._left = [shape for shape in items if shape.open]
        for shape in items[-1:]:
            parts = parts_of(transcript, shape)
            if parts and parts[-1].open and writable(parts[-1]):
                self._carry = Carry(shape, parts[-1], [part_of(part) for part in parts[:-1]])

    @property
    def quick(self) -> Callable[[bytes], Piece | None] | None:
        if self._rewrites or self._like.channel is Channel.TOOL:
            return None
        match, memory = self._like.match, self._pen.memory

        def quickly(chunk: bytes) -> Piece | None:
            piece = match(chunk)
            if piece is not None:
                memory["sent"] = chunk
            return piece

        return quickly

    def unread(self) -> None:
        self._pen.take_back()

    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        if not self._rewrites:
            if len(deltas) == 1 and type(deltas[0]) is Piece:
                self._pen.memory["sent"] = event  # looked into only when its number matters
            else:
                self._pen.sent(event)
            return event.raw
        data = event.json
        if type(data) is not dict:
            return event.raw
        kind = str(data.get("type"))
        if kind in LIFECYCLE:
            return b""
        item = self._by_index.get(data.get("output_index")) or self._by_id.get(
            data["item"].get("id") if type(data.get("item")) is dict else data.get("item_id")
        )
        carried = item is not None and item.carried
        before = b"".join(self._leave()) if kind in TERMINAL or kind == "response.output_item.added" else b""
        if carried and kind in BEGINS and not any(type(delta) is Open for delta in deltas):
            return before
        if self._stranded is not None and self._carry is not None and self.shown is not None:
            where = {"item_id": self._carry.id, "output_index": self._carry.index}
            before += b"".join(endings.shut_part(self._pen, self._stranded, where))
            self.shown.note(Close(self._stranded.block))
            self._stranded = None
        if carried and self._carry is not None and self._carry.text and kind.endswith(".done"):
            where = {"item_id": self._carry.id, "output_index": self._carry.index, "content_index": self._carry.at}
            for delta in deltas:  # a text that came whole, behind a text that came in pieces
                if type(delta) is Piece and delta.text and delta.block == self._carry.part.block:
                    before += self._pen.write("response.output_text.delta", **where, delta=delta.text, logprobs=[])
        changed = {key: value for key, value in data.items() if key not in ("type", "sequence_number")}
        if item is not None and type(data.get("output_index")) is int:
            changed["output_index"] = item.index
        elif type(data.get("output_index")) is int:
            changed["output_index"] = data["output_index"] + self._offset
        if item is not None and carried and self._carry is not None:
            self._carry_over(changed, deltas)
        elif item is not None and self._edits:
            self._edit_over(changed, item, deltas)
        if type(data.get("response")) is dict:
            changed["response"] = self._final(data["response"])
        return before + self._pen.write(kind, **changed)

    def quieten(self, event: Event, choice: int, marker: Mapping[str, Any]) -> str:
        body = event.json
        body["type"] = "response.completed"
        body["response"].update(status="completed", incomplete_details=None)
        body["streamfuse"] = dict(marker)
        event.name = event.name and "response.completed"
        event.rewrite(body)
        return "completed"

    def strip(self, event: Event, deltas: Sequence[Delta], chars: int, lead: str = "") -> Sequence[Delta]:
        self._strips = next((d.block for d in deltas if type(d) is Piece and d.channel is Channel.TEXT), None)
        return super().strip(event, deltas, chars, lead)

    def _edit(self) -> Edit:
        """The part whose text is stripped."""
        if self._carry is not None and self._strips in (None, self._carry.part.block):
            return self._carry
        return self._edits.setdefault(self._strips, Edit()) if self._strips is not None else Edit()

    def _resaid(self, body: Any, text: str) -> bool:
        if type(body.get("delta")) is not str:
            return False
        body["delta"] = text
        return True

    def _shorten(self, body: Any, chars: int) -> None:
        """Where the text comes whole, `Edit.joined` shortens it."""
        self._edit().drop += min(chars, len(body["delta"])) if type(body.get("delta")) is str else chars
        if type(body.get("delta")) is str:
            body["delta"] = body["delta"][chars:]

    def _lead(self, body: Any, text: str) -> None:
        self._edit().lead += text
        if type(body.get("delta")) is str:
            body["delta"] = text + body["delta"]

    def _carry_over(self, changed: dict[str, Any], deltas: Sequence[Delta]) -> None:
        """An event of the item that goes on in the client's: its id, its content index, the whole texts."""
        carry = self._carry
        assert carry is not None
        if "item_id" in changed:
            changed["item_id"] = carry.id
        first = changed.get("content_index", 0) == 0
        if type(changed.get("content_index")) is int:
            changed["content_index"] += carry.at
        if first and type(changed.get("text")) is str:
            changed["text"] = carry.joined(changed["text"])
        for delta in deltas:
            if type(delta) is Close:
                changed.update({key: value for key, value in delta.fields.items() if key in changed})

    def _edit_over(self, changed: dict[str, Any], item: Item, deltas: Sequence[Delta]) -> None:
        """An event of a new item: the whole texts are those that the client was sent in pieces."""
        edit = self._edits.get(item.parts.get(str(changed.get("content_index")), item.block))
        if edit is not None and type(changed.get("text")) is str:
            changed["text"] = edit.joined(changed["text"])
        for delta in deltas:
            if type(delta) is Close:
                changed.update({key: value for key, value in delta.fields.items() if key in changed})

    def _leave(self) -> Iterator[bytes]:
        """Close what an earlier upstream left open (but for the item that goes on), and note it."""
        left, self._left = self._left, []
        for shape in left:
            if self.shown is not None:
                yield from endings.shut(self._pen, self.shown, shape, {})
                for part in parts_of(self.shown, shape):
                    self.shown.note(Close(part.block))
                self.shown.note(Close(shape.block, {"item": shape.fields["item"]}))

    def _final(self, response: Mapping[str, Any]) -> dict[str, Any]:
        """A terminal response as the client must see it: one id, every item it was shown."""
        final = dict(response)
        if type(response.get("usage")) is dict:
            final["usage"] = self._summed(response["usage"])
        if self.shown is not None:
            head = self.shown.head
            final.update({key: head[key] for key in ("id", "created_at", "model") if key in head})
            items = {shape.fields["index"]: shape.fields["item"] for shape in item_shapes(self.shown)}
            for at, item in enumerate(response.get("output") or ()):
                items.setdefault(at + self._offset, item)
            final["output"] = [items[index] for index in sorted(items)]
        return final

    def heartbeat(self, started: bool) -> bytes:
        """A keep-alive repeats the last number: numbers of real events are never moved for it."""
        if not started:
            return b": hb\n"
        event = {"type": "keepalive", "sequence_number": self._pen.last or 0}
        return encode(orjson.dumps(event), "keepalive")

    def prelude(self, transcript: Transcript, ident: str, created: int) -> bytes:
        """A response.created of our own. Only with store:false: nobody may chain on an id of ours.

        Any later attempt of this answer is begun with `splice`.
        """
        body = self._ask.body
        if transcript.head or body.get("store") is not False or body.get("previous_response_id"):
            return b""
        self.bind(transcript)
        response = response_object(f"resp_{ident}", self._ask, created)
        transcript.note(
            Head({"id": response["id"], "created_at": created, "model": response["model"], "response": response})
        )
        self._rewrites = True
        self._pen.memory["seq"] = -1
        return self._pen.write("response.created", response=response)

    def close_choice(self, transcript: Transcript, choice: int, ending: Ending) -> bytes:
        self.bind(transcript)
        return endings.close_items(self._pen, self._ask, transcript, ending)

    def close(self, transcript: Transcript, ending: Ending) -> bytes:
        self.bind(transcript)
        return endings.close(self._pen, self._ask, transcript, ending)

    def fail(self, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None) -> bytes:
        self.bind(transcript)
        return endings.fail(self._pen, self._ask, transcript, failure, marker)
