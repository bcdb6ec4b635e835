"""Plays the scenes: each once straight at the provider and once through the fuse, and prints both beside each other."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..observers.metrics import CONTENT_TYPE, MetricsObserver
from ..observers.recent import RecentObserver
from ..observers.reports import Reports
from ..page.page import LivePage
from ..server.app import Server
from ..settings.load import Settings
from .audience import ClientView, ask, work
from .provider import ScriptedProvider

PORT = 8787
SHOWN = 260
"""Characters of an answer that are printed; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One trouble. `model` is the provider's name for it; `play` is what the client does."""

    title: str
    model: str
    play: Callable[[str, str], Awaitable[ClientView]] = ask


SCENES = (
    Scene("A good answer: not a byte is changed", "clean"),
    Scene("An answer that falls into a loop", "loop"),
    Scene("Thoughts that go round in circles", "think"),
    Scene("A rate limit (429), then success", "busy"),
    Scene("A stream that dies before it says a word", "dies"),
    Scene("An agent that repeats a tool call for ever", "tool", work),
)


def run(keep: bool, *, console: Console | None = None, pace: float = 0.0005, scenes: Sequence[Scene] = SCENES) -> int:
    """The whole demo. `keep`: afterwards provider and proxy stay up (on port 8787, or STREAMFUSE_LISTEN__PORT).

    `pace`: seconds between two words of the provider. Returns 0; 1 where the port is taken.
    """
    out = console or Console(width=None if os.isatty(1) else 110, soft_wrap=False)
    with contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(_run(keep, out, pace, scenes))
    return 0


async def _run(keep: bool, out: Console, pace: float, scenes: Sequence[Scene]) -> int:
    provider = ScriptedProvider(pace=pace)
    url = await provider.start()
    metrics, recent = MetricsObserver(), RecentObserver(100, time.time)
    port = int(os.environ.get("STREAMFUSE_LISTEN__PORT") or PORT) if keep else 0
    settings = Settings.model_validate(
        {"listen": {"port": port}, "default_provider": "demo", "providers": {"demo": {"base_url": url}}}
    )

    async def expose(_: web.Request) -> web.Response:
        return web.Response(body=metrics.exposition(), headers={"Content-Type": CONTENT_TYPE})

    page = LivePage(recent, lambda: server.fuse)
    server = Server(settings, reports=Reports([metrics, recent]), ops=[web.get("/metrics", expose), *page.routes()])
    try:
        try:
            await server.start()
        except OSError as error:
            out.print(f"Port {port} cannot be had ({error.strerror}). Another: STREAMFUSE_LISTEN__PORT=8788")
            return 1
        fused = f"http://127.0.0.1:{server.port}/v1"
        out.print(f"A scripted provider on {url}, streamfuse before it on {fused}. No key, no network.\n")
        for number, scene in enumerate(scenes, 1):
            out.print(await _scene(number, scene, provider, url, fused))
            out.print()
        out.print(_moved(metrics.exposition().decode()))
        if keep:
            provider.pace = 0.02
            await _stay(out, f"http://127.0.0.1:{server.port}")
    finally:
        await server.stop()
        await provider.stop()
    return 0


async def _scene(number: int, scene: Scene, provider: ScriptedProvider, url: str, fused: str) -> RenderableType:
    # One after the other, and each from the provider's first attempt: both meet the same trouble.
    halves = []
    for where in (url, fused):
        provider.attempts.clear()
        before = len(provider.answers)
        seen = await scene.play(where, scene.model)
        await _settled(provider)
        answers = provider.answers[before:]
        halves.append((seen, len(answers), sum(answer.chars for answer in answers)))
    table = Table(expand=True, pad_edge=False)
    table.add_column("without", ratio=1)
    table.add_column("with streamfuse", ratio=1)
    table.add_row(*(_excerpt(seen) for seen, _, _ in halves))
    table.add_section()
    table.add_row(*(_numbers(*half) for half in halves))
    return Group(Text.from_markup(f"[bold]{number}. {escape(scene.title)}[/]"), table)


async def _settled(provider: ScriptedProvider) -> None:
    """The provider notices a client that left at its next write."""
    for _ in range(100):
        if not provider.speaking:
            return
        await asyncio.sleep(0.01)


def _excerpt(seen: ClientView) -> Text:
    text = Text()
    for part, style in ((seen.thoughts, "dim italic"), (seen.text, "")):
        if not part:
            continue
        if text:
            text.append("\n")
        # The end of an answer is where a notice stands; a long middle says nothing new.
        tail = part[-SHOWN // 2 :] if len(part) > SHOWN else ""
        text.append(part[: SHOWN // 2 if tail else SHOWN], style)
        if tail:
            text.append(f" … {len(part) - SHOWN:,} characters … ", "dim")
            text.append(tail, style)
    return text


def _numbers(seen: ClientView, upstream: int, billed: int) -> str:
    requests = "" if seen.requests == upstream == 1 else f", {seen.requests} asked, {upstream} sent to the provider"
    return (
        f"[bold]{escape(seen.ended)}[/]\n"
        f"{seen.chars:,} characters in {seen.seconds:.1f} s{requests}; the provider wrote {billed:,}"
    )


def _moved(exposition: str) -> RenderableType:
    """Counters that are no longer at zero."""
    table = Table(title="metrics that moved (/metrics)", title_justify="left", expand=True, pad_edge=False)
    table.add_column("series", overflow="fold")
    table.add_column("value", justify="right")
    for line in exposition.splitlines():
        series = re.fullmatch(r"(streamfuse_\w+_total(?:\{.*\})?) (\S+)", line)
        if series and float(series[2]) > 0:
            table.add_row(escape(series[1]), f"{float(series[2]):g}")
    return table


async def _stay(out: Console, at: str) -> None:
    body = '{"model": "loop", "stream": true, "messages": [{"role": "user", "content": "hi"}]}'
    out.print("\n[bold]Both stay up until Ctrl-C.[/] Try (models: clean, loop, think, busy, dies, tool):")
    out.print(
        f"  curl -N {at}/v1/chat/completions -H 'content-type: application/json' -d '{body}'",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
    out.print(f"What happened, and what happens now: {at}/-/", highlight=False, markup=False)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
