"""The third scene of `make real`: a real model's real loops, cut and healed, counted in characters and not in seconds.

Each prompt is asked twice, greedily: with a cut alone, and with a heal by prefill. A heal counts as alive where the
second answer was not cut and its text is like text (docs/heal.md says how that is told).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
from rich.console import Console
from rich.table import Table

PROMPTS = (
    "The old lighthouse keeper wrote in his diary:",
    "The teacher opened the window and said to the children:",
    "How do plants make their food? The sun",
    "On Monday the ship left the harbour. On Tuesday",
    "My grandmother's recipe for bread begins like this:",
    "The king had three daughters. The first daughter",
    "Rain fell on the city for a week. On the first day",
    "The letter was short. Dear brother,",
    "He counted the stars and told her what he saw:",
    "The history of the village is long. In the beginning",
    "To keep a garden you need patience. First",
    "She walked through the forest and thought about",
)
TOKENS = 500
SLOWEST = 3.0
"""Tokens a second below which nobody should wait for this: the table would take an hour."""
LOOK = 25.0
"""Seconds after which that is told."""


class TooSlow(Exception):
    """This machine has something else to do."""


@dataclass
class Told:
    """One answer: its text, and the extra object."""

    text: str
    facts: dict[str, Any]

    @property
    def looped(self) -> int:
        """Characters of the loop behind its first copy that the client was shown up to the cut."""
        if "since" not in self.facts:
            return 0
        shown = self.facts["heal"]["shown"] if self.facts.get("heal") else len(self.text)
        return max(0, min(shown, len(self.text)) - self.facts["since"] - self.facts.get("period", 0))


async def told(url: str, model: str, prompt: str, headers: dict[str, str]) -> Told:
    """Ask for a streamed answer, greedily."""
    body = {"model": model, "stream": True, "temperature": 0, "max_tokens": TOKENS}
    turn = {"messages": [{"role": "user", "content": prompt}]}
    text: list[str] = []
    facts: dict[str, Any] = {}
    begun = time.monotonic()
    asking = f"{url}/v1/chat/completions"
    async with aiohttp.ClientSession(headers=headers) as http, http.post(asking, json={**body, **turn}) as answer:
        async for chunk in _chunks(answer):
            facts.update(chunk.get("streamfuse") or {})
            text += [choice["delta"].get("content") or "" for choice in chunk["choices"]]
            took = time.monotonic() - begun
            if took > LOOK and len(text) / took < SLOWEST:
                raise TooSlow
    return Told("".join(text), facts)


async def _chunks(answer: aiohttp.ClientResponse) -> AsyncIterator[dict[str, Any]]:
    async for line in answer.content:
        if line.startswith(b"data: {"):
            yield orjson.loads(line[6:])


async def heals(out: Console, url: str, model: str, prompts: Sequence[str] = PROMPTS) -> bool | None:
    """Print the table; were half of the heals alive, and was half of the loop shown at most? None = too slow here."""
    try:
        return await _table(out, url, model, prompts)
    except TooSlow:
        out.print(f"Too slow here (under {SLOWEST:.0f} tokens a second): the heals were not measured.")
        return None


async def _table(out: Console, url: str, model: str, prompts: Sequence[str]) -> bool:
    table = Table(expand=True)
    for column in ("prompt", "cut: characters, of them loop", "healed: characters, of them loop", "result"):
        table.add_column(column)
    alive = tried = before = after = 0
    for prompt in prompts:
        cut = await told(url, model, prompt, {"x-streamfuse-heal": "none", "x-streamfuse-hold": "off"})
        if not cut.facts:
            table.add_row(prompt, f"{len(cut.text):,}, no loop", "–", "–")
            continue
        healed = await told(url, model, prompt, {"x-streamfuse-heal": "auto"})
        result = str((healed.facts.get("heal") or {}).get("result", "not tried"))
        tried += 1
        alive += result == "healed"
        before, after = before + cut.looped, after + healed.looped
        sums = [f"{len(one.text):,}, {one.looped:,}" for one in (cut, healed)]
        table.add_row(prompt, *sums, result)
    out.print(table)
    share = 100 * alive // max(1, tried)
    out.print(f"{alive} of {tried} healed ({share} %); characters of loop shown: {before:,} → {after:,}")
    return tried > 0 and alive * 2 >= tried and after * 2 <= before
