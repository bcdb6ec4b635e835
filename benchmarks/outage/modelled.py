"""An agent that asks by a manner's rules over a real connection: what `manners` decides, done.

A byte of any kind resets its patience, a comment of the proxy's too, as in the clients it stands for; but for Codex,
which hears events only.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from typing import Any

import aiohttp

from .manners import Again, Came, Manner, Tried
from .provider import ANSWER


async def ask(manner: Manner, base: str, prompt: str, chance: random.Random) -> bool:
    """One prompt until the agent has its answer (True) or gives up. `base`: root, without /v1."""
    tried = Tried(streaming=manner.streaming)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(None)) as http:
        while True:
            came = await _call(http, manner, base, prompt, tried)
            if came.whole:
                return True
            again: Again | None = manner.rule(came, tried, chance.random())
            if again is None:
                return False
            tried = again.tried
            await asyncio.sleep(again.after)


def address(wire: str, streaming: bool) -> str:
    """Path and query of a request of this wire."""
    if wire == "gemini":
        return f"/v1beta/models/m:{'streamGenerateContent?alt=sse' if streaming else 'generateContent'}"
    if wire == "gemini array":
        return "/v1beta/models/m:streamGenerateContent"
    return "/api/chat" if wire == "ollama" else f"/v1/{wire}"


def body(wire: str, prompt: str, streaming: bool) -> dict[str, Any]:
    """A request of this wire."""
    if wire.startswith("gemini"):
        return {"contents": [{"role": "user", "parts": [{"text": prompt}]}]}
    asked: dict[str, Any] = {"model": "m", "stream": streaming}
    if wire == "responses":
        return {**asked, "input": prompt}
    if wire == "messages":
        asked["max_tokens"] = 100
    return {**asked, "messages": [{"role": "user", "content": prompt}]}


async def _call(http: aiohttp.ClientSession, manner: Manner, base: str, prompt: str, tried: Tried) -> Came:
    streaming, begun, data = tried.streaming, False, b""
    status: int | None = None
    try:
        async with asyncio.timeout(manner.patience) as timer:
            loop = asyncio.get_running_loop()
            said = manner.headers(prompt.replace(" ", "-"), tried)
            headers = {"Authorization": "Bearer sk-test", "x-api-key": "sk-test", **said}
            asked = body(manner.wire, prompt, streaming)
            async with http.post(f"{base}{address(manner.wire, streaming)}", json=asked, headers=headers) as answer:
                status = answer.status
                # An SDK that wants a whole answer reads it within its try: what breaks off there is asked again.
                begun = status == 200 and streaming
                timer.reschedule(loop.time() + manner.patience)
                async for piece in answer.content.iter_any():
                    data += piece
                    if manner.name != "codex" or b"data:" in piece:
                        timer.reschedule(loop.time() + manner.patience)
                if status != 200:
                    retry = answer.headers.get("x-should-retry")
                    return Came(
                        status,
                        retry_after=_hint(answer.headers, manner.fine),
                        should_retry=retry == "true" if retry else None,
                    )
                return _judged(data, manner.wire, streaming)
    except TimeoutError:
        return Came(status if begun else None, begun=begun, silent=True)
    except (aiohttp.ClientError, ConnectionError):
        # At [DONE] clients stop reading, so they never see what breaks behind it. The other wires have no such word.
        if begun and b"data: [DONE]" in data and (came := _judged(data, manner.wire, streaming)).whole:
            return came
        return Came(status if begun else None, begun=begun, broke=True)


def _hint(headers: Mapping[str, str], fine: bool) -> float | None:
    """Seconds to wait; the SDKs read retry-after-ms first."""
    if fine and "retry-after-ms" in headers:
        return float(headers["retry-after-ms"]) / 1000
    return float(headers["retry-after"]) if "retry-after" in headers else None


def _judged(data: bytes, wire: str, streaming: bool) -> Came:
    """A 200 that ended cleanly: is it the whole answer?"""
    if not streaming:
        try:
            return Came(200, whole=ANSWER in _texts(json.loads(data)), begun=True)
        except ValueError:
            return Came(200, begun=True)
    if wire == "ollama" or wire.startswith("gemini"):
        return _judged_natively(data, wire)
    text, ended = "", False
    for line in data.decode().splitlines():
        if not line.startswith("data:"):
            continue
        if line == "data: [DONE]":
            continue
        try:
            event = json.loads(line.removeprefix("data:"))
        except ValueError:  # half of one
            break
        kind = event.get("type")
        if kind in ("error", "response.failed") or event.get("error"):
            return Came(200, begun=True, fault=True)
        if wire == "chat/completions":
            for choice in event.get("choices", ()):
                text += choice["delta"].get("content") or ""
                ended = ended or choice.get("finish_reason") == "stop"
        elif wire == "messages":
            text += event.get("delta", {}).get("text", "") if kind == "content_block_delta" else ""
            ended = ended or kind == "message_stop"
        else:
            text += event["delta"] if kind == "response.output_text.delta" else ""
            ended = ended or kind == "response.completed"
    return Came(200, whole=ended and text == ANSWER, begun=True)


def _judged_natively(data: bytes, wire: str) -> Came:
    """The same on Ollama's and Google's own wires. What cannot be read is an answer that broke off. An error event of
    Gemini is an event without candidates to Gemini CLI: only the bare error object is one."""
    if wire == "gemini" and any(line.startswith(b'{"error"') for line in data.splitlines()):
        return Came(200, begun=True, fault=True)
    try:
        if wire == "gemini array":
            read = json.loads(data)
            events = read if isinstance(read, list) else [read]
        else:
            said = (line.removeprefix("data:").strip() for line in data.decode().splitlines())
            events = [json.loads(line) for line in said if line]
    except ValueError:
        return Came(200, begun=True)
    text, ended = "", False
    for event in events:
        if event.get("error") and wire != "gemini":
            return Came(200, begun=True, fault=True)
        for candidate in event.get("candidates", ()):
            text += "".join(part.get("text", "") for part in candidate["content"]["parts"])
            ended = ended or candidate.get("finishReason") == "STOP"
        text += event.get("message", {}).get("content", "")
        ended = ended or event.get("done", False)
    return Came(200, whole=ended and text == ANSWER, begun=True)


def _texts(value: Any) -> str:
    """Every string in a JSON value, joined."""
    if isinstance(value, dict):
        return "".join(_texts(one) for one in value.values())
    if isinstance(value, list):
        return "".join(_texts(one) for one in value)
    return value if isinstance(value, str) else ""
