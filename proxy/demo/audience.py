"""The client's side of the demo: asks as an agent would, and says what it was shown."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

STEPS = 20
"""How often the demo's agent runs the same tool before it gives up by itself."""
TOOL = {
    "type": "function",
    "function": {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
}


@dataclass(frozen=True, slots=True)
class ClientView:
    """What the client got. `ended`: one line on how it ended; `requests`: how many it took."""

    text: str
    thoughts: str
    ended: str
    seconds: float
    requests: int = 1

    @property
    def chars(self) -> int:
        """Characters of output shown, thoughts included."""
        return len(self.text) + len(self.thoughts)


@dataclass(slots=True)
class _Answer:
    text: str = ""
    thoughts: str = ""
    finish: str | None = None
    error: str | None = None
    call: dict[str, Any] | None = None
    done: bool = False

    def read(self, chunk: dict[str, Any]) -> None:
        if chunk.get("error"):
            self.error = str(chunk["error"].get("message"))
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or {}
            self.text += delta.get("content") or ""
            self.thoughts += delta.get("reasoning_content") or ""
            self.finish = choice.get("finish_reason") or self.finish
            for part in delta.get("tool_calls") or []:
                if self.call is None or part.get("id"):
                    self.call = {"id": part.get("id"), "name": part["function"].get("name"), "arguments": ""}
                self.call["arguments"] += part["function"].get("arguments") or ""

    @property
    def ended(self) -> str:
        if self.error:
            return f"error: {self.error}"
        if self.done:
            return f"finish_reason: {self.finish}"
        return "the stream broke off"


async def _ask(url: str, body: dict[str, Any]) -> _Answer:
    """One streamed chat completion. Whatever goes wrong is in the answer."""
    answer = _Answer()
    try:
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{url}/chat/completions", json={**body, "stream": True}) as response,
        ):
            if response.status != 200:
                error = orjson.loads(await response.read()).get("error") or {}
                answer.error = f"HTTP {response.status}, {error.get('message')}"
                return answer
            async for line in response.content:
                if line.startswith(b"data: [DONE]"):
                    answer.done = True
                elif line.startswith(b"data: "):
                    answer.read(orjson.loads(line[6:]))
    except (aiohttp.ClientError, orjson.JSONDecodeError):
        answer.done = False
    return answer


async def ask(url: str, model: str) -> ClientView:
    """One question, one answer."""
    begun = time.monotonic()
    answer = await _ask(url, {"model": model, "messages": [{"role": "user", "content": "Please do it."}]})
    return ClientView(answer.text, answer.thoughts, answer.ended, time.monotonic() - begun)


async def work(url: str, model: str) -> ClientView:
    """A small agent: runs the tool that the model asks for, sends the result, and asks again, STEPS times at most."""
    begun = time.monotonic()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is in notes.txt?"}]
    body = {"model": model, "messages": messages, "tools": [TOOL]}
    story = []
    ended = f"gave up after {STEPS} steps"
    step = 0
    for step in range(1, STEPS + 1):
        answer = await _ask(url, body)
        if answer.call is None or answer.error:
            ended = answer.ended
            story += [answer.text] if answer.text else []
            break
        story.append(f"step {step}: {answer.call['name']}({answer.call['arguments']})")
        function = {"name": answer.call["name"], "arguments": answer.call["arguments"]}
        call = {"id": answer.call["id"], "type": "function", "function": function}
        messages.append({"role": "assistant", "content": answer.text, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": answer.call["id"], "content": "notes.txt: no such file"})
    return ClientView("\n".join(story), "", ended, time.monotonic() - begun, step)
