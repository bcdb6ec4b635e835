"""How a provider speaks each wire: one voice a wire, turning neutral lines (say, think, call, finish) into its frames.

A voice is the upstream's side only, written as real providers send; nothing of the engine is used here, so what the
engine does with these frames proves something.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from .native_voices import native_voice
from .voice import Json, Voice, frame


class Chat(Voice):
    """POST /chat/completions."""

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        return frame(self._envelope("chat.completion.chunk", [{"index": 0, "delta": delta, "finish_reason": finish}]))

    def _envelope(self, kind: str, choices: list[Json]) -> Json:
        return {
            "id": f"chatcmpl-demo{self.number}",
            "object": kind,
            "created": 1700000000,
            "model": self.model,
            "choices": choices,
        }

    def _usage(self) -> Json:
        return {"prompt_tokens": 10, "completion_tokens": self.words, "total_tokens": 10 + self.words}

    def head(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def _text(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def _thought(self, text: str) -> bytes:
        return self._chunk({"reasoning_content": text})

    def _open_call(self, name: str) -> bytes:
        at = len(self.calls) - 1
        function = {"name": name, "arguments": ""}
        return self._chunk(
            {"tool_calls": [{"index": at, "id": self._call_id(at), "type": "function", "function": function}]}
        )

    def _call(self, fragment: str) -> bytes:
        return self._chunk({"tool_calls": [{"index": len(self.calls) - 1, "function": {"arguments": fragment}}]})

    def _call_id(self, at: int) -> str:
        return f"call_demo{self.number}_{at}"

    def finish(self, reason: str) -> bytes:
        end = self._chunk({}, reason)
        if (self.ask.get("stream_options") or {}).get("include_usage"):
            end += frame({**self._envelope("chat.completion.chunk", []), "usage": self._usage()})
        return end + frame("[DONE]")

    def fault(self, message: str) -> bytes:
        return frame(self.refuse(500, message))

    def whole(self, reason: str) -> Json:
        message: Json = {"role": "assistant", "content": self.text or None}
        if self.thoughts:
            message["reasoning_content"] = self.thoughts
        if self.calls:
            message["tool_calls"] = [
                {"id": self._call_id(at), "type": "function", "function": {"name": name, "arguments": arguments}}
                for at, (name, arguments) in enumerate(self.calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {**self._envelope("chat.completion", [choice]), "usage": self._usage()}


class Completions(Voice):
    """POST /completions, the legacy wire: text only."""

    def _chunk(self, text: str, finish: str | None = None) -> Json:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
        return {
            "id": f"cmpl-demo{self.number}",
            "object": "text_completion",
            "created": 1700000000,
            "model": self.model,
            "choices": [choice],
        }

    def head(self) -> bytes:
        return b""

    def _text(self, text: str) -> bytes:
        return frame(self._chunk(text))

    def _thought(self, text: str) -> bytes:
        return b""

    def _open_call(self, name: str) -> bytes:
        return b""

    def _call(self, fragment: str) -> bytes:
        return b""

    def finish(self, reason: str) -> bytes:
        return frame(self._chunk("", reason)) + frame("[DONE]")

    def fault(self, message: str) -> bytes:
        return frame(self.refuse(500, message))

    def whole(self, reason: str) -> Json:
        usage = {"prompt_tokens": 10, "completion_tokens": self.words, "total_tokens": 10 + self.words}
        return {**self._chunk(self.text, reason), "usage": usage}


class Responses(Voice):
    """POST /responses: typed events with sequence numbers, output items opened and closed one by one."""

    def __init__(self, ask: Mapping[str, Any], number: int) -> None:
        super().__init__(ask, number)
        self.sequence = 0
        self.output: list[Json] = []
        """Finished items."""
        self.open: Json | None = None
        """The item now being written: its type and its place."""

    def _event(self, kind: str, **fields: Any) -> bytes:
        event = frame({"type": f"response.{kind}", "sequence_number": self.sequence, **fields}, f"response.{kind}")
        self.sequence += 1
        return event

    def _response(self, status: str, **fields: Any) -> Json:
        usage = None
        if status in ("completed", "incomplete"):
            usage = {
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": self.words,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 10 + self.words,
            }
        return {
            "id": f"resp_demo{self.number}",
            "object": "response",
            "created_at": 1700000000,
            "status": status,
            "model": self.model,
            "output": list(self.output) if usage else [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "temperature": 1.0,
            "top_p": 1.0,
            "usage": usage,
            **fields,
        }

    def head(self) -> bytes:
        response = self._response("in_progress")
        return self._event("created", response=response) + self._event("in_progress", response=response)

    def _start(self, item: Json) -> bytes:
        closing = self._close()
        self.open = item
        return closing + self._event("output_item.added", output_index=len(self.output), item=item)

    def _where(self) -> Json:
        assert self.open is not None
        return {"item_id": self.open["id"], "output_index": len(self.output)}

    def _open_text(self) -> bytes:
        item = {
            "id": f"msg_demo{self.number}",
            "type": "message",
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        part = {"type": "output_text", "text": "", "annotations": []}
        return self._start(item) + self._event("content_part.added", **self._where(), content_index=0, part=part)

    def _text(self, text: str) -> bytes:
        return self._event("output_text.delta", **self._where(), content_index=0, delta=text, logprobs=[])

    def _open_thought(self) -> bytes:
        part = {"type": "summary_text", "text": ""}
        return self._start({"id": f"rs_demo{self.number}", "type": "reasoning", "summary": []}) + self._event(
            "reasoning_summary_part.added", **self._where(), summary_index=0, part=part
        )

    def _thought(self, text: str) -> bytes:
        return self._event("reasoning_summary_text.delta", **self._where(), summary_index=0, delta=text)

    def _open_call(self, name: str) -> bytes:
        at = len(self.calls) - 1
        return self._start(
            {
                "id": f"fc_demo{self.number}_{at}",
                "type": "function_call",
                "status": "in_progress",
                "call_id": f"call_demo{self.number}_{at}",
                "name": name,
                "arguments": "",
            }
        )

    def _call(self, fragment: str) -> bytes:
        return self._event("function_call_arguments.delta", **self._where(), delta=fragment)

    def _close(self) -> bytes:
        """End the item now open, with everything that was said in it."""
        item = self.open
        if item is None:
            return b""
        where = self._where()
        if item["type"] == "message":
            part = {"type": "output_text", "text": self.text, "annotations": []}
            done = {**item, "status": "completed", "content": [part]}
            end = self._event("output_text.done", **where, content_index=0, text=self.text, logprobs=[])
            end += self._event("content_part.done", **where, content_index=0, part=part)
        elif item["type"] == "reasoning":
            part = {"type": "summary_text", "text": self.thoughts}
            done = {**item, "summary": [part]}
            end = self._event("reasoning_summary_text.done", **where, summary_index=0, text=self.thoughts)
            end += self._event("reasoning_summary_part.done", **where, summary_index=0, part=part)
        else:
            done = {**item, "status": "completed", "arguments": self.calls[-1][1]}
            end = self._event("function_call_arguments.done", **where, arguments=self.calls[-1][1])
        end += self._event("output_item.done", output_index=len(self.output), item=done)
        self.output.append(done)
        self.open = None
        return end

    def finish(self, reason: str) -> bytes:
        end = self._close()
        if reason in ("length", "content_filter"):
            why = "max_output_tokens" if reason == "length" else reason
            return end + self._event(
                "incomplete", response=self._response("incomplete", incomplete_details={"reason": why})
            )
        return end + self._event("completed", response=self._response("completed"))

    def fault(self, message: str) -> bytes:
        error = {"code": "server_error", "message": message}
        return self._event("failed", response=self._response("failed", error=error))

    def whole(self, reason: str) -> Json:
        self._close()
        return self._response("completed")


STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}
"""Chat's finish reasons in the words of Messages."""


