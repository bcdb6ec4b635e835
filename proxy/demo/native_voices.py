"""How Ollama's and Google's own servers speak: one JSON object a line, server-sent events, or one JSON array.

Tool calls come whole here, so the fragments of one are kept until the next thing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from .voice import Json, Voice

STATUS = {429: "RESOURCE_EXHAUSTED", 400: "INVALID_ARGUMENT", 503: "UNAVAILABLE", 529: "UNAVAILABLE"}


class WholeCalls(Voice):
    """A voice whose tool calls come whole."""

    def __init__(self, ask: Mapping[str, Any], number: int) -> None:
        super().__init__(ask, number)
        self._told = 0
        """Calls that have been sent."""

    def _pending(self) -> list[tuple[str, Any]]:
        """(name, arguments) of the calls that are complete and not yet sent."""
        calls = [(name, orjson.loads(arguments or "{}")) for name, arguments in self.calls[self._told :]]
        self._told = len(self.calls)
        return calls

    def _open_call(self, name: str) -> bytes:
        return b""

    def _call(self, fragment: str) -> bytes:
        return b""


class Ollama(WholeCalls):
    """POST /api/chat."""

    media_type = "application/x-ndjson"

    @property
    def streaming(self) -> bool:
        return self.ask.get("stream") is not False

    def _line(self, message: Json, **more: Any) -> bytes:
        return orjson.dumps(self._body(message, **more)) + b"\n"

    def _body(self, message: Json, **more: Any) -> Json:
        said = {"role": "assistant", "content": "", **message}
        return {"model": self.model, "created_at": "2026-11-30T10:00:00.1Z", "message": said, "done": False, **more}

    def _ended(self, reason: str) -> Json:
        counts = {"prompt_eval_count": 10, "eval_count": self.words, "total_duration": 1_000_000}
        return {"done": True, "done_reason": "length" if reason == "length" else "stop", **counts}

    @staticmethod
    def _written(calls: list[tuple[str, Any]]) -> Json:
        return {"tool_calls": [{"function": {"name": name, "arguments": given}} for name, given in calls]}

    def head(self) -> bytes:
        return b""

    def _text(self, text: str) -> bytes:
        return self._line({"content": text})

    def _thought(self, text: str) -> bytes:
        return self._line({"thinking": text})

    def finish(self, reason: str) -> bytes:
        calls = self._pending()
        return (self._line(self._written(calls)) if calls else b"") + self._line({}, **self._ended(reason))

    def fault(self, message: str) -> bytes:
        return orjson.dumps(self.refuse(500, message)) + b"\n"

    @staticmethod
    def refuse(status: int, message: str) -> Json:
        return {"error": message}

    def whole(self, reason: str) -> Json:
        message: Json = {"content": self.text, **({"thinking": self.thoughts} if self.thoughts else {})}
        calls = self._pending()
        return self._body({**message, **(self._written(calls) if calls else {})}, **self._ended(reason))


class Gemini(WholeCalls):
    """POST models/MODEL:generateContent and :streamGenerateContent."""

    media_type = "text/event-stream"

    @property
    def streaming(self) -> bool:
        return True

    def _event(self, body: Json) -> bytes:
        return b"data: " + orjson.dumps(body) + b"\r\n\r\n"

    def _said(self, *parts: Json, **more: Any) -> Json:
        candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **more}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": self.words, "totalTokenCount": 10 + self.words}
        named = {"modelVersion": self.model, "responseId": f"demo{self.number}"}
        return {"candidates": [candidate], "usageMetadata": usage, **named}

    def _ends(self, reason: str) -> Json:
        words = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
        calls: list[Json] = [{"functionCall": {"name": name, "args": given}} for name, given in self._pending()]
        return self._said(*(calls or [{"text": ""}]), finishReason=words.get(reason, "STOP"))

    def head(self) -> bytes:
        return b""

    def _text(self, text: str) -> bytes:
        return self._event(self._said({"text": text}))

    def _thought(self, text: str) -> bytes:
        return self._event(self._said({"text": text, "thought": True}))

    def finish(self, reason: str) -> bytes:
        return self._event(self._ends(reason))

    def fault(self, message: str) -> bytes:
        return orjson.dumps(self.refuse(500, message))  # Google has no error event

    @staticmethod
    def refuse(status: int, message: str) -> Json:
        return {"error": {"code": status, "message": message, "status": STATUS.get(status, "INTERNAL")}}

    def whole(self, reason: str) -> Json:
        parts: list[Json] = [{"text": self.thoughts, "thought": True}] if self.thoughts else []
        parts += [{"text": self.text}] if self.text else []
        ended = self._ends(reason)
        ended["candidates"][0]["content"]["parts"][:0] = parts
        return ended


class GeminiArray(Gemini):
    """The stream as one JSON array, where `alt=sse` is not asked for."""

    media_type = "application/json"

    def __init__(self, ask: Mapping[str, Any], number: int) -> None:
        super().__init__(ask, number)
        self._begun = False

    def _event(self, body: Json) -> bytes:
        lead, self._begun = (b",\r\n" if self._begun else b"["), True
        return lead + orjson.dumps(body)

    def finish(self, reason: str) -> bytes:
        return super().finish(reason) + b"\n]"

    def fault(self, message: str) -> bytes:
        return self._event(self.refuse(500, message)) + b"\n]"


class GeminiWhole(Gemini):
    """The answer as one object."""

    @property
    def streaming(self) -> bool:
        return False


def native_voice(path: str) -> type[Voice] | None:
    """The voice of a path of Google's or Ollama's; None for any other. `path`: with its query."""
    way, _, query = path.partition("?")
    if way.endswith("/api/chat"):
        return Ollama
    if way.endswith(":generateContent"):
        return GeminiWhole
    if way.endswith(":streamGenerateContent"):
        return Gemini if "alt=sse" in query.split("&") else GeminiArray
    return None
