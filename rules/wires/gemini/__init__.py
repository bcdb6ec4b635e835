"""Google's Gemini, POST models/MODEL:generateContent and :streamGenerateContent, on ai.google.dev and Vertex AI.

A stream is server-sent events where `alt=sse` is asked for, else one JSON array. There is no end mark and no error
event: the end of the body ends an answer that has its finish reasons. Thought signatures are never touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from ...framing.framing import JSON_ARRAY, SSE_AS_SENT, Framing
from ...values.delta import Block, Delta
from ...values.failures import Failure
from ..base import Ask, Change, Ending, Json, Wire
from ..error_shapes import http_status, own_body
from . import ends, request, whole
from .codec import GeminiCodec

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript

_METHOD = re.compile(r"(?:/[^/]+)*/(?:models|tunedModels|endpoints)/[^/:]+:([a-zA-Z]+)")
_READ = frozenset({"generateContent", "streamGenerateContent"})


class GeminiWire(Wire):
    """Every other method of a model (countTokens, embedContent) passes unread."""

    name = "gemini"
    closes_calls = True
    ends_thinking = "level"
    speaker = "Google"
    key_header = "x-goog-api-key"
    operation = "generate_content"

    def claims(self, path: str) -> bool:
        return _METHOD.fullmatch(path) is not None

    def matches(self, path: str) -> bool:
        found = _METHOD.fullmatch(path)
        return found is not None and found[1] in _READ

    def speaks(self, body: Json) -> bool:
        return "contents" in body

    def framing(self, ask: Ask) -> Framing:
        return JSON_ARRAY if request.in_array(ask) else SSE_AS_SENT

    def as_framed(self, ask: Ask, start: bytes) -> Ask:
        return request.as_framed(ask, start)

    def ask(self, body: Json, call: str = "") -> Ask:
        return request.ask(body, call)

    def codec(self, ask: Ask) -> GeminiCodec:
        return GeminiCodec(ask)

    def error(self, failure: Failure) -> tuple[int, bytes]:
        """The upstream's own body as it came, else Google's error object."""
        status = http_status(failure)
        if (own := own_body(failure)) is not None:
            return status, own
        return status, orjson.dumps({"error": ends.error_object(failure)})

    def heartbeat(self, started: bool) -> bytes:
        return b"\n"

    def whole(self, body: Json) -> Sequence[Delta]:
        return whole.read(body)

    def usage(self, body: Json) -> object:
        return body.get("usageMetadata")

    def trim(self, body: Json, keep: Mapping[Block, int], ending: Ending) -> Json:
        return whole.trim(body, keep, ending)

    def to_events(self, ask: Ask, body: Json) -> bytes:
        return whole.to_events(ask, body)

    def gather(self, ask: Ask, events: Sequence[Event]) -> Json | None:
        return whole.gather(ask, events)

    def advise(self, body: Json, text: str) -> Json:
        return request.advise(body, text)

    def heal(self, ask: Ask, change: Change) -> tuple[Json, Sequence[str]] | None:
        return request.heal(ask, change)

    def healed(self, first: Json, second: Json, marker: Mapping[str, Any]) -> Json:
        usage = ends.both(first.get("usageMetadata"), second.get("usageMetadata"))
        candidates = second.get("candidates")
        one = {"candidates": candidates[:1]} if isinstance(candidates, list) else {}
        return {**second, **one, **({"usageMetadata": usage} if usage else {}), "streamfuse": dict(marker)}

    def resume(self, ask: Ask, transcript: Transcript, style: str) -> Json | None:
        return request.resume(ask, transcript, style)


WIRE = GeminiWire()
