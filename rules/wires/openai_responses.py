"""OpenAI's /responses: typed events, output items that may interleave, one terminal event.

There is one choice. An item's block has the key of its output index ("2"), a part of it "2.0" (content) or "2.s0"
(summary); both as the *client* counts them. Items the client runs are tool blocks, open from output_item.added to
output_item.done; items the server runs pass as Unknown. Servers that send no sequence_number, output_index or
content_index (llama.cpp) are read by item id and order. Grammar and traps: protocols §3, measured on the SDKs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson

from ..brief import Brief
from ..delta import Block, Channel, Close, Delta, Done, Fault, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from ..failures import Failure, Kind, Phase
from ..sse import Event, encode
from .base import Ask, Codec, Ending, Json, Wire, openai_error

if TYPE_CHECKING:
    from ..transcript import Shape, Transcript

PROMPT_LIMIT: Final = 64 << 10
"""Characters of the request's text a monitor may read, newest last."""
OURS: Final = "msg_streamfuse_"
"""Ids of the notices we add; `clean` knows them again."""

CALLS: Final = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call"}
)
"""Items that the client runs."""
ARGUMENTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
"""The member of a call that is streamed."""
PARTS: Final = {
    "output_text": (Channel.TEXT, "text", "content"),
    "refusal": (Channel.REFUSAL, "refusal", "content"),
    "reasoning_text": (Channel.REASONING, "text", "content"),
    "summary_text": (Channel.REASONING, "text", "summary"),
}
"""Part type: its channel, the member that holds its text, the member of the item that holds it."""
STEMS: Final = {
    "output_text": "output_text", "refusal": "refusal", "reasoning_text": "reasoning_text",
    "summary_text": "reasoning_summary_text",
}  # fmt: skip
"""Part type: the middle of its events' names."""
DELTAS: Final = {f"response.{stem}.delta": part for part, stem in STEMS.items()} | {
    "response.function_call_arguments.delta": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.shell_call_command.delta": "shell_call",
}
DONES: Final = {name.removesuffix("delta") + "done": of for name, of in DELTAS.items()}
BEGINS: Final = frozenset({"response.output_item.added", "response.content_part.added"})
LIFECYCLE: Final = frozenset({"response.created", "response.queued", "response.in_progress"})
TERMINAL: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
INCOMPLETE: Final = {
    "length": "max_output_tokens", "max_output_tokens": "max_output_tokens", "content_filter": "content_filter",
}  # fmt: skip
"""`cut.finish` (in the words of the chat wire, or this one's) to incomplete_details.reason; all else completes."""
HALF_CALL: Final = Failure(
    Phase.STREAM, Kind.LOOP, "The answer was cut inside a tool call; the call is not to be run.", code="streamfuse_loop"
)


SAID: Final = {"said": True}
"""Of a part whose text is whole, though the part is still open."""


class _Item:
    """One item of the upstream, and where the client has it."""

    __slots__ = ("block", "carried", "id", "index", "kind", "parts")

    def __init__(self, index: int, ident: object, kind: str) -> None:
        self.index = index
        self.block: Block = (0, str(index))
        self.id = ident
        self.kind = kind
        self.carried = False
        self.parts: dict[str, Block] = {}


class _Carry:
    """The client's open text part that the first message of a second upstream goes on in."""

    __slots__ = ("at", "earlier", "id", "index", "part", "text")

    def __init__(self, item: Shape, part: Shape, earlier: Sequence[dict[str, Any]]) -> None:
        self.part = part
        self.index: int = item.fields["index"]
        self.id = item.fields["item"].get("id")
        self.at: int = part.fields["at"]
        self.text = part.text
        self.earlier = earlier


