"""Any other path: bytes are forwarded unchanged. Nothing is read, so no answer can be closed or continued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..values.delta import Delta, Unknown
from ..values.failures import Failure
from .base import Ask, Codec, Ending, Json, Wire
from .error_shapes import openai_error

if TYPE_CHECKING:
    from ..framing.sse import Event
    from ..values.transcript import Transcript


class _OpaqueCodec(Codec):
    def read(self, event: Event) -> Sequence[Delta]:
        return () if event.data is None else (Unknown("opaque"),)

    def close_choice(self, transcript: Transcript, choice: int, ending: Ending) -> bytes:
        return b""

    def close(self, transcript: Transcript, ending: Ending) -> bytes:
        return b""

    def fail(self, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None = None) -> bytes:
        return b""


class _Opaque(Wire):
    name = "opaque"
    reads = False
    operation = ""

    def matches(self, path: str) -> bool:
        return True

    def ask(self, body: Json, call: str = "") -> Ask:
        model = body.get("model")
        return Ask(model if isinstance(model, str) else "", body.get("stream") is True, body=body)

    def codec(self, ask: Ask) -> Codec:
        return _OpaqueCodec()

    def error(self, failure: Failure) -> tuple[int, bytes]:
        return openai_error(failure)

    def heartbeat(self, started: bool) -> bytes:
        """No heartbeat: nothing is known about the body, so nothing may be put into it."""
        return b""


WIRE = _Opaque()
