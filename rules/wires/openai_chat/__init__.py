"""POST /chat/completions: chunks, choices, tool calls, reasoning by all its vendors' names, `[DONE]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...values.delta import Block, Delta
from ...values.failures import Failure
from ..base import Ask, Change, Ending, Json, Wire
from ..error_shapes import openai_error
from . import request, whole
from .codec import ChatCodec

if TYPE_CHECKING:
    from ...framing.sse import Event
    from ...values.transcript import Transcript


class ChatWire(Wire):
    """The chat wire. Only arguments that are complete JSON, or the finish, say that a call is complete."""

    name = "openai_chat"
    thinks_in_text = True
    ends_thinking = "effort"

    def matches(self, path: str) -> bool:
        return path == "/chat/completions"

    def ask(self, body: Json, call: str = "") -> Ask:
        return request.ask(body)

    def codec(self, ask: Ask) -> ChatCodec:
        return ChatCodec(ask)

    def error(self, failure: Failure) -> tuple[int, bytes]:
        return openai_error(failure)

    def whole(self, body: Json) -> Sequence[Delta]:
        return whole.deltas(body)

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

    def resume(self, ask: Ask, transcript: Transcript, style: str) -> Json | None:
        return request.resume(ask, transcript, style)


WIRE = ChatWire()