class ResponsesCodec(Codec):
    """One response."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._memory: dict[str, Any] = {}
        self._rewrites = False
        self._offset = 0
        self._count = 0
        self._by_index: dict[object, _Item] = {}
        self._by_id: dict[object, _Item] = {}
        self._last: _Item | None = None
        self._at: dict[tuple[Any, ...], tuple[Block, Channel]] = {}
        self._fed: set[Block] = set()
        self._carry: _Carry | None = None
        self._left: list[Shape] = []
        """Items an earlier attempt left open: to be closed before the next one begins."""
        self._stranded: Shape | None = None
        """A part that was carried for nothing: to be closed before its item goes on."""

    # reading -----------------------------------------------------------------------------------------------
    def read(self, event: Event) -> Sequence[Delta]:
        data = event.json
        if type(data) is not dict:
            return [] if event.data is None else [Malformed("not an object")]
        kind = data.get("type")
        if type(kind) is not str:
            return [_fault(data)] if data.get("error") else [Malformed("no type")]
        try:
            if kind in DELTAS:
                text = data["delta"]
                get = data.get
                at = (kind, get("output_index"), get("item_id"), get("content_index"), get("summary_index"))
                known = self._at.get(at)
                if known is None:
                    return self._first_delta(at, DELTAS[kind], data)
                return [Piece(known[0], known[1], text)] if type(text) is str else [Malformed("delta is no text")]
            if kind in DONES:
                return self._text_done(DONES[kind], data)
            reader = READERS.get(kind)
            return [Unknown(kind)] if reader is None else reader(self, data)
        except (KeyError, TypeError, AttributeError, ValueError):
            return [Malformed(f"{kind} without its members")]

    def _item(self, data: Mapping[str, Any], kind: str, found: list[Delta]) -> _Item:
        """The item an event belongs to. An event of an item that was never added adds it."""
        item = self._by_index.get(data.get("output_index")) or self._by_id.get(data.get("item_id"))
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
            found.append(self._open_part(item, key, {"type": kind, member: ""}, implicit=True))
        return item.parts[key], channel

    def _open_part(self, item: _Item, key: str, part: dict[str, Any], implicit: bool = False) -> Open:
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
        return [*found, Piece(*known, text)] if type(text) is str else [Malformed("delta is no text")]

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
        item = self._last = _Item(at + self._offset, given.get("id"), kind)
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
        return [*found, self._open_part(item, key, part)]

    def _strand(self, item: _Item) -> None:
        """The message goes on, but not its open text: that part ends here, the next ones come behind it."""
        carry = self._carry
        if carry is not None:
            self._stranded = carry.part
            carry.earlier = [*carry.earlier, _part(carry.part)]
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
        carry = self._carry
        if carry is None or not carry.text or not self._rewrites or block != (0, f"{carry.index}.{carry.at}"):
            return part
        return {**part, "text": carry.text + str(part.get("text", ""))}

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
            for part, key in _parts(given):
                found.append(self._open_part(item, key, part, implicit=True))
                found.append(Piece(item.parts[key], PARTS[part["type"]][0], str(part.get(PARTS[part["type"]][1], ""))))
        found += [Close(block) for block in dict.fromkeys(item.parts.values())]
        if item.carried and self._carry is not None:
            if not given["content"]:
                self._strand(item)
            mine = [self._joined((0, f"{item.index}.{self._carry.at + i}"), p) for i, p in enumerate(given["content"])]
            given = {**given, "id": self._carry.id, "content": [*self._carry.earlier, *mine]}
        return [*found, Close(item.block, {"item": given})]

    def _annotation(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        found: list[Delta] = []
        block, channel = self._block(data, "output_text", found)
        note = {f"annotation.{data.get('annotation_index')}": data.get("annotation")}
        return [*found, Open(block, channel, "", note)]

    def _completed(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        response = data["response"]
        found: list[Delta] = [] if self._count else list(_items(response.get("output")))
        if type(response.get("usage")) is dict:
            found.append(Usage(response["usage"]))
        details = response.get("incomplete_details") or {}
        reason = details.get("reason") or str(data["type"]).removeprefix("response.")
        return [*found, Finish(0, str(reason)), Done()]

    def _failed(self, data: Mapping[str, Any]) -> Sequence[Delta]:
        return [_fault(data)]

    # writing -----------------------------------------------------------------------------------------------
    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        data = event.json
        if type(data) is not dict:
            return event.raw
        if not self._rewrites:
            number = data.get("sequence_number")
            if type(number) is int:
                self._memory["seq"] = number
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
            before += b"".join(self._shut_part(self._stranded, where))
            self.shown.note(Close(self._stranded.block))
            self._stranded = None
        if carried and self._carry is not None and self._carry.text and kind.endswith(".done"):
            where = {"item_id": self._carry.id, "output_index": self._carry.index, "content_index": self._carry.at}
            for delta in deltas:  # a text that came whole, behind a text that came in pieces
                if type(delta) is Piece and delta.text and delta.block == self._carry.part.block:
                    before += self._pack("response.output_text.delta", **where, delta=delta.text, logprobs=[])
        changed = {key: value for key, value in data.items() if key not in ("type", "sequence_number")}
        if item is not None and type(data.get("output_index")) is int:
            changed["output_index"] = item.index
        elif type(data.get("output_index")) is int:
            changed["output_index"] = data["output_index"] + self._offset
        if item is not None and carried and self._carry is not None:
            self._carry_over(changed, deltas)
        if type(data.get("response")) is dict:
            changed["response"] = self._final(data["response"])
        return before + self._pack(kind, **changed)

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
            changed["text"] = carry.text + changed["text"]
        for delta in deltas:
            if type(delta) is Close:
                changed.update({key: value for key, value in delta.fields.items() if key in changed})

    def _leave(self) -> Iterator[bytes]:
        """Close what an earlier upstream left open (but for the item that goes on), and note it."""
        left, self._left = self._left, []
        for shape in left:
            if self.shown is not None:
                yield from self._shut(self.shown, shape, {})
                for part in _parts_of(self.shown, shape):
                    self.shown.note(Close(part.block))
                self.shown.note(Close(shape.block, {"item": shape.fields["item"]}))

    def _final(self, response: Mapping[str, Any]) -> dict[str, Any]:
        """A terminal response as the client must see it: one id, every item it was shown."""
        final = dict(response)
        if self.shown is not None:
            head = self.shown.head
            final.update({key: head[key] for key in ("id", "created_at", "model") if key in head})
            items = {shape.fields["index"]: shape.fields["item"] for shape in _item_shapes(self.shown)}
            for at, item in enumerate(response.get("output") or ()):
                items.setdefault(at + self._offset, item)
            final["output"] = [items[index] for index in sorted(items)]
        return final

    def bind(self, transcript: Transcript) -> None:
        super().bind(transcript)
        self._memory = transcript.memory
        self._rewrites = bool(transcript.head)

    def splice(self, transcript: Transcript) -> None:
        self.bind(transcript)
        items = _item_shapes(transcript)
        self._offset = max((shape.fields["index"] + 1 for shape in items), default=0)
        self._left = [shape for shape in items if shape.open]
        for shape in items[-1:]:
            parts = _parts_of(transcript, shape)
            if parts and parts[-1].open and _writable(parts[-1]):
                self._carry = _Carry(shape, parts[-1], [_part(part) for part in parts[:-1]])

    def _pack(self, kind: str, **members: Any) -> bytes:
        """One event of this wire, numbered on where the client's events are numbered."""
        event: dict[str, Any] = {"type": kind, **members}
        if "seq" in self._memory:
            self._memory["seq"] += 1
            event["sequence_number"] = self._memory["seq"]
        return encode(orjson.dumps(event), kind)

    def heartbeat(self, started: bool) -> bytes:
        """A keep-alive repeats the last number: numbers of real events are never moved for it."""
        if not started:
            return b": hb\n"
        event = {"type": "keepalive", "sequence_number": self._memory.get("seq", 0)}
        return encode(orjson.dumps(event), "keepalive")

    def prelude(self, transcript: Transcript, ident: str, created: int) -> bytes:
        """A response.created of our own (protocols §3.4b). Only with store:false: nobody may chain on an id of ours.

        Any later attempt of this answer is begun with `splice`.
        """
        body = self._ask.body
        if transcript.head or body.get("store") is not False or body.get("previous_response_id"):
            return b""
        self.bind(transcript)
        response = _response(f"resp_{ident}", self._ask, created)
        transcript.note(
            Head({"id": response["id"], "created_at": created, "model": response["model"], "response": response})
        )
        self._rewrites = True
        self._memory["seq"] = -1
        return self._pack("response.created", response=response)

    # ending ------------------------------------------------------------------------------------------------
    def _shut(self, transcript: Transcript, shape: Shape, added: dict[Block, str]) -> Iterator[bytes]:
        """Close one item, innermost first; its final form stays in its shape's fields. `added` texts go in front."""
        item, index = dict(shape.fields["item"]), shape.fields["index"]
        parts = _parts_of(transcript, shape)
        for part in parts:
            if part.open:
                where = {"item_id": item.get("id"), "output_index": index}
                yield from self._shut_part(part, where, added.get(part.block, ""))
        if item.get("type") == "message":
            item.update(status="completed", content=[_part(part, added.get(part.block, "")) for part in parts])
        elif item.get("type") == "reasoning":
            item.pop("encrypted_content", None)  # what was shown of it is not whole
            summary = [_part(part) for part in parts if part.fields["part"]["type"] == "summary_text"]
            content = [_part(part) for part in parts if part.fields["part"]["type"] == "reasoning_text"]
            item.update(status="incomplete", summary=summary, **({"content": content} if content else {}))
        else:
            item["status"] = "failed"
        shape.fields["item"] = item
        yield self._pack("response.output_item.done", output_index=index, item=item)

    def _shut_part(self, part: Shape, where: Mapping[str, Any], more: str = "") -> Iterator[bytes]:
        """Close one part; `more` is added to its text first."""
        kind = part.fields["part"]["type"]
        _, member, home = PARTS[kind]
        at = {**where, "content_index" if home == "content" else "summary_index": part.fields["at"]}
        extra: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
        if more:
            yield self._pack(f"response.{STEMS[kind]}.delta", **at, delta=more, **extra)
        final = _part(part, more)
        if "said" not in part.fields:
            yield self._pack(f"response.{STEMS[kind]}.done", **at, **{member: final[member]}, **extra)
        if not part.fields.get("implicit"):
            name = "content_part" if home == "content" else "reasoning_summary_part"
            yield self._pack(f"response.{name}.done", **at, part=final)
        part.fields["part"] = final

    def close_choice(self, transcript: Transcript, choice: int, ending: Ending) -> bytes:
        """Every open item closed, and the notice: in the open text, or as a message of its own."""
        self.bind(transcript)
        out: list[bytes] = []
        if not transcript.head:
            out.append(self._start(transcript))
        items = _item_shapes(transcript)
        notice = ending.notice
        added: dict[Block, str] = {}
        for part in reversed(transcript.open_shapes()):
            if notice and _writable(part):
                added[part.block] = f"\n\n{notice}" if part.chars else notice
                notice = None
        for shape in items:
            if shape.open:
                out += self._shut(transcript, shape, added)
        if notice:
            index = max((shape.fields["index"] + 1 for shape in items), default=0)
            said = {"type": "output_text", "text": notice, "annotations": [], "logprobs": []}
            ident = OURS + sha256(str(transcript.head.get("id")).encode()).hexdigest()[:24]
            item = {"id": ident, "type": "message", "role": "assistant", "status": "completed", "content": [said]}
            out += [self._pack(kind, **members) for kind, members in _item_events(item, index)]
            transcript.memory["notice"] = item
        return b"".join(out)

    def close(self, transcript: Transcript, ending: Ending) -> bytes:
        if transcript.done or transcript.fault:
            return b""
        if any(shape.channel is Channel.TOOL for shape in transcript.open_shapes()):
            return self.fail(transcript, HALF_CALL, ending.marker)
        body = self.close_choice(transcript, 0, ending)
        reason = INCOMPLETE.get(ending.finish or "")
        status = "incomplete" if reason else "completed"
        response = self._ended(transcript, status)
        response["incomplete_details"] = {"reason": reason} if reason else None
        return body + self._pack(f"response.{status}", response=response, **_marked(ending.marker))

    def fail(self, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None) -> bytes:
        """response.failed with the items that were complete; what was open stays open, as the grammar allows."""
        if transcript.done or transcript.fault:
            return b""
        self.bind(transcript)
        start = b"" if transcript.head else self._start(transcript)
        response = self._ended(transcript, "failed")
        code = failure.code if failure.code and not failure.code.startswith("streamfuse_") else None
        code = code or ("rate_limit_exceeded" if failure.kind is Kind.RATE_LIMIT else "server_error")
        message = failure.message or "The upstream failed."
        if code == "rate_limit_exceeded" and failure.retry_after and "try again in" not in message:
            message += f" Please try again in {failure.retry_after:g}s."  # Codex waits as told here (protocols §3.3)
        response["error"] = {"code": code, "message": message}
        told = {**({"code": failure.code} if failure.code else {}), **(marker or {})}
        return start + self._pack("response.failed", response=response, **_marked(told))

    def _start(self, transcript: Transcript) -> bytes:
        ident = f"resp_{sha256(orjson.dumps(self._ask.body, default=str)).hexdigest()[:32]}"
        response = _response(ident, self._ask, 0)
        transcript.note(Head({"id": ident, "model": self._ask.model, "created_at": 0, "response": response}))
        self._memory["seq"] = -1
        return self._pack("response.created", response=response)

    def _ended(self, transcript: Transcript, status: str) -> dict[str, Any]:
        head = transcript.head
        response = {**_response(str(head.get("id")), self._ask, head.get("created_at", 0)), **head.get("response", {})}
        response.update({key: head[key] for key in ("id", "created_at", "model") if key in head})
        whole = status != "failed"
        output = [shape.fields["item"] for shape in _item_shapes(transcript) if whole or not shape.open]
        if whole and "notice" in transcript.memory:
            output.append(transcript.memory["notice"])
        response.update(status=status, output=output, usage=transcript.usage)
        return response


