"""Ollama's own API, POST /api/chat and /api/generate: NDJSON, one object a line, the last with `done`.

A stream is the default. Tool calls come whole. An error inside a stream is a line with `error`. The server's own loop
guard ends a stream cleanly without `done`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from ...framing.framing import NDJSON, Framing
from ...values.delta import Block, Delta
from ...values.failures import Failure
from ..base import Ask, Change, Ending, Json, Wire
from ..error_shapes import http_status, own_body
from ..openai_chat.request import advise
from . import request, whole
from .codec import OllamaCodec

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript


class OllamaWire(Wire):
    """Every other path below /api passes unread."""

    name = "ollama"
    closes_calls = True
    ends_thinking = "flag"
    thinks_in_text = True
    speaker = "Ollama"

    def matches(self, path: str) -> bool:
        return path in ("/api/chat", "/api/generate")

    def speaks(self, body: Json) -> bool:
        """Web applications have an /api/chat of their own; Ollama's wants the name of a model."""
        return isinstance(body.get("model"), str)

    def framing(self, ask: Ask) -> Framing:
        return NDJSON

    def ask(self, body: Json, call: str = "") -> Ask:
        return request.ask(body, call)

    def codec(self, ask: Ask) -> OllamaCodec:
        return OllamaCodec(ask)

    def error(self, failure: Failure) -> tuple[int, bytes]:
        """`error` is a string here; the code stands beside it."""
        status = http_status(failure)
        if (own := own_body(failure)) is not None:
            return status, own
        code = failure.code or f"upstream_{failure.kind.value}"
        return status, orjson.dumps({"error": failure.message or "The upstream failed.", "code": code})

    def heartbeat(self, started: bool) -> bytes:
        return b" "

    def usage(self, body: Json) -> object:
        return {name: body[name] for name in ("prompt_eval_count", "eval_count") if name in body}

    def whole(self, body: Json) -> Sequence[Delta]:
        return whole.read(body)

    def trim(self, body: Json, keep: Mapping[Block, int], ending: Ending) -> Json:
        return whole.trim(body, keep, ending)

    def to_events(self, ask: Ask, body: Json) -> bytes:
        return whole.to_events(ask, body)

    def gather(self, ask: Ask, events: Sequence[Event]) -> Json | None:
        return whole.gather(ask, events)

    def advise(self, body: Json, text: str) -> Json:
        return advise(body, text)

    def heal(self, ask: Ask, change: Change) -> tuple[Json, Sequence[str]] | None:
        return request.heal(ask, change)

    def healed(self, first: Json, second: Json, marker: Mapping[str, Any]) -> Json:
        return whole.healed(first, second, marker)

    def resume(self, ask: Ask, transcript: Transcript, style: str) -> Json | None:
        return request.resume(ask, transcript, style)


WIRE = OllamaWire()
