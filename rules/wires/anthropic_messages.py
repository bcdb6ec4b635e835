"""Anthropic's /messages: blocks one after another, thinking with signatures, message_stop.

There is one choice; a block's key is its index as the *client* counts it. Every event carries its name, because the
SDKs drop nameless ones. A signature is never invented: thinking that we closed stays unsigned, and `clean` takes it
out when the client sends it back. Grammar and traps: protocols §4, measured on the released SDKs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from ..brief import Brief
from ..delta import Block, Channel, Close, Delta, Done, Fault, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from ..failures import Failure, Kind, Phase
from ..sse import Event, encode
from ..template import Template
from .base import Ask, Codec, Ending, Json, Wire, http_status

if TYPE_CHECKING:
    from ..transcript import Transcript

PROMPT_LIMIT: Final = 64 << 10
"""Characters of the request's text a monitor may read, newest last."""

QUIET: Final = "end_turn"
REASONS: Final = frozenset(
    {"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"}
)
FROM_CHAT: Final = {"stop": QUIET, "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}
"""`cut.finish` is written in the words of the chat wire."""

ERROR_TYPES: Final = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 408: "timeout_error", 409: "conflict_error", 413: "request_too_large",
    422: "invalid_request_error", 429: "rate_limit_error", 503: "overloaded_error", 504: "timeout_error",
    529: "overloaded_error",
}  # fmt: skip
"""Error type by status (docs.claude.com/en/api/errors)."""

PIECES: Final = {
    "text_delta": (Channel.TEXT, "text"),
    "thinking_delta": (Channel.REASONING, "thinking"),
    "input_json_delta": (Channel.TOOL, "partial_json"),
}
"""The deltas that carry text. The others (signature, citations, compaction, new ones) pass unread."""
BLOCKS: Final = {"text": (Channel.TEXT, "text"), "thinking": (Channel.REASONING, "thinking")}


def channel_of(kind: object) -> Channel | None:
    """The channel of a content block type; None = a block we only pass on (server tools and their results)."""
    if not isinstance(kind, str):
        return None
    if kind in BLOCKS:
        return BLOCKS[kind][0]
    if kind.endswith("tool_use") and not kind.startswith(("server_", "mcp_")):
        return Channel.TOOL
    return None


def pack(kind: str, **members: Any) -> bytes:
    """One event of this wire."""
    return encode(orjson.dumps({"type": kind, **members}), kind)