READERS: Final[Mapping[str, Callable[[ResponsesCodec, Mapping[str, Any]], Sequence[Delta]]]] = {
    "response.created": ResponsesCodec._created,
    "response.queued": ResponsesCodec._quiet,
    "response.in_progress": ResponsesCodec._quiet,
    "keepalive": ResponsesCodec._quiet,
    "response.output_item.added": ResponsesCodec._added,
    "response.output_item.done": ResponsesCodec._item_done,
    "response.content_part.added": ResponsesCodec._part_added,
    "response.content_part.done": ResponsesCodec._part_done,
    "response.reasoning_summary_part.added": ResponsesCodec._part_added,
    "response.reasoning_summary_part.done": ResponsesCodec._part_done,
    "response.output_text.annotation.added": ResponsesCodec._annotation,
    "response.completed": ResponsesCodec._completed,
    "response.incomplete": ResponsesCodec._completed,
    "response.failed": ResponsesCodec._failed,
    "response.cancelled": ResponsesCodec._failed,
    "error": ResponsesCodec._failed,
}


def _marked(marker: Mapping[str, Any]) -> dict[str, Any]:
    return {"streamfuse": dict(marker)} if marker else {}


def _item_shapes(transcript: Transcript) -> list[Shape]:
    """The items the client was shown, by output index."""
    shapes = [shape for shape in transcript.shapes.values() if "item" in shape.fields]
    return sorted(shapes, key=lambda shape: int(shape.fields["index"]))


