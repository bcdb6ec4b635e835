"""OpenAI's legacy /completions: chunks of text, one finish for each index, [DONE].

Text only. `n` and arrays of prompts multiply the choices (index = prompt * n + j), each with the one block "text".
Grammar: docs/sources.md. The error shape is that of the chat wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from ..framing.sse import Event, encode
from ..framing.template import Template
from ..values.brief import Brief
from ..values.delta import Channel, Close, Delta, Done, Fault, Finish, Head, Malformed, Piece, Unknown, Usage
from ..values.failures import Failure
from .base import Ask, Change, Codec, Ending, Json, Wire
from .error_shapes import openai_error, openai_error_object, sent_error
from .overlap import prefill
from .said import Lost, Said
from .second_request import heal_limits, less, resumable, warmed
from .server_cuts import DETAILS, details, unsaid
from .usages import earlier_usage, summed

if TYPE_CHECKING:
    from ..values.transcript import Transcript

PROMPT_LIMIT: Final = 64 << 10
"""Characters of the request's text a monitor may read, newest last."""
KEY: Final = "text"
IDENTITY: Final = ("id", "created", "model", "system_fingerprint")
FINISHES: Final = frozenset({"stop", "length", "content_filter"})
DONE: Final = encode(b"[DONE]")


class CompletionsCodec(Codec):
    """One completion, of one or several choices."""

    strips = divides = True

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._headed = False
        self._spliced = self._counted = False
        self._spent = self._resent = 0
        self._asked: int | None = None
        self._template = Template()
        self._gone: frozenset[int] = frozenset()
        """Choices whose pieces are left out."""

    # reading -----------------------------------------------------------------------------------------------
    @property
    def quick(self) -> Callable[[bytes], Piece | None] | None:
        return None if self._spliced else self._template.match

    @property
    def alike(self) -> Template | None:
        return None if self._spliced else self._template

    def read(self, event: Event) -> Sequence[Delta]:
        raw = event.data
        if raw is None:
            return []
        piece = self._template.match(event.raw)
        if piece is not None:
            self.again = True
            return [piece]
        self.again = False
        data = event.json
        if type(data) is dict and (data.get("error") or event.name == "error"):
            return [_fault(data)]
        if type(data) is not dict:
            event.unname()
            return [Done()] if raw.strip() == b"[DONE]" else [Malformed("not an object", event.unreadable)]
        choices = data.get("choices")
        if type(choices) is not list:
            if data.get("object") == "error":
                return [_fault(data)]
            if choices or any(map(_holds_choices, data.values())):
                return [Malformed("no choices", True)]
            # Anything else that is whole stands beside the answer (timings, citations) and passes as it came.
            return [] if data.keys() - {"type", "choices"} and "choices" not in data else [Malformed("no choices")]
        event.unname()
        found: list[Delta] = []
        if not self._headed:
            self._headed = True
            found.append(Head({key: data[key] for key in IDENTITY if data.get(key) is not None}))
        for choice in choices:
            if type(choice) is not dict or type(choice.get("index", 0)) is not int:
                return [Malformed("a choice that is none", True)]
            index = choice.get("index", 0)
            text = choice.get("text")
            if text and type(text) is not str:
                return [Malformed("text is no text", True)]
            reason = choice.get("finish_reason")
            if type(reason) is str and unsaid(reason):
                reason = None
            elif reason and type(reason) is dict:  # SGLang's own form
                reason = reason.get("type")
            if type(text) is str and (text or reason is None):
                found.append(Piece((index, KEY), Channel.TEXT, text))
            if reason and type(reason) is str:
                found.append(Close((index, KEY)))
                found.append(Finish(index, reason, details(choice)))
        if type(data.get("usage")) is dict:
            usage = data["usage"]
            found.append(Usage(summed(usage, self._spent, self._asked, self._resent) if self._spliced else usage))
        if len(found) == 1 and isinstance(found[0], Piece) and found[0].text:
            self._template.learn(event.raw, found[0])
        return found or [Unknown("chunk")]

    # writing -----------------------------------------------------------------------------------------------
    def write(self, event: Event, deltas: Sequence[Delta]) -> bytes:
        if not self._spliced or self.shown is None:
            return event.raw
        data = event.json
        if type(data) is not dict or "choices" not in data:
            return event.raw
        head = self.shown.head
        known: dict[str, Any] = {key: head[key] for key in IDENTITY if key in head}
        left = self._left(data["choices"])
        usage = data.get("usage")
        if type(usage) is dict and not left:
            if self._counted:
                return b""  # one usage at the end of one answer
            self._counted = True
        if type(usage) is dict:
            known["usage"] = summed(usage, self._spent, self._asked, self._resent)
        elif all(not choice.get("text") and choice.get("finish_reason") is None for choice in left):
            return b""
        return encode(orjson.dumps({**data, **known, "choices": left}))

    def only(self, event: Event, deltas: Sequence[Delta], wanted: Sequence[Delta | None]) -> Event | None:
        part = event.copy()
        body = part.json
        said = Said(deltas, wanted)
        try:
            choices = [
                {**choice, "text": left, "logprobs": None, "finish_reason": None}
                for choice in body["choices"]
                if choice.get("index", 0) in said.choices and (left := said.text(choice.get("text") or "")) is not None
            ]
        except Lost:
            return None
        part.rewrite({**{name: value for name, value in body.items() if name != "usage"}, "choices": choices})
        return part

    def _shorten(self, body: Any, chars: int) -> None:
        for choice in body["choices"]:
            if type(choice.get("text")) is str:
                choice["text"] = choice["text"][chars:]

    def _lead(self, body: Any, text: str) -> None:
        for choice in body["choices"]:
            if type(choice.get("text")) is str and choice["text"]:
                choice["text"] = text + choice["text"]

    def _left(self, choices: list[Any]) -> list[Any]:
        return [choice for choice in choices if type(choice) is dict and choice.get("index", 0) not in self._gone]

    def without(self, event: Event, choices: frozenset[int]) -> bytes:
        data = event.json
        if type(data) is not dict or type(data.get("choices")) is not list:
            return event.raw
        self._gone = choices
        left = self._left(data["choices"])
        if len(left) == len(data["choices"]):
            return event.raw
        return encode(orjson.dumps({**data, "choices": left})) if left or data.get("usage") else b""

    def splice(self, transcript: Transcript) -> None:
        super().splice(transcript)
        self._spliced = bool(transcript.head)
        self._spent, self._asked, self._resent = earlier_usage(transcript)

    def quieten(self, event: Event, choice: int, marker: Mapping[str, Any]) -> str:
        body = event.json
        for one in body["choices"]:
            if one.get("index", 0) == choice:
                one["finish_reason"] = "stop"
                for name in DETAILS:
                    one.pop(name, None)
        body["streamfuse"] = dict(marker)
        event.rewrite(body)
        return "stop"

    # ending ------------------------------------------------------------------------------------------------
    def _chunk(self, transcript: Transcript, choices: list[dict[str, Any]], **more: Any) -> bytes:
        head = {"id": "cmpl-streamfuse", "created": 0, "model": self._ask.model, **transcript.head}
        known = {key: head[key] for key in IDENTITY if key in head}
        return encode(orjson.dumps({**known, "object": "text_completion", "choices": choices, **more}))

    def close_choice(self, transcript: Transcript, choice: int, ending: Ending) -> bytes:
        out = []
        if ending.notice:
            text = f"\n\n{ending.notice}" if transcript.visible(choice) else ending.notice
            out.append(self._chunk(transcript, [_choice(choice, text, None)]))
        reason = ending.finish if ending.finish in FINISHES else "stop"
        marker = {"streamfuse": dict(ending.marker)} if ending.marker else {}
        out.append(self._chunk(transcript, [_choice(choice, "", reason)], **marker))
        return b"".join(out)

    def close(self, transcript: Transcript, ending: Ending) -> bytes:
        if transcript.done or transcript.fault:
            return b""
        choices = transcript.unfinished or ([] if transcript.finished else [0])
        return b"".join([*(self.close_choice(transcript, choice, ending) for choice in choices), DONE])

    def fail(self, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None) -> bytes:
        if transcript.done or transcript.fault:
            return b""
        more = {"streamfuse": dict(marker)} if marker else {}
        choices = [_choice(choice, "", "error") for choice in transcript.unfinished]
        error = openai_error_object(failure)
        _, beside = sent_error(failure)
        # Once without choices, as on the chat wire: the AI SDK takes whatever has some for a chunk.
        told = encode(orjson.dumps({**beside, "error": error}))
        return told + self._chunk(transcript, choices, error=error, **more) + DONE

    def finish_missing(self, transcript: Transcript) -> bytes:
        return b"" if transcript.done or transcript.unfinished or not transcript.finished else DONE


