"""One streamed chat answer: events into deltas, with the repairs without which known clients break."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from ...framing.sse import encode
from ...framing.template import Template
from ...values.delta import Channel, Delta, Done, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from ...values.failures import Failure
from ..base import Ask, Codec, Ending, Misshapen
from ..said import Lost, Said
from ..server_cuts import DETAILS, details, unsaid
from ..usages import earlier_usage, summed
from . import endings
from .calls import MOST, Side, read_calls, read_function_call, str_of
from .faults import FAULT_REASONS, choiceless, read_fault
from .members import NUMBERS, REASONING_KEYS, SILENT, leave, read_parts, told_reasoning

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript

TEXT, REASONING, TOOL, REFUSAL = Channel.TEXT, Channel.REASONING, Channel.TOOL, Channel.REFUSAL

HEAD = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
TYPES = {"tool_calls": list, "function_call": dict, "refusal": str}
"""Members of a delta that carry output besides text, and their types."""
_NOTHING: tuple[Delta, ...] = ()


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
            return (read_fault(body),)
        if type(body) is not dict:
            event.unname()
            return (Done(),) if data.strip() == b"[DONE]" else (Malformed("not a JSON object", event.unreadable),)
        choices = body.get("choices")
        if type(choices) is not list:
            return choiceless(event, body)
        event.unname()
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
                    reason = choice["finish_reason"] = str_of(reason) or "stop"
                    changed = True
                if reason in FAULT_REASONS or choice.get("error"):
                    return (read_fault({**body, "error": choice.get("error")}, reason),)
                deltas.append(Finish(index, reason, details(choice)))
        usage = body.get("usage")
        if usage is None and "x_groq" in body and type(body["x_groq"]) is dict:
            if body["x_groq"].get("error"):
                return (read_fault({"error": {"message": str(body["x_groq"]["error"]), "code": "x_groq"}}),)
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
                    read_parts(side, value, deltas)
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
                    deltas.append(Piece(side.reasoning, REASONING, told_reasoning(value)))
            elif name in TYPES and type(value) is not TYPES[name]:
                raise Misshapen(f"{name} has another type")
            elif name == "tool_calls":
                changed |= read_calls(side, value, deltas, self._offset, len(self._sides) > max(1, self._ask.choices))
            elif name == "function_call":
                read_function_call(side, value, deltas)
            elif name == "refusal":
                deltas.append(Piece(side.refusal, REFUSAL, value))
            elif name == "audio" and type(value) is dict and type(value.get("transcript")) is str:
                deltas.append(Unknown("audio"))
                deltas.append(Piece((side.text[0], "audio"), TEXT, value["transcript"]))
            else:
                deltas.append(Unknown(name))
        return changed

    # writing ---------------------------------------------------------------------------------------------
    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        if not self._spliced or event.data is None:
            return event.raw
        body = event.json
        # What has no choices stands beside the answer and has nothing to be joined.
        return self._joined(body) if type(body) is dict and type(body.get("choices")) is list else event.raw

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
            left = [one for one in body["choices"] if one["index"] in said.choices and leave(one, said)]
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
                        text = str_of(part.get("text"))
                        part["text"] = text[chars:]
                        chars = max(0, chars - len(text))
                delta["content"] = [part for part in content if part.get("text") != ""]

    def lead_in(self, event: Event, deltas: Sequence[Delta], lead: str) -> Sequence[Delta]:
        body = event.json
        for choice in body["choices"]:
            choice["delta"]["content"] = lead + str_of(choice["delta"].get("content"))
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
