"""Agents on the official Python SDKs, used as their manuals say. The SDKs are those of the `test` extra.

They run in the bench's own loop, so their waits are skipped with everybody else's.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from .provider import ANSWER


@dataclass(frozen=True)
class Sdk:
    """One SDK with so many retries. `streaming`: tokens as they come, or one whole answer."""

    name: str
    package: str
    wire: str
    retries: int
    streaming: bool = True

    def missing(self) -> str | None:
        """Why it cannot run here; None where it can."""
        if importlib.util.find_spec(self.package) is None:
            return f"the package {self.package} is not installed (pip install -e '.[test]')"
        return None

    async def ask(self, base: str, prompt: str) -> bool:
        """One prompt; True where the whole answer came. `base`: root, without /v1."""
        failures = _failures(self.package)
        async with self._client(base) as client:
            try:
                return await _ASKS[self.wire](client, prompt, self.streaming) == ANSWER
            except (*failures, *UNREADABLE):
                return False

    @contextlib.asynccontextmanager
    async def _client(self, base: str) -> AsyncIterator[Any]:
        if self.package == "openai":
            import openai

            wired = openai.DefaultAsyncHttpxClient(verify=_tls())
            client: Any = openai.AsyncOpenAI(
                api_key="sk-test", base_url=f"{base}/v1", max_retries=self.retries, http_client=wired
            )
        else:
            import anthropic

            fitted = anthropic.DefaultAsyncHttpxClient(verify=_tls())
            client = anthropic.AsyncAnthropic(
                api_key="sk-test", base_url=base, max_retries=self.retries, http_client=fitted
            )
        client._platform = "Linux"  # else its first call looks it up in a thread, and time would skip meanwhile
        async with client:
            yield client


@cache
def _tls() -> ssl.SSLContext:
    """Made once: reading the machine's certificates takes longer than most runs."""
    return ssl.create_default_context()


UNREADABLE = (AttributeError, IndexError, TypeError, ValueError)
"""What a program meets that reads an answer which is none: the SDKs hand on whatever JSON came with a 200."""


def _failures(package: str) -> tuple[type[Exception], ...]:
    """What an SDK raises where an answer fails. Broken streams come out as the HTTP library's own errors."""
    module = importlib.import_module(package)
    library = importlib.import_module(importlib.import_module(f"{package}._base_client").httpx2.__name__)
    return (module.APIError, library.HTTPError)


async def _chat(client: Any, prompt: str, streaming: bool) -> str:
    messages = [{"role": "user", "content": prompt}]
    if not streaming:
        answer = await client.chat.completions.create(model="m", messages=messages)
        return str(answer.choices[0].message.content)
    text = ""
    async for chunk in await client.chat.completions.create(model="m", messages=messages, stream=True):
        for choice in chunk.choices:
            text += choice.delta.content or ""
    return text


async def _responses(client: Any, prompt: str, streaming: bool) -> str:
    if not streaming:
        return str((await client.responses.create(model="m", input=prompt)).output_text)
    text = ""
    async for event in await client.responses.create(model="m", input=prompt, stream=True):
        text += event.delta if event.type == "response.output_text.delta" else ""
    return text


async def _messages(client: Any, prompt: str, streaming: bool) -> str:
    messages = [{"role": "user", "content": prompt}]
    if not streaming:
        answer = await client.messages.create(model="m", max_tokens=100, messages=messages)
        return "".join(block.text for block in answer.content)
    async with client.messages.stream(model="m", max_tokens=100, messages=messages) as stream:
        return "".join([piece async for piece in stream.text_stream])


_ASKS = {"chat/completions": _chat, "responses": _responses, "messages": _messages}

SDKS = {
    one.name: one
    for one in (
        Sdk("openai-py-2", "openai", "chat/completions", 2),
        Sdk("openai-py-10", "openai", "chat/completions", 10),
        Sdk("openai-py-10-whole", "openai", "chat/completions", 10, streaming=False),
        Sdk("openai-py-10-responses", "openai", "responses", 10),
        Sdk("anthropic-py-2", "anthropic", "messages", 2),
        Sdk("anthropic-py-10", "anthropic", "messages", 10),
        Sdk("anthropic-py-10-whole", "anthropic", "messages", 10, streaming=False),
    )
}
