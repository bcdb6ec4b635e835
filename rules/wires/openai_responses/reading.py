"""Upstream events of /responses to deltas. The codec of a second attempt maps its items onto the client's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...values.delta import Block, Channel, Close, Delta, Done, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from ..base import Ask, Codec
from .grammar import ARGUMENTS, CALLS, DELTAS, DONES, PARTS, deltas, fault, parts
from .numbered import Numbered
from .shown import part_of

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Shape

SAID: Final = {"said": True}
"""Of a part whose text is whole, though the part is still open."""


class Item:
    """One item of the upstream, and where the client has it."""

    __slots__ = ("announced", "block", "carried", "id", "index", "kind", "parts")

    def __init__(self, index: int, ident: object, kind: str) -> None:
        self.index = index
        self.block: Block = (0, str(index))
        self.id = ident
        self.kind = kind
        self.carried = False
        self.announced = False
        """Its parts are added before their text comes."""
        self.parts: dict[str, Block] = {}


class Edit:
    """What was changed in a text part of a second upstream, whose whole text comes again later."""

    __slots__ = ("drop", "lead")

    def __init__(self) -> None:
        self.drop = 0
        """Characters of the second upstream's text that the client is not sent."""
        self.lead = ""
        """Text that it is sent in front of the rest."""

    def joined(self, text: str) -> str:
        """The whole text of the part, where `text` is the second upstream's."""
        return self.lead + text[self.drop :]


