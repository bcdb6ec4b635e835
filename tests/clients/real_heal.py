"""The third scene of `make real`: a real model's real loops, cut and healed, counted in characters and not in seconds.

Each prompt is asked twice, greedily: with a cut alone, and with a heal. A heal counts as alive where the second answer
was not cut, did not end within some twenty tokens, and its text is like text (docs/heal.md says how that is told). The
second answer has 300 tokens: so far those of docs/heal.md were judged, and this model never ends by itself. The fuse
runs in this process, with a clock that goes slowly: what its timers do at the speed of an ordinary provider is meant,
and not what they do on a busy machine at four tokens a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
from rich.console import Console
from rich.table import Table

from proxy.server.app import Server
from proxy.settings.load import Settings

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
    "The doctor listened to the patient and wrote a long report. The patient",
    "A long time ago, at the edge of the desert, there lived a potter who",
    "The committee met in the town hall to discuss the new bridge. The chairman",
    "Bees are important for farming because",
    "The museum has a collection of old maps. The oldest map",
    "When the train stopped in the middle of the night, the passengers",
    "Our travel guide to the islands. The first island",
    "The detective looked around the room and noticed",
)
TOKENS = 500
"""Tokens of a first answer."""
AHEAD = 300
"""Tokens of a second answer."""
LEAST = 80
"""Characters that a second answer has at least: some twenty tokens."""
LANES = 4
"""Prompts that are asked at once: the model reads its weights for all of them together."""
SLOWER = 20.0
"""How much more slowly the fuse's clock goes."""
SLOWEST = 3.0
"""Tokens a second, of all prompts together, below which nobody should wait for this: the table would take an hour."""
LOOK = 25.0
"""Seconds after which that is told."""


class TooSlow(Exception):
    """This machine has something else to do."""


class SlowClock:
    """The time of this machine, slowed down."""

    def now(self) -> float:
        return time.monotonic() / SLOWER

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds * SLOWER)


class Pace:
    """How fast the model is, over all prompts."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.tokens = 0

    def count(self) -> None:
        """One more token. Raises TooSlow."""
        self.tokens += 1
        took = time.monotonic() - self.begun
        if took > LOOK and self.tokens / took < SLOWEST:
            raise TooSlow


@dataclass
class Told:
    """One answer: its text, how many tokens it was, and the extra object."""

    text: str
    tokens: int
    facts: dict[str, Any]

    @property
    def healed(self) -> dict[str, Any]:
        return self.facts.get("heal") or {}

    @property
    def looped(self) -> int:
        """Characters of the loop behind its first copy that the client was shown up to the cut."""
        if "since" not in self.facts:
            return 0
        shown = self.healed.get("shown", len(self.text))
        return max(0, min(shown, len(self.text)) - self.facts["since"] - self.facts.get("period", 0))

    @property
    def alive(self) -> bool:
        return self.healed.get("result") == "healed" and len(self.text) - self.healed["shown"] >= LEAST


async def told(url: str, model: str, prompt: str, headers: dict[str, str], tokens: int, pace: Pace) -> Told:
    """Ask for a streamed answer, greedily."""
    body = {"model": model, "stream": True, "temperature": 0, "max_tokens": tokens}
    turn = {"messages": [{"role": "user", "content": prompt}]}
    text: list[str] = []
    facts: dict[str, Any] = {}
    asking = f"{url}/v1/chat/completions"
    endless = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(headers=headers, timeout=endless) as http,
        http.post(asking, json={**body, **turn}) as answer,
    ):
        async for chunk in _chunks(answer):
            facts.update(chunk.get("streamfuse") or {})
            said = [content for choice in chunk["choices"] if (content := choice["delta"].get("content"))]
            if said:
                pace.count()
            text += said
    return Told("".join(text), len(text), facts)


async def _chunks(answer: aiohttp.ClientResponse) -> AsyncIterator[dict[str, Any]]:
    async for line in answer.content:
        if line.startswith(b"data: {"):
            yield orjson.loads(line[6:])


async def heals(out: Console, upstream: str, model: str, prompts: Sequence[str] = PROMPTS) -> bool | None:
    """Print the table; were half of the heals alive, and was half of the loop shown at most? None = too slow here.
    `upstream`: the model's server, without /v1."""
    provider = {"base_url": f"{upstream}/v1", "resume": "llamacpp", "heal": "none"}
    tree = {"listen": {"port": 0}, "providers": {"upstream": provider}, "journal": {"level": "off"}}
    server = Server(Settings.model_validate(tree), clock=SlowClock())
    await server.start()
    try:
        return await _table(out, f"http://127.0.0.1:{server.port}", model, prompts)
    except* TooSlow:
        out.print(f"Too slow here (under {SLOWEST:.0f} tokens a second): the heals were not measured.")
    finally:
        await server.stop()
    return None


async def _pair(url: str, model: str, prompt: str, lanes: asyncio.Semaphore, pace: Pace) -> tuple[Told, Told | None]:
    async with lanes:
        cut = await told(url, model, prompt, {"x-streamfuse-heal": "none", "x-streamfuse-hold": "off"}, TOKENS, pace)
        if not cut.facts:
            return cut, None
        tokens = cut.tokens + AHEAD
        return cut, await told(url, model, prompt, {"x-streamfuse-heal": "auto"}, tokens, pace)


async def _table(out: Console, url: str, model: str, prompts: Sequence[str]) -> bool:
    lanes, pace = asyncio.Semaphore(LANES), Pace()
    async with asyncio.TaskGroup() as group:
        pairs = [group.create_task(_pair(url, model, prompt, lanes, pace)) for prompt in prompts]
    table = Table(expand=True)
    for column in ("prompt", "cut: characters, of them loop", "healed: characters, of them loop", "asked", "result"):
        table.add_column(column)
    alive = tried = before = after = 0
    for prompt, pair in zip(prompts, pairs, strict=True):
        cut, healed = pair.result()
        if healed is None:
            table.add_row(prompt, f"{len(cut.text):,}, no loop", "–", "–", "–")
            continue
        if not healed.healed:  # answers that are asked for beside others are not always the same, greedy or not
            table.add_row(
                prompt, f"{len(cut.text):,}, {cut.looped:,}", f"{len(healed.text):,}, no loop this time", "–", "–"
            )
            continue
        result = str(healed.healed["result"])
        tried += 1
        alive += healed.alive
        before, after = before + cut.looped, after + healed.looped
        sums = [f"{len(one.text):,}, {one.looped:,}" for one in (cut, healed)]
        table.add_row(prompt, *sums, str(healed.healed["style"]), result if healed.alive else f"{result} (–)")
    out.print(table)
    share = 100 * alive // max(1, tried)
    out.print(f"{alive} of {tried} healed ({share} %); characters of loop shown: {before:,} → {after:,}")
    return tried > 0 and alive * 2 >= tried and after * 2 <= before
