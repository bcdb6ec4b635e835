"""One streamed chat answer: events into deltas, with the repairs without which known clients break."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from ...errors.error_body import base_resp
from ...framing.sse import encode
from ...framing.template import Template
from ...values.delta import Block, Channel, Delta, Done, Fault, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from ...values.failures import Failure
from ..base import Ask, Codec, Ending, Misshapen
from ..said import Lost, Said
from ..server_cuts import DETAILS, details, unsaid
from ..usages import earlier_usage, summed
from . import endings

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript

TEXT, REASONING, TOOL, REFUSAL = Channel.TEXT, Channel.REASONING, Channel.TOOL, Channel.REFUSAL

HEAD = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
"""DeepSeek, SGLang, Kimi, GLM, llama.cpp · OpenRouter, vLLM, Groq · some Ollama builds. Some send one text twice."""
FAULT_REASONS = frozenset({"error", "abort", "network_error", "insufficient_system_resource"})
"""Finish reasons that report a broken answer (OpenRouter, vLLM #57082 and SGLang, Zhipu, DeepSeek)."""
TYPES = {"tool_calls": list, "function_call": dict, "refusal": str}
"""Members of a delta that carry output besides text, and their types."""
NUMBERS = frozenset({int, float, bool})
SILENT = frozenset({"role", "provider_specific_fields", "token_ids", "matched_stop", "obfuscation"})
"""Members of a delta that a client never shows."""
MOST = 128
"""Choices, and tool calls of a choice, at most: OpenAI's limit for both n and tools."""

_NOTHING: tuple[Delta, ...] = ()


class Side:
    """The state of one choice, as the upstream has sent it."""

    __slots__ = ("at", "calls", "function", "last", "reasoning", "refusal", "spoken", "text")

    def __init__(self, index: int) -> None:
        self.text: Block = (index, "text")
        self.reasoning: Block = (index, "reasoning")
        self.refusal: Block = (index, "refusal")
        self.calls: dict[int, OpenToolCall] = {}
        """Calls by the number that the client gets."""
        self.at: dict[int | None, int] = {}
        """Maps the upstream's index (None: it gave none) to the number of the call that it means now."""
        self.function = False
        """It makes a call in the old form, `function_call`."""
        self.last = -1
        self.spoken = False

    def begin(self, given: int | None, number: int, call: OpenToolCall) -> OpenToolCall:
        """Begin a new call."""
        self.calls[number] = call
        self.at[given] = number
        self.last = max(self.last, number)
        return call

    def calls_at(
        self, given: int | None, call: dict[str, Any], body: dict[str, Any]
    ) -> tuple[OpenToolCall | None, int, bool]:
        """(the call a fragment belongs to, None for a new one; its number; was the fragment repaired?)

        Some servers give every parallel call the same index, or none (Ollama, Gemini, OCI, SGLang): whole calls in one
        piece each, or an opening with a new id and its pieces after that. Clients tell calls apart by index alone.
        """
        ident, name = _str(call.get("id")), _str(body.get("name"))
        text = _str(body.get("arguments", body.get("input")))
        number = self.at.get(given)
        if number is None and given is None and self.last >= 0:
            number = self.last
        known = self.calls.get(number) if number is not None else None
        if known is None or number is None:
            return None, given if given is not None and given not in self.calls else self.last + 1, False
        if ident and known.id and ident != known.id:
            for at, other in self.calls.items():
                if other.id == ident:  # pieces of several calls in turn, told apart by their ids
                    self.at[given] = at
                    return other, at, _follows(call, body, other)
            if name and (known.closing or name != known.name):
                return None, self.last + 1, False
            return known, number, False
        if known.closing and not ident and not known.id:
            again = name or known.again
            if again and text.lstrip().startswith("{"):  # calls without ids: a name again, and other arguments
                body["name"] = again
                return None, self.last + 1, not name
            if name and not text:
                known.again = name
                body.pop("name")
                return known, number, True
        return known, number, _follows(call, body, known)


class OpenToolCall:
    """One tool call of a choice."""

    __slots__ = ("again", "block", "closing", "id", "name")

    def __init__(self, block: Block, ident: str, name: str) -> None:
        self.block = block
        self.id = ident
        self.name = name
        self.again = ""
        """A name that came again after complete arguments, without an id: another call may begin here."""
        self.closing = False
        """Its arguments end in a bracket: another id under the same index may be another call."""


class ChatCodec(Codec):
    """Reads chunks, ends streams; a spliced answer is rewritten to the identity that the client knows."""

    __slots__ = (
        "_ask",
        "_asked",
        "_counted",
        "_named",
        "_offset",
        "_resent",
        "_sides",
        "_spent",
        "_spliced",
        "_template",
    )
    strips = divides = True

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._named = False
        self._sides: dict[int, Side] = {}
        self._spliced = self._counted = False
        self._offset = 0
        self._spent = self._resent = 0
        self._asked: int | None = None
        self._template = Template()

    # reading ---------------------------------------------------------------------------------------------
    @property
    def quick(self) -> Callable[[bytes], Piece | None] | None:
        return None if self._spliced else self._template.match

    @property
    def alike(self) -> Template | None:
        return None if self._spliced else self._template

    def read(self, event: Event) -> Sequence[Delta]:
        data = event.data
        if data is None:
            return _NOTHING
        piece = self._template.match(event.raw)
        if piece is not None:
            self.again = True
            return (piece,)
        self.again = False
        body = event.json
        if type(body) is dict and (body.get("error") or event.name == "error"):
            return (_fault(body),)
        event.unname()
        if type(body) is not dict:
            return (Done(),) if data.strip() == b"[DONE]" else (Malformed("not a JSON object", event.unreadable),)
        choices = body.get("choices")
        if type(choices) is not list:
            return _choiceless(event, body)
        deltas: list[Delta] = []
        if not self._named:
            fields = {name: body[name] for name in HEAD if body.get(name)}
            self._named = bool(choices)
            if fields:
                deltas.append(Head(fields))
        changed = False
        for position, choice in enumerate(choices):
            if type(choice) is not dict:
                return (Malformed("a choice is not an object", True),)
            index = choice.get("index")
            if type(index) is not int:
                index = choice["index"] = position
                changed = True
            side = self._sides.get(index)
            if side is None:
                if not 0 <= index < MOST:
                    return (Malformed("a choice out of range", True),)
                side = self._sides[index] = Side(index)
                deltas.append(Open(side.text, TEXT))
            delta = choice.get("delta")
            if type(delta) is not dict:
                if delta is not None and delta != "":
                    return (Malformed("a delta is not an object", True),)
                # A final chunk may hold the whole message again, or nothing.
                message = choice.pop("message", None)
                delta = message if type(message) is dict and not side.spoken else {}
                choice["delta"] = delta
                changed = True
            try:
                changed |= self._delta(side, delta, deltas)
            except Misshapen as why:
                return (Malformed(str(why), True),)
            reason = choice.get("finish_reason")
            if type(reason) is str and unsaid(reason):
                choice["finish_reason"] = reason = None
                changed = True
            if reason:
                if type(reason) is not str:  # SGLang's own form is an object
                    reason = reason.get("type") if type(reason) is dict else None
                    reason = choice["finish_reason"] = _str(reason) or "stop"
                    changed = True
                if reason in FAULT_REASONS or choice.get("error"):
                    return (_fault({**body, "error": choice.get("error")}, reason),)
                deltas.append(Finish(index, reason, details(choice)))
        usage = body.get("usage")
        if usage is None and "x_groq" in body and type(body["x_groq"]) is dict:
            if body["x_groq"].get("error"):
                return (_fault({"error": {"message": str(body["x_groq"]["error"]), "code": "x_groq"}}),)
            usage = body["x_groq"].get("usage")
        if type(usage) is dict:
            deltas.append(Usage(summed(usage, self._spent, self._asked, self._resent) if self._spliced else usage))
        if changed:
            event.rewrite(body)
        elif len(deltas) == 1 and type(deltas[0]) is Piece and deltas[0].channel is not TOOL and not event.name:
            self._template.learn(event.raw, deltas[0])
        return deltas

    def _delta(self, side: Side, delta: dict[str, Any], deltas: list[Delta]) -> bool:
        """Read the members of one choice. True where one had to be repaired."""
        changed = reasoned = False
        for name, value in delta.items():
            if not value or name in SILENT:
                continue
            side.spoken = True
            if name == "content":
                if type(value) is str:
                    deltas.append(Piece(side.text, TEXT, value))
                elif type(value) is list:
                    _parts(side, value, deltas)
                else:
                    raise Misshapen("content is no text")
            elif name in REASONING_KEYS:
                if type(value) is str and not reasoned:
                    reasoned = True
                    deltas.append(Piece(side.reasoning, REASONING, value))
                elif type(value) in NUMBERS:
                    raise Misshapen("reasoning is no text")
            elif name == "reasoning_details":
                if not any(type(delta.get(key)) is str and delta[key] for key in REASONING_KEYS):
                    deltas.append(Piece(side.reasoning, REASONING, _details(value)))
            elif name in TYPES and type(value) is not TYPES[name]:
                raise Misshapen(f"{name} has another type")
            elif name == "tool_calls":
                changed |= self._calls(side, value, deltas)
            elif name == "function_call":
                _function_call(side, value, deltas)
            elif name == "refusal":
                deltas.append(Piece(side.refusal, REFUSAL, value))
            elif name == "audio" and type(value) is dict and type(value.get("transcript")) is str:
                deltas.append(Unknown("audio"))
                deltas.append(Piece((side.text[0], "audio"), TEXT, value["transcript"]))
            else:
                deltas.append(Unknown(name))
        return changed

    def _calls(self, side: Side, calls: list[Any], deltas: list[Delta]) -> bool:
        changed = False
        for call in calls:
            if type(call) is not dict:
                raise Misshapen("a tool call is not an object")
            function, custom = call.get("function"), call.get("custom")
            body: dict[str, Any] = function if type(function) is dict else custom if type(custom) is dict else {}
            if not body and (function or custom):
                raise Misshapen("a function is not an object")
            arguments = body.get("arguments", body.get("input"))
            if type(arguments) is dict:  # Ollama's own form; every client wants a string
                arguments = body["arguments"] = orjson.dumps(arguments).decode()
                changed = True
            elif arguments and type(arguments) is not str:
                raise Misshapen("arguments are no text")
            given = call.get("index")
            key = given if type(given) is int else None
            known, number, repaired = side.calls_at(key, call, body)
            changed |= repaired
            if number != given:
                call["index"] = number
                changed = True
            name = _str(body.get("name"))
            if known is None:
                ident = _str(call.get("id"))
                if not 0 <= number < MOST:
                    deltas.append(Unknown("tool_calls"))
                    continue
                if arguments and not (ident or name) and (side.calls or len(self._sides) > max(1, self._ask.choices)):
                    raise Misshapen("a piece of a tool call that never began")
                block = (side.text[0], f"tool:{number + self._offset}")
                known = side.begin(key, number, OpenToolCall(block, ident, name))
                fields = {"id": ident, "index": number + self._offset, "free": body is custom}
                deltas.append(Open(block, TOOL, name, fields))
            elif name and not known.name:
                known.name = name
                deltas.append(Open(known.block, TOOL, name))
            text = _str(arguments)
            if text:
                known.closing = text.rstrip().endswith(("}", "]"))
            deltas.append(Piece(known.block, TOOL, text))
        return changed

    # writing ---------------------------------------------------------------------------------------------
    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        if not self._spliced or event.data is None:
            return event.raw
        body = event.json
        return event.raw if type(body) is not dict else self._joined(body)

    def splice(self, transcript: Transcript) -> None:
        self.bind(transcript)
        self._spliced = self._named = True
        self._offset = sum(s.channel is TOOL for s in transcript.shapes.values())
        self._spent, self._asked, self._resent = earlier_usage(transcript)

    def only(self, event: Event, deltas: Sequence[Delta], wanted: Sequence[Delta | None]) -> Event | None:
        part = event.copy()
        body = part.json
        if type(body) is not dict or type(body.get("choices")) is not list:
            return None
        said = Said(deltas, wanted)
        try:
            left = [one for one in body["choices"] if one["index"] in said.choices and _only(one, said)]
        except Lost:
            return None
        body.pop("usage", None)
        part.rewrite({**body, "choices": left})
        return part

    def _shorten(self, body: Any, chars: int) -> None:
        for choice in body["choices"]:
            delta = choice["delta"]
            content = delta.get("content")
            if type(content) is str:
                delta["content"] = content[chars:]
            elif type(content) is list:
                for part in content:
                    if type(part) is dict and part.get("type") == "text":
                        text = _str(part.get("text"))
                        part["text"] = text[chars:]
                        chars = max(0, chars - len(text))
                delta["content"] = [part for part in content if part.get("text") != ""]

    def lead_in(self, event: Event, deltas: Sequence[Delta], lead: str) -> Sequence[Delta]:
        body = event.json
        for choice in body["choices"]:
            choice["delta"]["content"] = lead + _str(choice["delta"].get("content"))
        event.rewrite(body)
        return [Piece((0, "text"), TEXT, lead), *deltas]

    def _lead(self, body: Any, text: str) -> None:
        for choice in body["choices"]:
            delta = choice["delta"]
            content = delta.get("content")
            if type(content) is list and content:
                delta["content"] = [{"type": "text", "text": text}, *content]
            elif type(content) is str and content:
                delta["content"] = text + content

    def _joined(self, body: dict[str, Any]) -> bytes:
        """A chunk of a later upstream under the first one's name, without a second role; b"" where nothing is left."""
        usage = body.get("usage")
        left = bool(usage)
        if type(usage) is dict:
            body["usage"] = summed(usage, self._spent, self._asked, self._resent)
        for choice in body.get("choices") or ():
            delta = choice["delta"]
            delta.pop("role", None)
            if delta.get("content") in ("", []):
                del delta["content"]
            calls = delta.get("tool_calls")
            for call in calls if type(calls) is list else ():
                if type(call) is dict:
                    call["index"] += self._offset
            left |= bool(delta) or choice.get("finish_reason") is not None
        if usage and not body.get("choices"):
            left, self._counted = not self._counted, True  # one usage at the end of one answer
        if not left:
            return b""
        head = self.shown.head if self.shown is not None else {}
        for name in HEAD:
            if name in head:
                body[name] = head[name]
            elif name != "object":
                body.pop(name, None)
        return encode(orjson.dumps(body))

    def without(self, event: Event, choices: frozenset[int]) -> bytes:
        body = event.json
        if type(body) is not dict or type(body.get("choices")) is not list:
            return event.raw
        left = [choice for choice in body["choices"] if choice["index"] not in choices]
        if len(left) == len(body["choices"]):
            return event.raw
        return encode(orjson.dumps({**body, "choices": left})) if left or body.get("usage") else b""

    def quieten(self, event: Event, choice: int, marker: Mapping[str, Any]) -> str:
        body = event.json
        side = self._sides[choice]
        reason = "tool_calls" if side.calls else "function_call" if side.function else "stop"
        for one in body["choices"]:
            if one["index"] == choice:
                one["finish_reason"] = reason
                for name in DETAILS:
                    one.pop(name, None)
        body["streamfuse"] = dict(marker)
        event.rewrite(body)
        return reason

    # ending ----------------------------------------------------------------------------------------------
    def close_choice(self, transcript: Transcript, choice: int, ending: Ending) -> bytes:
        return endings.close_choice(self._ask, transcript, choice, ending)

    def close(self, transcript: Transcript, ending: Ending) -> bytes:
        return endings.close(self._ask, transcript, ending)

    def fail(self, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None) -> bytes:
        return endings.fail(self._ask, transcript, failure, marker)

    def finish_missing(self, transcript: Transcript) -> bytes:
        return b"" if transcript.done else endings.DONE


def _follows(call: dict[str, Any], body: dict[str, Any], known: OpenToolCall) -> bool:
    """A fragment of a call that has begun says neither its id nor its name again: openai-python's accumulator joins
    what it gets. True where it did."""
    changed = False
    if known.id and call.get("id") == known.id:
        del call["id"]
        changed = True
    if known.name and body.get("name") == known.name:
        del body["name"]
        changed = True
    return changed


def _str(value: Any) -> str:
    return value if type(value) is str else ""


def _parts(side: Side, parts: list[Any], deltas: list[Delta]) -> None:
    """Mistral's content: a list of text and thinking parts."""
    for part in parts:
        kind = part.get("type") if type(part) is dict else None
        if type(part) is not dict or (kind == "text" and type(part.get("text")) in NUMBERS):
            raise Misshapen("a part of the content is no object, or holds no text")
        if kind == "text":
            deltas.append(Piece(side.text, TEXT, _str(part.get("text"))))
        elif kind == "thinking":
            thinking = part.get("thinking")
            if type(thinking) is list:
                thinking = "".join(_str(p.get("text")) for p in thinking if type(p) is dict)
            deltas.append(Piece(side.reasoning, REASONING, _str(thinking)))
        else:
            deltas.append(Unknown(f"content.{_str(kind)}"))


def _only(choice: dict[str, Any], said: Said) -> bool:
    """Leave in a choice what is wanted of it. The members are those of `ChatCodec._delta`, in its order. True where
    anything is left."""
    delta: dict[str, Any] = {}
    reasoning: list[Any] = []
    for name, value in choice["delta"].items():
        if not value or name in SILENT:
            delta[name] = value
            continue
        left: Any = value
        if name == "content" and type(value) is list:
            left = [part for part in value if _part_left(part, said)] or None
        elif name in REASONING_KEYS or name == "reasoning_details":
            if not reasoning and (name == "reasoning_details" or type(value) is str):
                reasoning.append(said.text(value))
            # One text under several names is one piece.
            whole = not reasoning or reasoning[0] == value or (reasoning[0] is not None and type(value) is not str)
            left = value if whole else reasoning[0]
        elif name == "tool_calls":
            left = [call for call in value if said.next() is not None] or None
        elif name in ("content", "refusal"):
            left = said.text(value)
            if left != value and "logprobs" in choice:
                choice["logprobs"] = None
        else:
            kept = said.next() is not None
            if name == "audio" and type(value) is dict and type(value.get("transcript")) is str:
                said.next()
            left = value if kept else None
        if left is not None:
            delta[name] = left
    choice["delta"] = delta
    choice["finish_reason"] = None
    return any(value and name not in SILENT for name, value in delta.items())


def _part_left(part: dict[str, Any], said: Said) -> bool:
    """Leave in one of Mistral's parts what is wanted of it."""
    left = said.next()
    if isinstance(left, Piece) and part.get("type") == "text":
        part["text"] = left.text
    return left is not None


def _details(details: Any) -> str:
    """OpenRouter's reasoning_details: text and summaries; encrypted ones say nothing."""
    if type(details) is not list:
        return ""
    return "".join(_str(d.get("text")) or _str(d.get("summary")) for d in details if type(d) is dict)


def _function_call(side: Side, call: dict[str, Any], deltas: list[Delta]) -> None:
    """The old form, `function_call`: one call, without an id."""
    side.function = True
    block = (side.text[0], "function_call")
    name = _str(call.get("name"))
    if name:
        deltas.append(Open(block, TOOL, name))
    deltas.append(Piece(block, TOOL, _str(call.get("arguments"))))


def _choiceless(event: Event, body: dict[str, Any]) -> Sequence[Delta]:
    """An object without a list of choices: usage alone, an error in another shape, or nothing of this wire."""
    if (verdict := base_resp(body)) is not None:
        return (Fault(verdict[0], verdict[1] or "The upstream ended with an error.", body),)
    if type(body.get("usage")) is dict:
        body["choices"] = []  # null or absent breaks openai-py's helper
        event.rewrite(body)
        return (Usage(body["usage"]),)
    if body.get("object") == "error" or type(body.get("detail")) is str or type(body.get("message")) is str:
        return (_fault(body),)
    if body.get("error_code") and type(body.get("error_msg")) is str:
        return (Fault(str(body["error_code"]), body["error_msg"], body),)
    # A chunk that has something, but nothing that could be its choices, has lost them.
    lost = body.get("object") == "chat.completion.chunk" and any(type(v) in (list, dict) and v for v in body.values())
    return (Malformed("no choices", lost or bool(body.get("choices"))),)


def _fault(body: Mapping[str, Any], reason: str | None = None) -> Fault:
    """Read an error inside a stream, in all the shapes that upstreams use."""
    error = body.get("error") or body
    if type(error) is not dict:
        return Fault(None, str(error), body)
    message = error.get("message") or error.get("detail") or body.get("message")
    code = error.get("code")
    if type(code) not in (int, str) or code == "":
        code = error.get("type") if type(error.get("type")) is str else None
    if code is None and error is body:
        code = reason
    return Fault(code, str(message) if message else f"The upstream ended with {reason or 'an error'}.", body)
