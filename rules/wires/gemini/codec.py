"""One streamed answer of Gemini: each event is a GenerateContentResponse with the next parts of its candidates.

Members: https://ai.google.dev/api/generate-content. A function call comes whole, or, where the request asked for
`streamFunctionCallArguments`, in pieces that say `willContinue`. A finish reason is no end by itself: some models write
`STOP` into every event, or into a first, empty one (a Gemini 3 model). Only the end of the body ends an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from ...framing.json_array import CLOSED, Element
from ...framing.varied import Varied
from ...values.delta import (
    Block,
    Channel,
    Close,
    Delta,
    Done,
    Fault,
    Finish,
    Head,
    Malformed,
    Open,
    Piece,
    Unknown,
    Usage,
    says,
)
from ...values.failures import Failure
from ..base import Ask, Codec, Ending, Misshapen
from ..said import Lost, Said
from . import ends
from .request import in_array

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript

HEAD: Final = ("modelVersion", "responseId", "createTime")
COUNT: Final = re.compile(rb'"\w*[tT]okenCount": ?(\d+)')
"""Members that grow from event to event."""
OTHER_PARTS: Final = (
    "inlineData", "fileData", "codeExecutionResult", "functionResponse", "toolCall", "toolResponse",
)  # fmt: skip
"""Parts that are passed on unread. What a program has printed is data, which no model repeats."""
CODE: Final = "executableCode"
MOST: Final = 128
"""Candidates at most; Google allows 8."""
_PLAIN: Final = ([Piece], [Piece, Usage])
_UNSAID: Final = frozenset({"", "FINISH_REASON_UNSPECIFIED"})


class Candidate:
    """What the upstream has sent of one candidate."""

    __slots__ = ("calls", "codes", "finished", "index", "open", "pending", "spoken", "text", "thought")

    def __init__(self, index: int, calls: int) -> None:
        self.index = index
        self.text: Block = (index, "text")
        self.thought: Block = (index, "thought")
        self.calls = calls
        self.codes = 0
        """Programs that the model wrote for Google to run."""
        self.open: Block | None = None
        """A call that comes in pieces and is not complete."""
        self.spoken = False
        """It has said something."""
        self.finished = False
        self.pending = ""
        """A finish reason that may be none: it came before any content, or after another one that was none."""


class GeminiCodec(Codec):
    """Reads events, ends streams, in both framings."""

    strips = divides = True
    final_finish = False  # some models write STOP into every event

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._array = in_array(ask)
        self._headed = False
        self._spliced = False
        self._candidates: dict[int, Candidate] = {}
        self._template = Varied(COUNT)
        self._first: Mapping[str, Any] | None = None
        """The usage of the answer that this one goes on with."""
        self._owed: dict[int, str] = {}
        """Finishes that were left out of a later answer's events, because only its end says which one is the last."""
        self._marker: Mapping[str, Any] | None = None
        self._early = False
        """A finish reason has come before the end: only the end of the body says which one is the last."""

    # reading -----------------------------------------------------------------------------------------------
    @property
    def quick(self) -> Callable[[bytes], Piece | None] | None:
        return None if self._spliced or self._array else self._template.match

    def read(self, event: Event) -> Sequence[Delta]:
        data = event.data
        if data is None:
            return ()
        if not self._array and (piece := self._template.match(event.raw)) is not None:
            self.again = True
            return (piece,)
        self.again = False
        if self._array and data == CLOSED:
            # A bracket ends the array and no answer: without its finish reasons the answer has broken off.
            broken = any(not (one.finished or one.pending) for one in self._candidates.values())
            return () if broken else (*self.ended(), Done())
        body = event.json
        if type(body) is list and len(body) == 1 and type(body[0]) is dict and body[0].get("error"):
            body = body[0]  # so the OpenAI-compatible API writes errors
        if type(body) is not dict:
            return (Malformed("not a JSON object", event.unreadable),)
        if body.get("error"):
            return (fault(body),)
        try:
            return self._response(event, body)
        except Misshapen as why:
            return (Malformed(str(why), True),)

    def _response(self, event: Event, body: dict[str, Any]) -> Sequence[Delta]:
        deltas: list[Delta] = []
        self._template.last = None
        if not self._headed:
            fields = {name: body[name] for name in HEAD if type(body.get(name)) is str}
            self._headed = bool(fields)
            if fields:
                deltas.append(Head(fields))
        candidates, usage = body.get("candidates"), body.get("usageMetadata")
        if candidates is not None and type(candidates) is not list:
            raise Misshapen("the candidates are no list")
        for position, given in enumerate(candidates or ()):
            if type(given) is not dict:
                raise Misshapen("a candidate is no object")
            index = given.get("index", position)
            if type(index) is not int or not 0 <= index < MOST:
                raise Misshapen("a candidate out of range")
            self._candidate(index, given, deltas)
        feedback = body.get("promptFeedback")
        if not candidates and type(feedback) is dict and type(feedback.get("blockReason")) is str:
            deltas.append(Finish(0, feedback["blockReason"]))  # the prompt was refused: that is the answer
        if type(usage) is dict:
            deltas.append(Usage(self._counts(usage) if self._spliced else usage))
        if not deltas and candidates is None and feedback is None and not any(name in body for name in HEAD):
            return (Unknown("event"),) if body else (Malformed("nothing of a response"),)
        if not self._array and deltas and [type(delta) for delta in deltas] in _PLAIN:
            first = deltas[0]
            # Events of the usual form differ in text and counts. The counts that are skipped are read at the end.
            if type(first) is Piece and first.text:
                self._template.learn(event.raw, first)
        return deltas

    def ended(self) -> Sequence[Delta]:
        pending = [(one.index, one.pending) for one in self._candidates.values() if one.pending]
        for one in self._candidates.values():
            one.pending = ""
        if self._spliced:
            self._owed |= pending
        return [Finish(index, reason) for index, reason in pending]

    def mark(self, event: Event, marker: Mapping[str, Any]) -> None:
        if event.data == CLOSED:
            self.mark_end(marker)
        else:
            super().mark(event, marker)

    def mark_end(self, marker: Mapping[str, Any]) -> None:
        self._marker = marker

    def _candidate(self, index: int, given: dict[str, Any], deltas: list[Delta]) -> None:
        candidate = self._candidates.get(index)
        if candidate is None:
            candidate = self._candidates[index] = Candidate(index, self._shown_calls(index))
        content = given.get("content")
        if content is not None and type(content) is not dict:
            raise Misshapen("the content is no object")
        parts = content.get("parts") if content else None
        if parts is not None and type(parts) is not list:
            raise Misshapen("the parts are no list")
        said: list[Delta] = []
        for part in parts or ():
            if type(part) is not dict:
                raise Misshapen("a part is no object")
            self._part(candidate, part, said)
        if any(map(says, said)):
            candidate.spoken = True
            self._early = self._early or bool(candidate.pending) or candidate.finished
            candidate.pending = ""
            if candidate.finished:
                # The finish was none: the answer goes on.
                deltas.append(Open(candidate.text, Channel.TEXT, fields={"again": True}))
                candidate.finished = False
        deltas += said
        reason = given.get("finishReason")
        if reason is not None and type(reason) is not str:
            raise Misshapen("the finish reason is no word")
        if reason == "STOP" and (self._early or not candidate.spoken):
            candidate.pending = reason
            deltas += [] if said else [Piece(candidate.text, Channel.TEXT, "")]
        elif reason and reason not in _UNSAID:
            candidate.finished = True
            deltas.append(Finish(index, reason))
        elif not said:
            deltas.append(Piece(candidate.text, Channel.TEXT, ""))

    def _shown_calls(self, index: int) -> int:
        shapes = self.shown.shapes.values() if self.shown is not None and self._spliced else ()
        return sum(shape.block[0] == index and shape.block[1].startswith("call:") for shape in shapes)

    def _part(self, candidate: Candidate, part: dict[str, Any], deltas: list[Delta]) -> None:
        if "functionCall" in part:
            self._call(candidate, part["functionCall"], deltas)
        elif "text" in part:
            text = part["text"]
            if type(text) is not str:
                raise Misshapen("a text is no text")
            if part.get("thought") is True:
                deltas.append(Piece(candidate.thought, Channel.REASONING, text))
            else:
                deltas.append(Piece(candidate.text, Channel.TEXT, text))
        elif CODE in part:
            _program(candidate, part[CODE], deltas)
        elif other := next((name for name in OTHER_PARTS if name in part), None):
            deltas.append(Unknown(other))
        elif part.keys() - {"thoughtSignature", "thought"}:
            deltas.append(Unknown("part"))
        else:
            deltas.append(Piece(candidate.text, Channel.TEXT, ""))

    def _call(self, candidate: Candidate, call: Any, deltas: list[Delta]) -> None:
        if type(call) is not dict:
            raise Misshapen("a function call is no object")
        arguments, pieces = call.get("args"), call.get("partialArgs")
        if arguments is not None and type(arguments) is not dict:
            raise Misshapen("arguments are no object")
        if pieces is not None and type(pieces) is not list:
            raise Misshapen("partial arguments are no list")
        continues = call.get("willContinue") is True
        block = candidate.open
        text = ""
        if block is None:
            block = (candidate.index, f"call:{candidate.calls}")
            candidate.calls += 1
            name = call.get("name")
            deltas.append(Open(block, Channel.TOOL, name if type(name) is str else "", {"id": call.get("id")}))
            if not continues and pieces is None:
                deltas += [Piece(block, Channel.TOOL, orjson.dumps(arguments or {}).decode()), Close(block)]
                return
            text = '{"streamed":"'  # one JSON string that stays open until the call is complete
        for piece in pieces or ():
            value = piece.get("stringValue") if type(piece) is dict else None
            text += orjson.dumps(value if type(value) is str else orjson.dumps(piece).decode()).decode()[1:-1]
        if arguments:
            text += orjson.dumps(orjson.dumps(arguments).decode()).decode()[1:-1]
        deltas.append(Piece(block, Channel.TOOL, text if continues else text + '"}'))
        candidate.open = block
        if not continues:
            candidate.open = None
            deltas.append(Close(block))

    # writing -----------------------------------------------------------------------------------------------
    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        if event.data is None or not event.raw:
            return event.raw
        if not deltas and event.data == CLOSED:
            return b""  # the error that follows stands before the bracket
        if event.data == CLOSED and self.shown is not None:
            return self._finishes(self.shown) + event.raw
        if self._spliced and self.shown is not None and type(event.json) is dict:
            body = event.json
            body.update({name: self.shown.head[name] for name in HEAD if name in self.shown.head and name in body})
            usage = body.get("usageMetadata")
            if type(usage) is dict:
                body["usageMetadata"] = self._counts(usage)
            told = {delta.choice for delta in deltas if type(delta) is Finish}
            for at, one in enumerate(body.get("candidates") or ()):
                if one.get("finishReason") == "STOP" and one.get("index", at) not in told:
                    del one["finishReason"]
            event.rewrite(body)
        if self._array and self.shown is not None and isinstance(event, Element):
            opening = b"[" in event.lead
            count = self.shown.memory.get(ends.ELEMENTS, 0)
            if opening != (count == 0):
                event.led(b",\r\n" if count else b"[")
            self.shown.memory[ends.ELEMENTS] = count + 1
        return event.raw

    def _counts(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        """The usage of both answers, as far as they have come."""
        first = self._first or {}
        if type(first.get("candidatesTokenCount")) is int:
            return ends.both(first, usage) or dict(usage)
        return ends.summed(usage, self.shown.earlier if self.shown is not None else 0)

    def unread(self) -> None:
        if self.shown is not None:
            self._count(self.shown)  # the newest counts may be those of the event that is not sent
        if self._array and self.shown is not None:
            self.shown.memory[ends.ELEMENTS] = self.shown.memory.get(ends.ELEMENTS, 1) - 1

    def splice(self, transcript: Transcript) -> None:
        self.bind(transcript)
        self._spliced = self._headed = bool(transcript.head) or transcript.shown > 0
        self._first = transcript.usage
        self._early = self._spliced  # the client gets one finish, at the end of the body

    def only(self, event: Event, deltas: Sequence[Delta], wanted: Sequence[Delta | None]) -> Event | None:
        part = event.copy()
        body = part.json
        if type(body) is not dict or type(body.get("candidates")) is not list:
            return None
        said = Said(deltas, wanted)
        try:
            body["candidates"] = [
                {**left, "index": index} if "index" in given else left
                for at, given in enumerate(body["candidates"])
                if (index := given.get("index", at)) in said.choices and (left := _only(given, index, said))
            ]
        except Lost:
            return None
        part.rewrite(body)
        return part

    def _shorten(self, body: Any, chars: int) -> None:
        for candidate in body["candidates"]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                if type(part.get("text")) is str and part.get("thought") is not True:
                    size = len(part["text"])
                    part["text"] = part["text"][chars:]
                    chars = max(0, chars - size)

    def _lead(self, body: Any, text: str) -> None:
        for candidate in body["candidates"]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                if part.get("text") and part.get("thought") is not True:
                    part["text"] = text + part["text"]
                    return

    def without(self, event: Event, choices: frozenset[int]) -> bytes:
        body = event.json
        given = body.get("candidates") if type(body) is dict else None
        if type(given) is not list:
            return event.raw
        left = [one for at, one in enumerate(given) if one.get("index", at) not in choices]
        if len(left) == len(given):
            return event.raw
        if not left:
            return b""
        body["candidates"] = left
        event.rewrite(body)
        return event.raw

    def quieten(self, event: Event, choice: int, marker: Mapping[str, Any]) -> str:
        body = event.json
        for at, candidate in enumerate(body["candidates"]):
            if candidate.get("index", at) == choice:
                candidate["finishReason"] = "STOP"
                candidate.pop("finishMessage", None)
        body["streamfuse"] = dict(marker)
        event.rewrite(body)
        return "STOP"

    # ending ------------------------------------------------------------------------------------------------
    def _count(self, transcript: Transcript) -> None:
        """Note the newest counts, which events that were read without a parser have told."""
        body = None if self._template.last is None else loads_event(self._template.last)
        if type(body) is dict and type(body.get("usageMetadata")) is dict:
            transcript.note(Usage(body["usageMetadata"]))
        self._template.last = None

    def close_choice(self, transcript: Transcript, choice: int, ending: Ending) -> bytes:
        return ends.close_choice(self._ask, transcript, choice, ending)

    def close(self, transcript: Transcript, ending: Ending) -> bytes:
        if not self._spliced:
            self._count(transcript)
        return ends.close(self._ask, transcript, ending)

    def fail(self, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None) -> bytes:
        return ends.fail(self._ask, transcript, failure, marker)

    def finish_missing(self, transcript: Transcript) -> bytes:
        return b"" if transcript.done else self._finishes(transcript) + ends.bracket(self._ask, transcript)

    def _finishes(self, transcript: Transcript) -> bytes:
        """The finishes that were left out before."""
        owed, self._owed = self._owed, {}
        told = [ends.finish(self._ask, transcript, index, reason, self._marker) for index, reason in owed.items()]
        return b"".join(told)

    def heartbeat(self, started: bool) -> bytes:
        """An empty line between two events. A comment makes google-genai for Python fail: it parses every line."""
        return b"\n"


def _program(candidate: Candidate, given: Any, deltas: list[Delta]) -> None:
    """Code that Google runs itself is watched as the arguments of a call: it is code, for which the bars of text are
    too low, and the same program run again and again is a call made again and again."""
    code = given.get("code") if type(given) is dict else None
    if type(code) is not str:
        deltas.append(Unknown(CODE))
        return
    block = (candidate.index, f"code:{candidate.codes}")
    candidate.codes += 1
    text = orjson.dumps({"code": code}).decode()
    deltas += [Open(block, Channel.TOOL, CODE), Piece(block, Channel.TOOL, text), Close(block)]


def _only(candidate: dict[str, Any], index: int, said: Said) -> dict[str, Any] | None:
    """A candidate with the parts that are wanted; None where none is left."""
    content = candidate.get("content") or {}
    parts: list[Any] = []
    given = content.get("parts") or ()
    for part in given:
        left = said.next()
        if left is None:
            continue
        if isinstance(left, Piece) and "text" in part and part["text"] != left.text:
            # The signature of a thought holds for all of it.
            part = {name: value for name, value in part.items() if name != "thoughtSignature"} | {"text": left.text}
        parts.append(part)
    if not given:
        said.skip_empty((index, "text"))
    others = {name: value for name, value in candidate.items() if name not in ("finishReason", "finishMessage")}
    return {**others, "content": {**content, "parts": parts}} if parts else None


def loads_event(raw: bytes) -> Any:
    """The object in an event's bytes."""
    try:
        return orjson.loads(raw[raw.index(b"{") :])
    except ValueError:
        return None


def fault(body: Mapping[str, Any]) -> Fault:
    """Google's error: `code` is an HTTP status, `status` a word."""
    error = body["error"]
    if type(error) is not dict:
        return Fault(None, str(error), body)
    word, code = error.get("status"), error.get("code")
    message = error.get("message") or body.get("message")
    return Fault(code if type(code) is int else word if type(word) is str else None,
                 str(message) if message else str(word or "The upstream failed."), body)  # fmt: skip
