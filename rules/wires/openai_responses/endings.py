"""The legal ends of a response: items closed innermost first, the notice, the terminal event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson

from ...framing.sse import Decoder, encode
from ...values.delta import Block, Channel, Head
from ...values.failures import Failure, Kind, Phase
from ..base import Ask, Ending
from ..error_shapes import sent_error
from .grammar import PARTS, STEMS, events
from .shown import item_shapes, part_of, parts_of, writable

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Shape, Transcript

OURS: Final = "msg_streamfuse_"
"""Ids of the notices we add; `clean` knows them again."""
INCOMPLETE: Final = {
    "length": "max_output_tokens", "max_output_tokens": "max_output_tokens", "content_filter": "content_filter",
}  # fmt: skip
"""`cut.finish` (in the words of the chat wire, or this one's) to incomplete_details.reason; all else completes."""
HALF_CALL: Final = Failure(
    Phase.STREAM, Kind.LOOP, "The answer was cut inside a tool call; the call is not to be run.", code="streamfuse_loop"
)


class Pen:
    """Writes events of our own, numbered on from the last one the client got, where the client's are numbered."""

    __slots__ = ("memory",)

    def __init__(self, memory: dict[str, Any]) -> None:
        """`memory`: of the transcript; `seq` in it is the last number, `sent` an event, or
        its bytes, that may have a later one."""
        self.memory = memory

    def sent(self, event: Event) -> None:
        """An event of the upstream's goes out as it is."""
        if type(event.json) is dict and type(number := event.json.get("sequence_number")) is int:
            self.memory["seq"] = number
            self.memory.pop("sent", None)

    @property
    def last(self) -> int | None:
        """The last number the client got; None where events have none."""
        event = self.memory.pop("sent", None)
        if type(event) is bytes:
            (event,) = Decoder().feed(event)
        if event is not None and type(event.json) is dict:
            number = event.json.get("sequence_number")
            if type(number) is int:
                self.memory["seq"] = number
        last: int | None = self.memory.get("seq")
        return last

    def take_back(self) -> None:
        """The last event, a numbered one, does not go out after all: the next has its number."""
        last = self.last
        if last is not None:
            self.memory["seq"] = last - 1

    def write(self, kind: str, **members: Any) -> bytes:
        """One event."""
        event: dict[str, Any] = {"type": kind, **members}
        last = self.last
        if last is not None:
            self.memory["seq"] = event["sequence_number"] = last + 1
        return encode(orjson.dumps(event), kind)


def shut(pen: Pen, transcript: Transcript, shape: Shape, added: dict[Block, str]) -> Iterator[bytes]:
    """Close one item, innermost first; its final form stays in its shape's fields. `added` texts go in front."""
    item, index = dict(shape.fields["item"]), shape.fields["index"]
    parts = parts_of(transcript, shape)
    for part in parts:
        if part.open:
            where = {"item_id": item.get("id"), "output_index": index}
            yield from shut_part(pen, part, where, added.get(part.block, ""))
    if item.get("type") == "message":
        item.update(status="completed", content=[part_of(part, added.get(part.block, "")) for part in parts])
    elif item.get("type") == "reasoning":
        item.pop("encrypted_content", None)  # what was shown of it is not whole
        summary = [part_of(part) for part in parts if part.fields["part"]["type"] == "summary_text"]
        content = [part_of(part) for part in parts if part.fields["part"]["type"] == "reasoning_text"]
        item.update(status="incomplete", summary=summary, **({"content": content} if content else {}))
    else:
        item["status"] = "failed"
    shape.fields["item"] = item
    yield pen.write("response.output_item.done", output_index=index, item=item)


def shut_part(pen: Pen, part: Shape, where: Mapping[str, Any], more: str = "") -> Iterator[bytes]:
    """Close one part; `more` is added to its text first."""
    kind = part.fields["part"]["type"]
    _, member, home = PARTS[kind]
    at = {**where, "content_index" if home == "content" else "summary_index": part.fields["at"]}
    extra: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
    if more:
        yield pen.write(f"response.{STEMS[kind]}.delta", **at, delta=more, **extra)
    final = part_of(part, more)
    if "said" not in part.fields:
        yield pen.write(f"response.{STEMS[kind]}.done", **at, **{member: final[member]}, **extra)
    if not part.fields.get("implicit"):
        name = "content_part" if home == "content" else "reasoning_summary_part"
        yield pen.write(f"response.{name}.done", **at, part=final)
    part.fields["part"] = final


def close_items(pen: Pen, ask: Ask, transcript: Transcript, ending: Ending) -> bytes:
    """Every open item closed, and the notice: in the open text, or as a message of its own."""
    out: list[bytes] = []
    if not transcript.head:
        out.append(begin(pen, ask, transcript))
    items = item_shapes(transcript)
    notice = ending.notice
    added: dict[Block, str] = {}
    for part in reversed(transcript.open_shapes()):
        if notice and writable(part):
            added[part.block] = f"\n\n{notice}" if part.chars else notice
            notice = None
    for shape in items:
        if shape.open:
            out += shut(pen, transcript, shape, added)
    if notice:
        index = max((shape.fields["index"] + 1 for shape in items), default=0)
        said = {"type": "output_text", "text": notice, "annotations": [], "logprobs": []}
        ident = OURS + sha256(str(transcript.head.get("id")).encode()).hexdigest()[:24]
        item = {"id": ident, "type": "message", "role": "assistant", "status": "completed", "content": [said]}
        out += [pen.write(kind, **members) for kind, members in events(item, index)]
        transcript.memory["notice"] = item
    return b"".join(out)


def close(pen: Pen, ask: Ask, transcript: Transcript, ending: Ending) -> bytes:
    if transcript.done or transcript.fault:
        return b""
    if any(shape.channel is Channel.TOOL for shape in transcript.open_shapes()):
        return fail(pen, ask, transcript, HALF_CALL, ending.marker)
    body = close_items(pen, ask, transcript, ending)
    reason = INCOMPLETE.get(ending.finish or "")
    status = "incomplete" if reason else "completed"
    if ending.finish == "incomplete":
        status = "incomplete"
    response = _ended(ask, transcript, status)
    response["incomplete_details"] = {"reason": reason} if reason else None
    return body + pen.write(f"response.{status}", response=response, **marked(ending.marker))


def fail(
    pen: Pen, ask: Ask, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None
) -> bytes:
    """response.failed with the items that were complete; what was open stays open, as the grammar allows."""
    if transcript.done or transcript.fault:
        return b""
    start = b"" if transcript.head else begin(pen, ask, transcript)
    response = _ended(ask, transcript, "failed")
    code = failure.code if failure.code and not failure.code.startswith("streamfuse_") else None
    code = code or ("rate_limit_exceeded" if failure.kind is Kind.RATE_LIMIT else "server_error")
    message = failure.message or "The upstream failed."
    if code == "rate_limit_exceeded" and failure.retry_after and "try again in" not in message:
        message += f" Please try again in {failure.retry_after:g}s."  # Codex reads its wait from these words
    given, _ = sent_error(failure)
    response["error"] = {**given, "code": code, "message": message}
    told = {**({"code": failure.code} if failure.code else {}), **(marker or {})}
    return start + pen.write("response.failed", response=response, **marked(told))


def begin(pen: Pen, ask: Ask, transcript: Transcript) -> bytes:
    ident = f"resp_{sha256(orjson.dumps(dict(ask.body), default=str)).hexdigest()[:32]}"
    response = response_object(ident, ask, 0)
    transcript.note(Head({"id": ident, "model": ask.model, "created_at": 0, "response": response}))
    pen.memory["seq"] = -1
    return pen.write("response.created", response=response)


def _ended(ask: Ask, transcript: Transcript, status: str) -> dict[str, Any]:
    head = transcript.head
    response = {**response_object(str(head.get("id")), ask, head.get("created_at", 0)), **head.get("response", {})}
    response.update({key: head[key] for key in ("id", "created_at", "model") if key in head})
    whole = status != "failed"
    output = [shape.fields["item"] for shape in item_shapes(transcript) if whole or not shape.open]
    if whole and "notice" in transcript.memory:
        output.append(transcript.memory["notice"])
    response.update(status=status, output=output, usage=transcript.usage)
    return response


def response_object(ident: str, ask: Ask, created: int) -> dict[str, Any]:
    """A response object of our own, with what the request says of it."""
    copied = ("instructions", "metadata", "parallel_tool_calls", "previous_response_id", "store", "temperature",
              "text", "tool_choice", "tools", "top_p", "reasoning", "max_output_tokens")  # fmt: skip
    return {
        "id": ident, "object": "response", "created_at": created, "status": "in_progress", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "model": ask.model, "output": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": None,
        **{key: ask.body[key] for key in copied if ask.body.get(key) is not None},
    }  # fmt: skip


def marked(marker: Mapping[str, Any]) -> dict[str, Any]:
    return {"streamfuse": dict(marker)} if marker else {}