def _choice(index: int, text: str, reason: str | None) -> dict[str, Any]:
    return {"index": index, "text": text, "logprobs": None, "finish_reason": reason}


def _holds_choices(value: object) -> bool:
    """Is this a list of choices under a damaged name?"""
    if type(value) is not list:
        return False
    return any(type(one) is dict and ("finish_reason" in one or one.keys() >= {"index", "text"}) for one in value)


def _fault(data: Mapping[str, Any]) -> Fault:
    error = data.get("error") or data
    if not isinstance(error, dict):
        return Fault(None, str(error), data)
    return Fault(error.get("code") or error.get("type"), str(error.get("message") or ""), data)


def _prompts(body: Json) -> list[str]:
    """The prompts as text; token arrays count as prompts without text."""
    prompt = body.get("prompt")
    if not isinstance(prompt, list):
        return [prompt] if isinstance(prompt, str) else [""]
    if prompt and all(isinstance(token, int) for token in prompt):
        return [""]
    return [item if isinstance(item, str) else "" for item in prompt] or [""]


class OpenAICompletions(Wire):
    """POST /completions."""

    name = "openai_completions"
    operation = "text_completion"
    thinks_in_text = True

    def matches(self, path: str) -> bool:
        return path == "/completions"

    def ask(self, body: Json, call: str = "") -> Ask:
        options = body.get("stream_options")
        count = body.get("n")
        return Ask(
            model=str(body.get("model") or ""),
            streaming=body.get("stream") is True,
            wants_usage=isinstance(options, dict) and options.get("include_usage") is True,
            wants_json=bool(body.get("response_format")),
            choices=len(_prompts(body)) * (count if isinstance(count, int) and count > 0 else 1),
            body=body,
            brief=Brief(lambda: "\n".join(_prompts(body))[-PROMPT_LIMIT:]),
        )

    def codec(self, ask: Ask) -> Codec:
        return CompletionsCodec(ask)

    def error(self, failure: Failure) -> tuple[int, bytes]:
        return openai_error(failure)

    # whole JSON bodies -------------------------------------------------------------------------------------
    def whole(self, body: Json) -> Sequence[Delta]:
        read = CompletionsCodec(Ask("", False)).read(Event(b"", "", orjson.dumps(body)))
        if not read:
            return [Malformed("no choices")]
        return read if any(type(delta) in (Fault, Malformed) for delta in read) else [*read, Done()]

    def trim(self, body: Json, keep: Mapping[tuple[int, str], int], ending: Ending) -> Json:
        choices = []
        cut = {index for index, _ in keep}
        for choice in body.get("choices") or ():
            index = choice.get("index", 0)
            if index not in cut:
                choices.append(choice)
                continue
            text = str(choice.get("text") or "")[: keep.get((index, KEY))]
            if ending.notice:
                text = f"{text}\n\n{ending.notice}" if text else ending.notice
            reason = ending.finish if ending.finish in FINISHES else "stop"
            choices.append({**choice, "text": text, "logprobs": None, "finish_reason": reason})
        marker = {"streamfuse": dict(ending.marker)} if ending.marker else {}
        return {**body, "choices": choices, **marker}

    def to_events(self, ask: Ask, body: Json) -> bytes:
        head = {"id": "cmpl-streamfuse", "created": 0, "model": ask.model, **body, "object": "text_completion"}
        usage = head.pop("usage", None)
        out = [encode(orjson.dumps({**head, "choices": [choice]})) for choice in body.get("choices") or ()]
        if ask.wants_usage and usage:
            out.append(encode(orjson.dumps({**head, "choices": [], "usage": usage})))
        return b"".join([*out, DONE])

    def gather(self, ask: Ask, events: Sequence[Event]) -> Json | None:
        body: dict[str, Any] = {}
        choices: dict[int, dict[str, Any]] = {}
        texts: dict[int, list[str]] = {}
        done = any(event.data is not None and event.data.strip() == b"[DONE]" for event in events)
        for event in events:
            data = event.json
            if not isinstance(data, dict):
                continue
            if data.get("error"):
                return None
            body |= {key: value for key, value in data.items() if key != "choices" and value is not None}
            given = data.get("choices")
            for choice in given if isinstance(given, list) else ():
                index = choice.get("index", 0) if isinstance(choice, dict) else None
                if type(index) is not int:
                    return None
                whole = choices.setdefault(index, _choice(index, "", None))
                texts.setdefault(index, []).append(str(choice.get("text") or ""))
                whole.update({key: value for key, value in choice.items() if key != "text" and value is not None})
        for choice in choices.values():
            reason = choice["finish_reason"]
            if not reason or (type(reason) is str and unsaid(reason)):
                choice["finish_reason"] = "stop" if done else None
        if not choices or any(choice["finish_reason"] is None for choice in choices.values()):
            return None
        for index, parts in texts.items():
            choices[index]["text"] = "".join(parts)
        return {**body, "choices": [choices[index] for index in sorted(choices)]}

    # history -----------------------------------------------------------------------------------------------
    def resume(self, ask: Ask, transcript: Transcript, style: str) -> Json | None:
        """The shown text behind the prompt, in any style: for one choice of one text prompt, without echo."""
        body = ask.body
        if not style or style == "none" or not _open_ended(ask) or not resumable(transcript):
            return None
        return {
            **body,
            **less(body, transcript, "max_tokens"),
            "prompt": body["prompt"] + prefill(transcript.text(tagged=True)),
        }

    def heal(self, ask: Ask, change: Change) -> tuple[Json, Sequence[str]] | None:
        """The kept text behind the prompt. There is no thinking to end, and there are no turns for a note."""
        limits = heal_limits(ask.body, change.spent, "max_tokens")
        if change.thinking or change.note or limits is None or not _open_ended(ask):
            return None
        body: dict[str, Any] = {**ask.body, **limits}
        changed = warmed(body, change.hottest)
        return {**body, "prompt": body["prompt"] + change.kept}, changed


def _open_ended(ask: Ask) -> bool:
    """May another call go on with the answer? One choice of one text prompt, without echo, logprobs or a form."""
    body = ask.body
    if not isinstance(body.get("prompt"), str) or ask.choices != 1 or any(body.get(name) for name in _FORMS):
        return False
    return body.get("logprobs") is None and (body.get("best_of") or 1) == 1


_FORMS: Final = ("response_format", "grammar", "json_schema", "structured_outputs", "echo", "suffix")


WIRE: Final = OpenAICompletions()