def _parts_of(transcript: Transcript, item: Shape) -> list[Shape]:
    return [shape for shape in transcript.shapes.values() if shape.fields.get("of") == item.block[1]]


def _writable(part: Shape) -> bool:
    """May visible text still be added to this open part?"""
    return part.fields.get("part", {}).get("type") == "output_text" and "said" not in part.fields


def _part(shape: Shape, more: str = "") -> dict[str, Any]:
    """A part in its final form: the text shown so far, its annotations."""
    part: dict[str, Any] = dict(shape.fields["part"])
    if not shape.open and part.get(PARTS[part["type"]][1]):
        return part
    part[PARTS[part["type"]][1]] = shape.text + more
    if part["type"] == "output_text":
        notes = [value for key, value in shape.fields.items() if key.startswith("annotation.")]
        part.update(annotations=notes, logprobs=[])
    return part


def _parts(item: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The parts of a whole item that we read, with their keys."""
    for home, mark in (("summary", "s"), ("content", "")):
        for at, part in enumerate(item.get(home) or ()):
            if isinstance(part, dict) and part.get("type") in PARTS:
                yield part, f"{mark}{at}"


def _items(output: Any) -> Iterator[Delta]:
    """Whole output items as deltas."""
    for index, item in enumerate(output if isinstance(output, list) else ()):
        if not isinstance(item, dict):
            continue
        block, kind = (0, str(index)), str(item.get("type"))
        channel = Channel.TOOL if kind in CALLS else Channel.REASONING if kind == "reasoning" else Channel.TEXT
        free = kind != "function_call"
        yield Open(block, channel, str(item.get("name") or ""), {"item": item, "index": index, "free": free})
        if channel is Channel.TOOL:
            yield Piece(block, channel, str(item.get(ARGUMENTS.get(kind, "")) or ""))
        elif kind not in ("message", "reasoning"):
            yield Unknown(kind)
        for part, key in _parts(item):
            of, member, _ = PARTS[part["type"]]
            inner = (0, f"{index}.{key}")
            yield Open(inner, of, "", {"part": part, "at": int(key.removeprefix("s")), "of": str(index)})
            yield Piece(inner, of, str(part.get(member) or ""))
            yield Close(inner)
        yield Close(block)


def _item_events(item: Mapping[str, Any], index: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A whole item as the events that would have built it (name, members)."""
    kind = str(item.get("type"))
    where = {"item_id": item.get("id"), "output_index": index}
    empty: dict[str, Any] = {"message": {"content": []}, "reasoning": {"summary": [], "content": []}}.get(kind, {})
    member = ARGUMENTS.get(kind)
    if member:
        empty = {member: ""}
    kept = {key: value for key, value in empty.items() if key in item}
    yield "response.output_item.added", {"output_index": index, "item": {**item, "status": "in_progress", **kept}}
    if member:
        stem = "function_call_arguments" if kind == "function_call" else "custom_tool_call_input"
        yield f"response.{stem}.delta", {**where, "delta": item.get(member) or ""}
        yield f"response.{stem}.done", {**where, member: item.get(member) or ""}
    for part, key in _parts(item) if kind in ("message", "reasoning") else ():
        _, text, home = PARTS[part["type"]]
        at = {"content_index" if home == "content" else "summary_index": int(key.removeprefix("s"))}
        name = "content_part" if home == "content" else "reasoning_summary_part"
        extra: dict[str, Any] = {"logprobs": []} if part["type"] == "output_text" else {}
        bare = {**part, text: ""} | ({"annotations": []} if part["type"] == "output_text" else {})
        yield f"response.{name}.added", {**where, **at, "part": bare}
        yield f"response.{STEMS[part['type']]}.delta", {**where, **at, "delta": part.get(text) or "", **extra}
        for n, note in enumerate(part.get("annotations") or ()):
            yield "response.output_text.annotation.added", {**where, **at, "annotation_index": n, "annotation": note}
        yield f"response.{STEMS[part['type']]}.done", {**where, **at, text: part.get(text) or "", **extra}
        yield f"response.{name}.done", {**where, **at, "part": part}
    yield "response.output_item.done", {"output_index": index, "item": item}


def _response(ident: str, ask: Ask, created: int) -> dict[str, Any]:
    """A response object of our own, with what the request says of it."""
    copied = ("instructions", "metadata", "parallel_tool_calls", "previous_response_id", "store", "temperature",
              "text", "tool_choice", "tools", "top_p", "reasoning", "max_output_tokens")  # fmt: skip
    return {
        "id": ident, "object": "response", "created_at": created, "status": "in_progress", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "model": ask.model, "output": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": None,
        **{key: ask.body[key] for key in copied if ask.body.get(key) is not None},
    }  # fmt: skip


def _fault(data: Mapping[str, Any]) -> Fault:
    response = data.get("response")
    error = (response.get("error") if isinstance(response, dict) else None) or data.get("error") or data
    if not isinstance(error, dict):
        return Fault(None, str(error), data)
    code = error.get("code") or (error.get("type") if error is not data else None)
    return Fault(code, str(error.get("message") or ""), data)


def _words(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else ()
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


class OpenAIResponses(Wire):
    """POST /responses."""

    name = "openai_responses"
    keeps = True
    closes_calls = True

    def matches(self, path: str) -> bool:
        return path == "/responses"

    def ask(self, body: Json) -> Ask:
        text = body.get("text")
        form = text.get("format") if isinstance(text, dict) else None
        return Ask(
            model=str(body.get("model") or ""),
            streaming=body.get("stream") is True,
            wants_usage=True,
            has_tools=bool(body.get("tools")),
            wants_json=isinstance(form, dict) and form.get("type") in ("json_schema", "json_object"),
            body=body,
            brief=Brief(lambda: self._prompt(body)),
        )

    def _prompt(self, body: Json) -> str:
        found = _words(body.get("instructions"))
        given = body.get("input")
        if isinstance(given, str):
            found.append(given)
        for item in given if isinstance(given, list) else ():
            if isinstance(item, dict) and item.get("role") != "assistant":
                found += _words(item.get("output") if "output" in item else item.get("content"))
        return "\n".join(found)[-PROMPT_LIMIT:]

    def codec(self, ask: Ask) -> Codec:
        return ResponsesCodec(ask)

    def error(self, failure: Failure) -> tuple[int, bytes]:
        return openai_error(failure)

    def heartbeat(self, started: bool) -> bytes:
        return encode(b'{"type":"keepalive","sequence_number":0}', "keepalive") if started else b": hb\n"

    # whole JSON bodies -------------------------------------------------------------------------------------
    def whole(self, body: Json) -> Sequence[Delta]:
        if body.get("error"):
            return [_fault(body)]
        if not isinstance(body.get("output"), list):
            return [Malformed("neither a response nor an error")]
        found: list[Delta] = [Head({key: body[key] for key in ("id", "model", "created_at") if key in body})]
        found += _items(body["output"])
        if isinstance(body.get("usage"), dict):
            found.append(Usage(body["usage"]))
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        return [*found, Finish(0, str(reason or body.get("status") or "completed")), Done()]

    def trim(self, body: Json, keep: Mapping[tuple[int, str], int], ending: Ending) -> Json:
        output: list[dict[str, Any]] = []
        for index, item in enumerate(body.get("output") or ()):
            named = (0, str(index)) in keep  # a call to be dropped, or an item that begins behind the cut
            cut = _trimmed(item, index, keep) if isinstance(item, dict) and not named else None
            if cut is not None:
                output.append(cut)
        if ending.notice:
            said: dict[str, Any] = {"type": "output_text", "text": ending.notice, "annotations": [], "logprobs": []}
            content = output[-1].get("content") if output and output[-1].get("type") == "message" else None
            if content and content[-1].get("type") == "output_text":
                told = {**content[-1], "text": f"{content[-1].get('text', '')}\n\n{ending.notice}"}
                output[-1] = {**output[-1], "content": [*content[:-1], told]}
            else:
                ident = OURS + sha256(str(body.get("id")).encode()).hexdigest()[:24]
                output.append(
                    {"id": ident, "type": "message", "role": "assistant", "status": "completed", "content": [said]}
                )
        reason = INCOMPLETE.get(ending.finish or "")
        ended = {"status": "incomplete" if reason else "completed"}
        details = {"reason": reason} if reason else None
        return {**body, **ended, "incomplete_details": details, "output": output, **_marked(ending.marker)}

    def to_events(self, ask: Ask, body: Json) -> bytes:
        codec = ResponsesCodec(ask)
        codec._memory["seq"] = -1
        whole = {**_response("resp_streamfuse", ask, 0), **body}
        begun = {**whole, "status": "in_progress", "output": [], "usage": None, "error": None}
        out = [codec._pack(name, response=begun) for name in ("response.created", "response.in_progress")]
        for index, item in enumerate(whole["output"] or ()):
            out += [codec._pack(kind, **members) for kind, members in _item_events(item, index)]
        status = whole.get("status")
        if status not in ("incomplete", "failed"):
            whole["status"] = status = "completed"
        return b"".join([*out, codec._pack(f"response.{status}", response=whole)])

    def gather(self, ask: Ask, events: Sequence[Event]) -> Json | None:
        items: list[Any] = []
        for event in events:
            data = event.json
            if not isinstance(data, dict):
                continue
            kind = data.get("type")
            if kind == "error":
                return None
            if kind == "response.output_item.done":
                items.append(data.get("item"))
            elif type(kind) is str and kind in TERMINAL and isinstance(data.get("response"), dict):
                return {**data["response"], "output": data["response"].get("output") or items}
        return None

    # history -----------------------------------------------------------------------------------------------
    def advise(self, body: Json, text: str) -> Json:
        given = body.get("input")
        if isinstance(given, str):
            return {**body, "input": f"{given}\n\n{text}"}
        if not isinstance(given, list):
            return body
        part = {"type": "input_text", "text": text}
        last = given[-1] if given else None
        if isinstance(last, dict) and last.get("role") == "user":
            content = last.get("content")
            parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else list(content or ())
            return {**body, "input": [*given[:-1], {**last, "content": [*parts, part]}]}
        return {**body, "input": [*given, {"type": "message", "role": "user", "content": [part]}]}

    def clean(self, body: Json) -> Json:
        """Drop reasoning items that we closed, and the ids of our notices.

        Ours are marked `incomplete`. Clients that keep no status (Codex) are stateless: there, reasoning without
        encrypted content that no call of the same turn follows is of no use to any backend.
        """
        given = body.get("input")
        if not isinstance(given, list):
            return body
        kept: list[Any] = []
        changed = False
        for at, item in enumerate(given):
            ident = item.get("id") if isinstance(item, dict) else None
            if isinstance(item, dict) and item.get("type") == "reasoning" and _ours(given, at, body):
                changed = True
            elif isinstance(ident, str) and ident.startswith(OURS):
                changed = True
                if item.get("type") != "item_reference":
                    kept.append({key: value for key, value in item.items() if key != "id"})
            else:
                kept.append(item)
        return {**body, "input": kept} if changed else body


def _ours(given: Sequence[Any], at: int, body: Json) -> bool:
    """Did we close this reasoning item?"""
    item = given[at]
    if item.get("status") == "incomplete":
        return True
    if item.get("encrypted_content") or body.get("store") is not False:
        return False
    for later in given[at + 1 :]:
        if not isinstance(later, dict) or later.get("role") not in (None, "assistant"):
            return True
        if later.get("type") in CALLS:
            return False
    return True


def _trimmed(item: Mapping[str, Any], index: int, keep: Mapping[tuple[int, str], int]) -> dict[str, Any] | None:
    """An item with as much of its parts as is kept; None where nothing is left of what was cut."""
    cut = dict(item)
    touched = False
    for part, key in list(_parts(item)):
        chars = keep.get((0, f"{index}.{key}"))
        if chars is None:
            continue
        touched = True
        _, member, home = PARTS[part["type"]]
        kept = {**part, member: str(part.get(member) or "")[:chars]}
        cut[home] = [kept if old is part else old for old in cut[home] if old is not part or chars]
    if not touched:
        return cut
    if item.get("type") == "reasoning":
        cut.pop("encrypted_content", None)
        cut["status"] = "incomplete"
    return cut if cut.get("content") or cut.get("summary") else None


WIRE: Final = OpenAIResponses()