class Messages(Voice):
    """POST /messages: strictly sequential content blocks, named events."""

    def __init__(self, ask: Mapping[str, Any], number: int) -> None:
        super().__init__(ask, number)
        self.block = -1
        self.open = False

    @staticmethod
    def _event(kind: str, **fields: Any) -> bytes:
        return frame({"type": kind, **fields}, kind)

    def _message(self, content: list[Json], reason: str | None, tokens: int) -> Json:
        return {
            "id": f"msg_demo{self.number}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": tokens},
        }

    def head(self) -> bytes:
        return self._event("message_start", message=self._message([], None, 1)) + self._event("ping")

    def _start(self, block: Json) -> bytes:
        closing = self._close()
        self.block += 1
        self.open = True
        return closing + self._event("content_block_start", index=self.block, content_block=block)

    def _close(self) -> bytes:
        if not self.open:
            return b""
        self.open = False
        return self._event("content_block_stop", index=self.block)

    def _delta(self, delta: Json) -> bytes:
        return self._event("content_block_delta", index=self.block, delta=delta)

    def _open_text(self) -> bytes:
        return self._start({"type": "text", "text": ""})

    def _text(self, text: str) -> bytes:
        return self._delta({"type": "text_delta", "text": text})

    def _open_thought(self) -> bytes:
        return self._start({"type": "thinking", "thinking": "", "signature": ""})

    def _thought(self, text: str) -> bytes:
        return self._delta({"type": "thinking_delta", "thinking": text})

    def _open_call(self, name: str) -> bytes:
        at = len(self.calls) - 1
        return self._start({"type": "tool_use", "id": f"toolu_demo{self.number}_{at}", "name": name, "input": {}})

    def _call(self, fragment: str) -> bytes:
        return self._delta({"type": "input_json_delta", "partial_json": fragment})

    def finish(self, reason: str) -> bytes:
        delta = {"stop_reason": STOP_REASONS.get(reason, reason), "stop_sequence": None}
        return (
            self._close()
            + self._event("message_delta", delta=delta, usage={"output_tokens": self.words})
            + self._event("message_stop")
        )

    def fault(self, message: str) -> bytes:
        return frame(self.refuse(529, message), "error")

    @staticmethod
    def refuse(status: int, message: str) -> Json:
        kind = {429: "rate_limit_error", 400: "invalid_request_error", 529: "overloaded_error", 503: "overloaded_error"}
        return {"type": "error", "error": {"type": kind.get(status, "api_error"), "message": message}}

    def whole(self, reason: str) -> Json:
        content: list[Json] = []
        if self.thoughts:
            content.append({"type": "thinking", "thinking": self.thoughts, "signature": ""})
        if self.text:
            content.append({"type": "text", "text": self.text})
        content += [
            {
                "type": "tool_use",
                "id": f"toolu_demo{self.number}_{at}",
                "name": name,
                "input": orjson.loads(arguments or "{}"),
            }
            for at, (name, arguments) in enumerate(self.calls)
        ]
        return self._message(content, STOP_REASONS.get(reason, reason), self.words)


VOICES: tuple[tuple[str, type[Voice]], ...] = (
    ("/chat/completions", Chat),
    ("/completions", Completions),
    ("/responses", Responses),
    ("/messages", Messages),
)
"""By the end of the path; the first that fits."""


def voice_for(path: str) -> type[Voice] | None:
    """The voice of a request path, with or without its query; None for a path that makes no answers."""
    way = path.partition("?")[0]
    return native_voice(path) or next((voice for end, voice in VOICES if way.endswith(end)), None)