class MessagesCodec(Codec):
    """One message."""

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
        self._template = Template()

    # reading -----------------------------------------------------------------------------------------------
    def read(self, event: Event) -> Sequence[Delta]:
        raw = event.data
        plain = raw is not None and event.name == "content_block_delta"
        if plain and (piece := self._template.match(raw)) is not None:  # type: ignore[arg-type]
            self.again = True
            return [piece]
        self.again = False
        data = event.json
        if type(data) is not dict:
            return [] if raw is None else [Malformed("not an object")]
        kind = data.get("type")
        if kind == "content_block_delta":
            try:
                index, delta = data["index"], data["delta"]
                what = PIECES.get(delta["type"])
                if what is None:
                    return self._other_delta(index, str(delta["type"]))
                text = delta[what[1]]
                known = self._blocks.get(index) or self._meet(index, what[0])
            except (KeyError, TypeError):
                return [Malformed("a delta that says nothing")]
            if type(text) is not str:
                return [Malformed("a delta that says nothing")]
            if known[1] is not what[0]:
                return [Unknown(str(delta["type"]))]
            piece = Piece(known[0], what[0], text)
            if plain and text and what[0] is not Channel.TOOL:
                self._template.learn(raw, piece)  # type: ignore[arg-type]
            return [piece]
        reader = READERS.get(kind) if type(kind) is str else None
        if reader is not None:
            return reader(self, data)
        if data.get("error"):
            return [_fault(data)]
        return [Unknown(kind)] if type(kind) is str else [Malformed("no type")]

    def _meet(self, index: object, channel: Channel | None) -> tuple[Block, Channel | None]:
        at = index if type(index) is int else 0
        known = self._blocks[index] = ((0, str(at + self._offset)), channel)
        return known

    def _other_delta(self, index: object, kind: str) -> Sequence[Delta]:
        """A signature teaches the client nothing; citations and what is new do."""
        if kind != "signature_delta":
            return [Unknown(kind)]
        known = self._blocks.get(index) or self._meet(index, Channel.REASONING)
        return [Piece(known[0], Channel.REASONING, "")]

    def _message_start(self, data: dict[str, Any]) -> Sequence[Delta]:
        message = data.get("message")
        if type(message) is not dict:
            return [Malformed("message_start without a message")]
        fields = {key: message[key] for key in ("id", "model", "role", "usage") if message.get(key) is not None}
        usage = message.get("usage")
        return [Head(fields), Usage(usage)] if type(usage) is dict and not self._spliced else [Head(fields)]

    def _block_start(self, data: dict[str, Any]) -> Sequence[Delta]:
        block = data.get("content_block")
        if type(block) is not dict:
            return [Malformed("content_block_start without a block")]
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
            return [Malformed("a block without its index")]
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
            return [Malformed("a block without its index")]
        known = self._blocks.get(index) or self._meet(index, None)
        return [Close(known[0])]

    def _message_delta(self, data: dict[str, Any]) -> Sequence[Delta]:
        found: list[Delta] = []
        usage, delta = data.get("usage"), data.get("delta")
        if type(usage) is dict:
            spent = usage.get("output_tokens")
            found.append(Usage({**usage, "output_tokens": spent + self._spent} if type(spent) is int else usage))
        if type(delta) is dict and type(delta.get("stop_reason")) is str:
            found.append(Finish(0, delta["stop_reason"]))
        return found

    def _message_stop(self, data: dict[str, Any]) -> Sequence[Delta]:
        return [Done()]

    def _ping(self, data: dict[str, Any]) -> Sequence[Delta]:
        return []

    def _error(self, data: dict[str, Any]) -> Sequence[Delta]:
        return [_fault(data)]

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
        if kind == "message_start" or (kind == "content_block_start" and self._merged and index == 0):
            return b""
        before = b""
        if type(index) is int:
            data = {**data, "index": index + self._offset}
        if kind in ("content_block_start", "message_delta"):
            before = self._shut()
        if kind == "message_delta" and type(data.get("usage")) is dict:
            usage = data["usage"]
            spent = usage.get("output_tokens")
            if type(spent) is int:
                data = {**data, "usage": {**usage, "output_tokens": spent + self._spent}}
        return before + encode(orjson.dumps(data), kind)

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
        self._spent = _spent(transcript)
        for shape in transcript.open_shapes():
            if shape.fields.get("type") == "text":
                self._carry = int(shape.block[1])

    def heartbeat(self, started: bool) -> bytes:
        return WIRE.heartbeat(started)

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
        members: dict[str, Any] = {"delta": _stop(ending, called), "usage": usage}
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
        body = _error_body(failure, _status(failure))
        if marker:
            body["streamfuse"] = dict(marker)
        return encode(orjson.dumps(body), "error")

    def finish_missing(self, transcript: Transcript) -> bytes:
        return pack("message_stop") if transcript.finished and not transcript.done else b""

    def _start(self) -> bytes:
        message = _message("msg_streamfuse", self._ask.model, {"input_tokens": 0, "output_tokens": 0})
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

HALF_CALL: Final = Failure(
    Phase.STREAM, Kind.LOOP, "The answer was cut inside a tool call; the call is not to be run.", code="streamfuse_loop"
)


def _message(ident: str, model: str, usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": ident, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": dict(usage),
    }  # fmt: skip


def _spent(transcript: Transcript) -> int:
    """Output tokens the client was last told of."""
    for counts in (transcript.usage, transcript.head.get("usage")):
        if type(counts) is dict and type(counts.get("output_tokens")) is int:
            return int(counts["output_tokens"])
    return 0


