"""OpenAI's /responses: typed events, output items that may interleave, one terminal event.

There is one choice. An item's block has the key of its output index ("2"), a part of it "2.0" (content) or "2.s0"
(summary); both as the *client* counts them. Items the client runs are tool blocks, open from output_item.added to
output_item.done; items the server runs pass as Unknown. Servers that send no sequence_number, output_index or
content_index (llama.cpp) are read by item id and order. Grammar and traps: docs/sources.md, measured on the SDKs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...framing.sse import encode
from ...values.delta import Block, Delta
from ...values.failures import Failure
from ..base import Ask, Change, Ending, Json, Wire
from ..error_shapes import openai_error
from . import request, whole
from .codec import ResponsesCodec

if TYPE_CHECKING:
    from ...framing.sse import Event


class OpenAIResponses(Wire):
    """POST /responses."""

    name = "openai_responses"
    ends_thinking = "effort"
    keeps = True
    closes_calls = True
    continues_by_id = True
    block_per_item = True

    def matches(self, path: str) -> bool:
        return path == "/responses"

    def ask(self, body: Json, call: str = "") -> Ask:
        return request.read(body)

    def codec(self, ask: Ask) -> ResponsesCodec:
        return ResponsesCodec(ask)

    def error(self, failure: Failure) -> tuple[int, bytes]:
        return openai_error(failure)

    def heartbeat(self, started: bool) -> bytes:
        return encode(b'{"type":"keepalive","sequence_number":0}', "keepalive") if started else b": hb\n"

    def whole(self, body: Json) -> Sequence[Delta]:
        return whole.read(body)

    def fails_itself(self, body: Json) -> bool:
        # The SDKs return it as any other: `response.status` and `response.error` tell what became of it.
        return body.get("object") == "response" and body.get("status") in ("failed", "cancelled")

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

    cleans_by = None

    def clean(self, body: Json) -> Json:
        return request.clean(body)


WIRE = OpenAIResponses()