class Carry(Edit):
    """The client's open text part that the first message of a second upstream goes on in."""

    __slots__ = ("at", "earlier", "id", "index", "part", "text")

    def __init__(self, item: Shape, part: Shape, earlier: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self.part = part
        self.index: int = item.fields["index"]
        self.id = item.fields["item"].get("id")
        self.at: int = part.fields["at"]
        self.text = part.text
        self.earlier = earlier

    def joined(self, text: str) -> str:
        """The whole text of the part, where `text` is the second upstream's."""
        return self.text + super().joined(text)


class Reading(Codec):
    """The half of the codec that reads."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._rewrites = False
        self._offset = 0
        self._count = 0
        self._by_index: dict[object, Item] = {}
        self._by_id: dict[object, Item] = {}
        self._last: Item | None = None
        self._at: dict[tuple[Any, ...], tuple[Block, Channel]] = {}
        self._fed: set[Block] = set()
        self._like = Numbered()
        self._carry: Carry | None = None
        self._edits: dict[Block, Edit] = {}
        """Parts of a second upstream that are new to the client, with their first text changed."""
        self._left: list[Shape] = []
        """Items an earlier attempt left open: to be closed before the next one begins."""
        self._stranded: Shape | None = None
        """A part that was carried for nothing: to be closed before its item goes on."""

    def read(self, event: Event) -> Sequence[Delta]:
        raw = event.data
        if raw is None:
            return []
        piece = self._like.match(event.raw)
        if piece is not None:
            self.again = True
            return [piece]
        self.again = False
        data = event.json
        if type(data) is not dict:
            return [Malformed("not an object", event.unreadable or (not raw and event.name.startswith("response.")))]
        kind = data.get("type")
        if type(kind) is not str:
            return [fault(data)] if data.get("error") else [Malformed("no type", event.name in KINDS)]
        if event.name and event.name != kind and "error" not in (event.name, kind):
            if kind not in KINDS and event.name in KINDS:
                return [Malformed("a type that is not its event's name", True)]
            event.renamed(kind)
        try:
            if kind in DELTAS:
                text = data["delta"]
                get = data.get
                at = (kind, get("output_index"), get("item_id"), get("content_index"), get("summary_index"))
                known = self._at.get(at)
                if known is None:
                    return self._first_delta(at, DELTAS[kind], data)
                if type(text) is not str:
                    return [Malformed("delta is no text", True)]
                piece = Piece(known[0], known[1], text)
                if text:
                    self._like.learn(event.raw, piece)
                return [piece]
            if kind in DONES:
                return self._text_done(DONES[kind], data)
            reader = READERS.get(kind)
            return [Unknown(kind)] if reader is None else reader(self, data)
        except (KeyError, TypeError, AttributeError, ValueError):
            return [Malformed(f"{kind} without its members", True)]

    def _item(self, data: Mapping[str, Any], kind: str, found: list[Delta]) -> Item:
        """The item an event belongs to. An event of an item that was never added adds it."""
        item = self._by_index.get(data.get("output_index"))
        named = self._by_id.get(data.get("item_id"))
        if item is None:
            item = named
            if named is not None and named in self._by_index.values() and type(data.get("output_index")) is int:
                raise ValueError("an item under another number")
        elif named is not None and named is not item and item.id != data.get("item_id"):
            raise ValueError("an item under the number of another")
        if item is None and self._last is not None and data.get("output_index") is None and not data.get("item_id"):
            item = self._last
        if item is None:
            kind = kind if kind in CALLS else "message" if kind in ("output_text", "refusal") else "reasoning"
            bare: dict[str, Any] = {"id": data.get("item_id"), "type": kind, "role": "assistant", "content": []}
            found += self._added({"output_index": data.get("output_index"), "item": bare})
            item = self._by_id[data.get("item_id")]
        return item

    def _block(self, data: Mapping[str, Any], kind: str, found: list[Delta]) -> tuple[Block, Channel]:
        """The block of a part or call; opened where nothing opened it."""
        item = self._item(data, kind, found)
        if kind in CALLS:
            return item.block, Channel.TOOL
        channel, member, home = PARTS[kind]
        at = data.get("content_index" if home == "content" else "summary_index")
        key = f"{'' if home == 'content' else 's'}{at if type(at) is int else 0}"
        if key not in item.parts:
            if item.announced:
                raise ValueError("a part that was never added")
            found.append(self._open_part(item, key, {"type": kind, member: ""}, implicit=True))
        return item.parts[key], channel

    def _open_part(self, item: Item, key: str, part: dict[str, Any], implicit: bool = False) -> Open:
        channel = PARTS[part["type"]][0]
        at = int(key.removeprefix("s"))
        mark = "s" if key.startswith("s") else ""
        if item.carried and self._carry is not None and not mark:
            at += self._carry.at
        block = item.parts[key] = (0, f"{item.block[1]}.{mark}{at}")
        return Open(block, channel, "", {"part": part, "at": at, "of": item.block[1], "implicit": implicit})

    def _first_delta(self, at: tuple[Any, ...], kind: str, data: Mapping[str, Any]) -> Sequence[Delta]:
        found: list[Delta] = []
        known = self._at[at] = self._block(data, kind, found)
        self._fed.add(known[0])
        text = data["delta"]
        return [*found, Piece(*known, text)] if type(text) is str else [Malformed("delta is no text", True)]

    def _text_done(self, kind: str, data: Mapping[str, Any]) -> Sequence[Delta]:
        """The whole text again; it is news only where no delta came."""
        found: list[Delta] = []
        block, channel = self._block(data, kind, found)
        member = PARTS[kind][1] if kind in PARTS else ARGUMENTS.get(kind, "command")
        text = "" if block in self._fed else data.get(member) or ""
        self._fed.add(block)
        found.append(Piece(block, channel, str(text)))
        return found if channel is Channel.TOOL else [*found, Open(block, channel, "", SAID)]

    def _created(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        response = data["response"]
        fields = {key: response[key] for key in ("id", "model", "created_at") if response.get(key) is not None}
        return [Head({**fields, "response": response})]

    def _quiet(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        return []

    def _added(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        given = data.get("item")
        if type(given) is not dict:
            return [Unknown("response.output_item.added")]
        kind = str(given.get("type"))
        at = data.get("output_index")
        if type(at) is not int:
            at = self._count
        carry = self._carry if self._rewrites and not self._count and kind == "message" else None
        if carry is not None:
            self._offset = carry.index - at
        item = self._last = Item(at + self._offset, given.get("id"), kind)
        self._count = max(self._count, at + 1)
        self._by_id[item.id] = item
        if type(data.get("output_index")) is int:
            self._by_index[at] = item
        if carry is not None:
            item.carried = True
            self._left = [shape for shape in self._left if shape.fields["index"] != carry.index]
            item.parts["0"] = carry.part.block
            return [Piece(item.parts["0"], Channel.TEXT, "")]
        fields = {"item": given, "index": item.index, "free": kind != "function_call"}
        if kind in CALLS:
            opened = Open(item.block, Channel.TOOL, str(given.get("name") or kind), fields)
            text = given.get(ARGUMENTS.get(kind, ""))
            if not text:
                return [opened]
            self._fed.add(item.block)
            return [opened, Piece(item.block, Channel.TOOL, str(text))]
        if kind == "reasoning":
            return [Open(item.block, Channel.REASONING, "", fields)]
        opened = Open(item.block, Channel.TEXT, "", fields)
        return [opened] if kind == "message" else [opened, Unknown(kind)]

    def _part_added(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        part = data["part"]
        if part.get("type") not in PARTS:
            return [Unknown(f"part {part.get('type')}")]
        found: list[Delta] = []
        item = self._item(data, part["type"], found)
        home = PARTS[part["type"]][2]
        at = data.get("content_index" if home == "content" else "summary_index") or 0
        key = f"{'' if home == 'content' else 's'}{int(at)}"
        if item.carried and key == "0" and part["type"] != "output_text":
            self._strand(item)
        if item.carried and key in item.parts:
            return [Piece(item.parts[key], Channel.TEXT, "")]
        item.announced = item.announced or home == "content"
        return [*found, self._open_part(item, key, part)]

    def _strand(self, item: Item) -> None:
        """The message goes on, but not its open text: that part ends here, the next ones come behind it."""
        carry = self._carry
        if carry is not None:
            self._stranded = carry.part
            carry.earlier = [*carry.earlier, part_of(carry.part)]
            carry.at += 1
            carry.text = ""
            item.parts.clear()

    def _part_done(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        part = data["part"]
        if part.get("type") not in PARTS:
            return [Unknown(f"part {part.get('type')}")]
        found: list[Delta] = []
        block, channel = self._block(data, part["type"], found)
        if block not in self._fed and part.get(PARTS[part["type"]][1]):
            self._fed.add(block)
            found.append(Piece(block, channel, str(part[PARTS[part["type"]][1]])))
        return [*found, Close(block, {"part": self._joined(block, part)})]

    def _joined(self, block: Block, part: Mapping[str, Any]) -> Mapping[str, Any]:
        """A part of the second upstream with what the client had before in front."""
        if (edit := self._edits.get(block)) is not None:
            return {**part, "text": edit.joined(str(part.get("text", "")))}
        carry = self._carry
        if carry is None or not self._rewrites or block != (0, f"{carry.index}.{carry.at}"):
            return part
        if not (carry.text or carry.lead or carry.drop):
            return part
        return {**part, "text": carry.joined(str(part.get("text", "")))}

    def _item_done(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        given = data["item"]
        kind = str(given.get("type"))
        found: list[Delta] = []
        where = {"output_index": data.get("output_index"), "item_id": given.get("id")}
        item = self._by_index.get(where["output_index"]) or self._by_id.get(where["item_id"])
        if item is None:
            found += self._added({**where, "item": given})
            item = self._last
        if item is None:
            return [Unknown("response.output_item.done")]
        if kind in CALLS and item.block not in self._fed:
            found.append(Piece(item.block, Channel.TOOL, str(given.get(ARGUMENTS.get(kind, "")) or "")))
        elif kind in ("message", "reasoning") and not item.parts:
            for part, key in parts(given):
                found.append(self._open_part(item, key, part, implicit=True))
                found.append(Piece(item.parts[key], PARTS[part["type"]][0], str(part.get(PARTS[part["type"]][1], ""))))
        found += [Close(block) for block in dict.fromkeys(item.parts.values())]
        if item.carried and self._carry is not None:
            if not given["content"]:
                self._strand(item)
            mine = [self._joined((0, f"{item.index}.{self._carry.at + i}"), p) for i, p in enumerate(given["content"])]
            given = {**given, "id": self._carry.id, "content": [*self._carry.earlier, *mine]}
        elif self._edits and kind == "message":
            mine = [self._joined(item.parts.get(str(i), item.block), p) for i, p in enumerate(given["content"])]
            given = {**given, "content": mine}
        half = {"half": True} if kind in CALLS and given.get("status") == "incomplete" else {}
        return [*found, Close(item.block, {"item": given, **half})]

    def _annotation(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        found: list[Delta] = []
        block, channel = self._block(data, "output_text", found)
        note = {f"annotation.{data.get('annotation_index')}": data.get("annotation")}
        return [*found, Open(block, channel, "", note)]

    def _completed(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        response = data["response"]
        found: list[Delta] = [] if self._count else list(deltas(response.get("output")))
        if type(response.get("usage")) is dict:
            found.append(Usage(self._summed(response["usage"])))
        details = response.get("incomplete_details") or {}
        reason = details.get("reason") or str(data["type"]).removeprefix("response.")
        return [*found, Finish(0, str(reason)), Done()]

    def _summed(self, usage: Mapping[str, Any]) -> Mapping[str, Any]:
        """Output of all attempts; a later prompt holds what the earlier ones had said."""
        spent = self.shown.earlier if self._rewrites and self.shown is not None else 0
        resent = self.shown.resent if self.shown is not None else None
        asked, said = usage.get("input_tokens"), usage.get("output_tokens")
        if not spent or type(asked) is not int or type(said) is not int:
            return usage
        asked, said = max(0, asked - (spent if resent is None else resent)), said + spent
        return {**usage, "input_tokens": asked, "output_tokens": said, "total_tokens": asked + said}

    def _failed(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        return [fault(data)]


READERS: Final[Mapping[str, Callable[[Reading, Mapping[str, Any]], Sequence[Delta]]]] = {
    "response.created": Reading._created,
    "response.queued": Reading._quiet,
    "response.in_progress": Reading._quiet,
    "keepalive": Reading._quiet,
    "response.output_item.added": Reading._added,
    "response.output_item.done": Reading._item_done,
    "response.content_part.added": Reading._part_added,
    "response.content_part.done": Reading._part_done,
    "response.reasoning_summary_part.added": Reading._part_added,
    "response.reasoning_summary_part.done": Reading._part_done,
    "response.output_text.annotation.added": Reading._annotation,
    "response.completed": Reading._completed,
    "response.incomplete": Reading._completed,
    "response.failed": Reading._failed,
    "response.cancelled": Reading._failed,
    "error": Reading._failed,
}
KINDS: Final = frozenset({*READERS, *DELTAS, *DONES})
"""The types of event that are read."""