def _stop(ending: Ending, called: bool) -> dict[str, Any]:
    """stop_reason and stop_sequence of a cut. A complete call that was shown is to be run: tool_use."""
    reason = FROM_CHAT.get(ending.finish or QUIET, ending.finish or QUIET)
    if reason not in REASONS:
        reason = QUIET
    if called and reason == QUIET:
        reason = "tool_use"
    elif reason == "tool_use" and not called:
        reason = QUIET
    mark = f"streamfuse:{ending.marker.get('rule', 'cut')}" if reason == "stop_sequence" else None
    return {"stop_reason": reason, "stop_sequence": mark}


def _fault(data: Mapping[str, Any]) -> Fault:
    error = data.get("error")
    if type(error) is dict:
        code = error.get("type") or error.get("code")
        return Fault(code, str(error.get("message", "")), data)
    return Fault(None, str(error or ""), data)


def _status(failure: Failure) -> int:
    """Overload has a number of its own here: 529, which SDKs and Claude Code retry by themselves."""
    status = http_status(failure)
    return 529 if status == 503 or (failure.status is None and failure.code == "overloaded_error") else status


def _error_body(failure: Failure, status: int) -> dict[str, Any]:
    kind = ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    if failure.code in ERROR_TYPES.values() or failure.code == "api_error":
        kind = str(failure.code)
    error: dict[str, Any] = {"type": kind, "message": failure.message or "The upstream failed."}
    if failure.code is not None and failure.code != kind:
        error["code"] = failure.code
    return {"type": "error", "error": error}


def _words(content: Any) -> list[str]:
    """The texts of a request's content, tool results included."""
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            if isinstance(part.get("text"), str):
                found.append(part["text"])
            elif part.get("type") == "tool_result":
                found += _words(part.get("content"))
    return found


