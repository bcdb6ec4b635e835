"""Microseconds per event of every wire, through a whole Stream without rules, one event a read.

    python -m benchmarks.wires [EVENTS]

The yardstick is the chat wire: the others may cost a quarter more. Best of seven rounds; the texts are the same.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from typing import Any

import orjson

from rules import wires
from rules.during.output import Forward
from rules.during.stream import Stream
from rules.framing.sse import encode

WORDS = ("Put ", "the ", "kettle ", "on, ", "wait ", "a ", "little, ", "then ", "pour ", "it. ")
ROUNDS = 7


def chat(count: int) -> Iterator[bytes]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1764450000, "model": "m"}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return encode(orjson.dumps({**head, "system_fingerprint": "fp_1", "choices": [choice]}))

    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"content": WORDS[i % 10]}) for i in range(count))
    yield chunk({}, "stop")
    yield encode(b"[DONE]")


def completions(count: int) -> Iterator[bytes]:
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1764450000, "model": "m"}
    for i in range(count + 1):
        text, reason = (WORDS[i % 10], None) if i < count else ("", "stop")
        choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": reason}
        yield encode(orjson.dumps({**head, "choices": [choice]}))
    yield encode(b"[DONE]")


def messages(count: int) -> Iterator[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return encode(orjson.dumps({"type": kind, **more}), kind)

    yield event("message_start", message={"id": "msg_1", "role": "assistant", "usage": {"output_tokens": 1}})
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for i in range(count):
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": WORDS[i % 10]})
    yield event("content_block_stop", index=0)
    yield event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 9})
    yield event("message_stop")


def responses(count: int) -> Iterator[bytes]:
    numbers = iter(range(count + 99))

    def event(kind: str, **more: Any) -> bytes:
        return encode(orjson.dumps({"type": kind, "sequence_number": next(numbers), **more}), kind)

    item: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    text = "".join(WORDS[i % 10] for i in range(count))
    part = {"type": "output_text", "text": text, "annotations": []}
    yield event("response.created", response={"id": "resp_1", "output": []})
    yield event("response.output_item.added", output_index=0, item=item)
    yield event("response.content_part.added", **at, part={**part, "text": ""})
    for i in range(count):
        yield event("response.output_text.delta", **at, delta=WORDS[i % 10], logprobs=[])
    yield event("response.output_text.done", **at, text=text, logprobs=[])
    yield event("response.content_part.done", **at, part=part)
    yield event("response.output_item.done", output_index=0, item={**item, "content": [part]})
    done = {"id": "resp_1", "status": "completed", "output": [{**item, "content": [part]}]}
    yield event("response.completed", response=done)


def ollama(count: int) -> Iterator[bytes]:
    def line(i: int, text: str, **more: Any) -> bytes:
        created = f"2026-11-30T10:{i // 6000 % 60:02d}:{i // 100 % 60:02d}.{i * 7919 % 1000000:06d}Z"
        message = {"role": "assistant", "content": text}
        return orjson.dumps({"model": "m", "created_at": created, "message": message, "done": False, **more}) + b"\n"

    yield from (line(i, WORDS[i % 10]) for i in range(count))
    yield line(count, "", done=True, done_reason="stop", eval_count=count)


def gemini(count: int) -> Iterator[bytes]:
    def event(i: int, text: str, **more: Any) -> bytes:
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **more}
        counts = {"promptTokenCount": 11, "candidatesTokenCount": i, "totalTokenCount": 11 + i}
        body = {"candidates": [candidate], "usageMetadata": counts, "modelVersion": "m", "responseId": "r"}
        return b"data: " + orjson.dumps(body) + b"\r\n\r\n"

    yield from (event(i, WORDS[i % 10]) for i in range(count))
    yield event(count, "", finishReason="STOP")


STREAMS = {
    "openai_chat": chat,
    "openai_completions": completions,
    "anthropic_messages": messages,
    "openai_responses": responses,
    "gemini": gemini,
    "ollama": ollama,
}


def once(name: str, chunks: list[bytes]) -> float:
    """Seconds for one answer."""
    wire = wires.get(name)
    stream = Stream(wire, wire.ask({"model": "m", "stream": True}))  # Gemini without a path: server-sent events
    feed = stream.feed
    out = b""
    gc.disable()
    begun = time.process_time()
    for chunk in chunks:
        outs = feed(chunk, 0.0)
        while stream.busy:
            outs += stream.more(0.0)
        for output in outs:
            assert type(output) is Forward
            out = output.raw
    for output in stream.eof(0.0) if not stream.finished else ():
        assert type(output) is Forward
    spent = time.process_time() - begun
    gc.enable()
    assert stream.finished
    assert out
    return spent


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    streams = {name: list(make(count)) for name, make in STREAMS.items()}
    best = dict.fromkeys(streams, float("inf"))
    for _ in range(ROUNDS):  # in turn, so that a busy moment of the machine hits them alike
        for name, chunks in streams.items():
            best[name] = min(best[name], once(name, chunks) / len(chunks) * 1e6)
    for name, cost in best.items():
        size = sum(map(len, streams[name])) / len(streams[name])
        print(f"{name:20} {cost:6.2f} µs an event   {cost / best['openai_chat']:5.2f} of chat   {size:4.0f} bytes")


if __name__ == "__main__":
    main()
