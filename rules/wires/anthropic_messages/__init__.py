"""Anthropic's /messages: blocks one after another, thinking with signatures, message_stop.

There is one choice; a block's key is its index as the *client* counts it. Every event carries its name, because the
SDKs drop nameless ones. A signature is never invented: thinking that we closed stays unsigned, and `clean` takes it
out when the client sends it back. Grammar and traps: docs/sources.md, measured on the released SDKs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from ...values.delta import Block, Delta
from ...values.failures import Failure
from ..base import Ask, Change, Ending, Json, Wire
from ..error_shapes import own_body
from . import grammar, request, whole
from .codec import MessagesCodec

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript


class AnthropicMessages(Wire):
    """POST /messages."""

    name = "anthropic_messages"
    ends_thinking = "disabled"
    closes_calls = True
    error_paths = "/messages"
    key_header = "x-api-key"

    def matches(self, path: str) -> bool:
        return path == "/messages"

    def ask(self, body: Json, call: str = "") -> Ask:
        return request.read(body)

    def codec(self, ask: Ask) -> MessagesCodec:
        return MessagesCodec(ask)

    def error(self, failure: Failure) -> tuple[int, bytes]:
        """The upstream's own body, unchanged, where it came with this status or has Anthropic's shape; else a body of
        ours in that shape."""
        status = grammar.status_of(failure)
        if failure.body:
            try:
                given = orjson.loads(failure.body)
            except orjson.JSONDecodeError:
                given = None
            if isinstance(given, dict) and given.get("type") == "error" and isinstance(given.get("error"), dict):
                return (status if failure.status != 503 else 503), failure.body
        if status == failure.status and (own := own_body(failure)) is not None:
            return status, own
        return status, orjson.dumps(grammar.error_body(failure, status))

    def heartbeat(self, started: bool) -> bytes:
        return grammar.heartbeat(started)

    def whole(self, body: Json) -> Sequence[Delta]:
        return whole.read(body)

    def trim(self, body: Json, keep: Mapping[Block, int], ending: Ending) -> Json:
        return whole.trim(body, keep, ending)

    def to_events(self, ask: Ask, body: Json) -> bytes:
        return whole.to_events(ask, body)

    def gather(self, ask: Ask, events: Sequence[Event]) -> Json | None:
        return whole.gather(ask, events)

    def advise(self, body: Json, text: str) -> Json:
        return request.advise(body, text)

    cleans_by = ("model",)

    def clean(self, body: Json) -> Json:
        return request.clean(body)

    def heal(self, ask: Ask, change: Change) -> tuple[Json, Sequence[str]] | None:
        return request.heal(ask, change)

    def resume(self, ask: Ask, transcript: Transcript, style: str) -> Json | None:
        return request.resume(ask, transcript, style)


WIRE = AnthropicMessages()