class AnthropicMessages(Wire):
    """POST /messages."""

    name = "anthropic_messages"
    closes_calls = True

    def matches(self, path: str) -> bool:
        return path == "/messages"

    def ask(self, body: Json) -> Ask:
        config = body.get("output_config")
        wants = body.get("output_format") or (config.get("format") if isinstance(config, dict) else None)
        return Ask(
            model=str(body.get("model") or ""),
            streaming=body.get("stream") is True,
            wants_usage=True,
            has_tools=bool(body.get("tools")),
            wants_json=bool(wants),
            body=body,
            brief=Brief(lambda: self._prompt(body)),
        )

    def _prompt(self, body: Json) -> str:
        found = _words(body.get("system"))
        messages = body.get("messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict) and message.get("role") != "assistant":
                found += _words(message.get("content"))
        return "\n".join(found)[-PROMPT_LIMIT:]

    def codec(self, ask: Ask) -> Codec:
        return MessagesCodec(ask)

    def error(self, failure: Failure) -> tuple[int, bytes]:
        """Anthropic's shape. The upstream's own body stays as it is where it has that shape already."""
        status = _status(failure)
        if failure.body:
            try:
                given = orjson.loads(failure.body)
            except orjson.JSONDecodeError:
                given = None
            if isinstance(given, dict) and given.get("type") == "error" and isinstance(given.get("error"), dict):
                return (status if failure.status != 503 else 503), failure.body
        return status, orjson.dumps(_error_body(failure, status))

    def heartbeat(self, started: bool) -> bytes:
        return b'event: ping\ndata: {"type":"ping"}\n\n' if started else b": hb\n"

    # whole JSON bodies -------------------------------------------------------------------------------------
    def whole(self, body: Json) -> Sequence[Delta]:
        if body.get("error"):
            return [_fault(body)]
        content = body.get("content")
        if not isinstance(content, list):
            return [Malformed("neither a message nor an error")]
        found: list[Delta] = [Head({key: body[key] for key in ("id", "model", "role", "usage") if key in body})]
        for index, block in enumerate(content):
            where = (0, str(index))
            kind = block.get("type") if isinstance(block, dict) else None
            channel = channel_of(kind)
            if channel is None:
                found += [Open(where, Channel.TEXT), Unknown(str(kind)), Close(where)]
                continue
            found.append(Open(where, channel, str(block.get("name", ""))))
            text = _text(block, channel)
            if text:
                found.append(Piece(where, channel, text))
            found.append(Close(where))
        if isinstance(body.get("usage"), dict):
            found.append(Usage(body["usage"]))
        if isinstance(body.get("stop_reason"), str):
            found.append(Finish(0, body["stop_reason"]))
        return [*found, Done()]

    def trim(self, body: Json, keep: Mapping[tuple[int, str], int], ending: Ending) -> Json:
        content: list[Any] = []
        given = body.get("content")
        for index, block in enumerate(given if isinstance(given, list) else ()):
            chars = keep.get((0, str(index)))
            kind = block.get("type") if isinstance(block, dict) else None
            if chars is None or kind not in BLOCKS:
                if chars is None:
                    content.append(block)
                continue
            member = BLOCKS[kind][1]
            cut = {**block, member: str(block.get(member) or "")[:chars]}
            if "signature" in cut:
                cut["signature"] = ""  # it vouches for the whole text only; `clean` drops the block later
            if chars:
                content.append(cut)
        called = any(isinstance(block, dict) and channel_of(block.get("type")) is Channel.TOOL for block in content)
        if ending.notice:
            if content and content[-1].get("type") == "text":
                content[-1] = {**content[-1], "text": f"{content[-1].get('text', '')}\n\n{ending.notice}"}
            else:
                content.append({"type": "text", "text": ending.notice})
        trimmed = {**body, "content": content, **_stop(ending, called)}
        if ending.marker:
            trimmed["streamfuse"] = dict(ending.marker)
        return trimmed

    def to_events(self, ask: Ask, body: Json) -> bytes:
        usage = body.get("usage") if isinstance(body.get("usage"), dict) else {}
        usage = {"input_tokens": 0, "output_tokens": 0, **(usage or {})}
        head = {**body, **_message(str(body.get("id") or "msg_streamfuse"), str(body.get("model") or ask.model), usage)}
        out = [pack("message_start", message=head)]
        content = body.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            channel = channel_of(block.get("type")) if isinstance(block, dict) else None
            if channel is None:
                out.append(pack("content_block_start", index=index, content_block=block))
            else:
                text = _text(block, channel)
                member, empty = ("input", {}) if channel is Channel.TOOL else (BLOCKS[block["type"]][1], "")
                bare = {key: value for key, value in block.items() if key not in ("citations", "signature")}
                out.append(pack("content_block_start", index=index, content_block={**bare, member: empty}))
                kind, key = next((kind, key) for kind, (of, key) in PIECES.items() if of is channel)
                if text:
                    delta: dict[str, Any] = {"type": kind, key: text}
                    out.append(pack("content_block_delta", index=index, delta=delta))
                for citation in block.get("citations") or ():
                    delta = {"type": "citations_delta", "citation": citation}
                    out.append(pack("content_block_delta", index=index, delta=delta))
                if block.get("signature"):
                    delta = {"type": "signature_delta", "signature": block["signature"]}
                    out.append(pack("content_block_delta", index=index, delta=delta))
            out.append(pack("content_block_stop", index=index))
        delta = {"stop_reason": body.get("stop_reason") or QUIET, "stop_sequence": body.get("stop_sequence")}
        out.append(pack("message_delta", delta=delta, usage=usage))
        return b"".join([*out, pack("message_stop")])

    def gather(self, ask: Ask, events: Sequence[Event]) -> Json | None:
        body: dict[str, Any] | None = None
        blocks: dict[Any, dict[str, Any]] = {}
        ended = False
        for event in events:
            data = event.json
            if not isinstance(data, dict):
                continue
            kind, delta = data.get("type"), data.get("delta")
            if kind == "error":
                return None
            if kind == "message_start" and body is None and isinstance(data.get("message"), dict):
                body = dict(data["message"])
            elif kind == "content_block_start" and isinstance(data.get("content_block"), dict):
                blocks[data.get("index")] = dict(data["content_block"])
            elif kind == "content_block_delta" and isinstance(delta, dict):
                _grow(blocks.setdefault(data.get("index"), {"type": "text", "text": ""}), delta)
            elif kind == "message_delta" and isinstance(delta, dict) and body is not None:
                body.update(delta)
                body["usage"] = {**(body.get("usage") or {}), **(data.get("usage") or {})}
            elif kind == "message_stop":
                ended = True
        if body is None or not ended:
            return None
        for block in blocks.values():
            partial = block.pop("\0json", None)
            if partial is not None:
                try:
                    block["input"] = orjson.loads(partial or "{}")
                except orjson.JSONDecodeError:
                    return None
        return {**body, "content": list(blocks.values())}

    # history -----------------------------------------------------------------------------------------------
    def advise(self, body: Json, text: str) -> Json:
        messages = body.get("messages")
        if not isinstance(messages, list):
            return body
        at = max((i for i, m in enumerate(messages) if isinstance(m, dict) and m.get("role") == "user"), default=None)
        if at is None:
            return body
        content = messages[at].get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
        said = {**messages[at], "content": [*parts, {"type": "text", "text": text}]}
        return {**body, "messages": [*messages[:at], said, *messages[at + 1 :]]}

    def clean(self, body: Json) -> Json:
        """Drop unsigned thinking that no tool call follows: a cut of ours ends a turn with it, and the API refuses it.

        Servers without signatures keep theirs where it matters, before a call of the running tool loop.
        """
        messages = body.get("messages")
        if not isinstance(messages, list):
            return body
        kept = [_without_ours(message) for message in messages]
        if all(new is old for new, old in zip(kept, messages, strict=True)):
            return body
        return {**body, "messages": [message for message in kept if message is not None]}

    def resume(self, ask: Ask, transcript: Transcript, style: str) -> Json | None:
        """Style `prefill`: the shown text as the last, unfinished assistant turn.

        Not after a tool call, under structured output, with thinking on (the API refuses a prefill then), or where the
        text ends in white space (refused as well).
        """
        messages, thinking = ask.body.get("messages"), ask.body.get("thinking")
        thinks = isinstance(thinking, dict) and thinking.get("type") != "disabled"
        if style != "prefill" or ask.wants_json or thinks or not isinstance(messages, list):
            return None
        if not transcript.keep or not transcript.whole or transcript.finished:
            return None
        shapes = list(transcript.shapes.values())
        if not shapes or any(shape.channel is not Channel.TEXT for shape in shapes) or not shapes[-1].open:
            return None
        texts = [shape.text for shape in shapes]
        if not all(texts) or texts[-1] != texts[-1].rstrip():
            return None
        turn = {"role": "assistant", "content": [{"type": "text", "text": text} for text in texts]}
        return {**ask.body, "messages": [*messages, turn]}


def _text(block: Mapping[str, Any], channel: Channel) -> str:
    if channel is Channel.TOOL:
        return orjson.dumps(block.get("input") or {}).decode()
    text = block.get(BLOCKS[block["type"]][1])
    return text if isinstance(text, str) else ""


def _grow(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add one delta to a block that is being gathered."""
    kind = delta.get("type")
    if kind == "input_json_delta":
        block["\0json"] = block.get("\0json", "") + str(delta.get("partial_json", ""))
    elif kind == "signature_delta":
        block["signature"] = delta.get("signature")
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
    elif kind in PIECES:
        member = PIECES[str(kind)][1]
        block[member] = str(block.get(member, "")) + str(delta.get(member, ""))


def _without_ours(message: Any) -> Any:
    """An assistant message without the thinking we closed; None where nothing is left of it."""
    content = message.get("content") if isinstance(message, dict) and message.get("role") == "assistant" else None
    if not isinstance(content, list):
        return message
    kinds = [part.get("type") if isinstance(part, dict) else None for part in content]
    last_call = max((i for i, kind in enumerate(kinds) if channel_of(kind) is Channel.TOOL), default=-1)
    left = [
        part
        for i, part in enumerate(content)
        if not (kinds[i] == "thinking" and i > last_call and not part.get("signature"))
    ]
    if len(left) == len(content):
        return message
    return {**message, "content": left} if left else None


WIRE: Final = AnthropicMessages()
