"""`make real`: a real model on this machine falls into a real loop, without and with the fuse, and real clients end.

Everything is installed by itself, pinned: a llama.cpp server, a small model, `llm` and the Vercel AI SDK. Nothing is
asked of the network after that. Takes two or three minutes on two cores, and the third scene some ten; exits 1 where a
promise does not hold.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from .agents import KEY, Agent, Ran, Room, Start, run
from .fuse import Fuse, free_port
from .install import CACHE, NODE, home, install
from .install import main as install_all
from .real_heal import heals

PROMPT = "The old lighthouse keeper wrote in his diary:"
MODEL = "gemma-3-270m"
CONFIG = 'providers: {upstream: {base_url: "{upstream}", resume: llamacpp, heal: none}}\n'
"""These scenes show a cut alone."""
LIMIT = float(os.environ.get("REAL_LIMIT", "60"))
"""Seconds that a client gets before it is stopped; none of them sets a limit of its own."""
SDK = """
import { streamText } from 'ai'; import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
const provider = createOpenAICompatible({ name: 'local', baseURL: process.env.BASE, apiKey: 'none' });
const result = streamText({ model: provider(process.env.MODEL), prompt: process.env.PROMPT });
for await (const text of result.textStream) process.stdout.write(text);
console.error('\\nfinish reason:', await result.finishReason);
"""


def llm(room: Room) -> Start:
    models = f"- model_id: local\n  model_name: {MODEL}\n  api_base: {room.url}/v1\n"
    folder = room.write("llm/extra-openai-models.yaml", models).parent
    argv = [str(home("llm") / "bin/llm"), "-m", "local", room.prompt]
    return Start(argv, {"LLM_USER_PATH": str(folder), "OPENAI_API_KEY": KEY})


def ai_sdk(room: Room) -> Start:
    script = room.write("ask.mjs", SDK)
    (room.home / "node_modules").symlink_to(home("node-sdks") / "node_modules")
    env = {"BASE": f"{room.url}/v1", "MODEL": MODEL, "PROMPT": room.prompt}
    return Start([str(NODE), str(script)], env)


CLIENTS = (
    Agent("llm", "openai_chat", llm, tools=False, limit=LIMIT),
    Agent("Vercel AI SDK", "openai_chat", ai_sdk, tools=False, limit=LIMIT),
)


async def listening(url: str, process: asyncio.subprocess.Process) -> None:
    """Raises RuntimeError where the model's server ends, or is not healthy within two minutes."""
    async with aiohttp.ClientSession() as http:
        for _ in range(240):
            if process.returncode is not None:
                break
            try:
                async with http.get(f"{url}/health") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.5)
    raise RuntimeError("the model's server did not start")


async def ask(url: str, limit: float) -> tuple[str, str | None, dict[str, Any]]:
    """A streaming request without a token limit: (text, finish reason, what streamfuse says on the last chunk)."""
    text: list[str] = []
    said: dict[str, Any] = {}
    reason = None
    body = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": PROMPT}]}
    async with aiohttp.ClientSession() as http:
        try:
            async with asyncio.timeout(limit), http.post(f"{url}/v1/chat/completions", json=body) as answer:
                async for line in answer.content:
                    if not line.startswith(b"data: {"):
                        continue
                    chunk = orjson.loads(line[6:])
                    said = chunk.get("streamfuse") or said
                    for choice in chunk["choices"]:
                        text.append(choice["delta"].get("content") or "")
                        reason = choice["finish_reason"] or reason
        except TimeoutError:
            pass
    return "".join(text), reason, said


def ended(ran: Ran) -> str:
    return "stopped at its time limit" if ran.code is None else f"ended by itself, exit {ran.code}"


async def show(out: Console, folder: Path) -> int:
    model, port = CACHE / "model/gemma-3-270m-q4_k_m.gguf", free_port()
    url = f"http://127.0.0.1:{port}"
    server_script = Path(__file__).with_name("model_server.py")
    with (folder / "model.log").open("wb") as log:
        server = await asyncio.create_subprocess_exec(
            str(home("model") / "bin/python"), str(server_script), str(port), str(model), stdout=log, stderr=log
        )
    fuse = Fuse(url, folder, CONFIG)
    try:
        try:
            await listening(url, server)
        except RuntimeError:
            if "libgomp" not in (folder / "model.log").read_text(errors="replace"):
                raise
            out.print("The model's server needs libgomp1. On Debian or Ubuntu: apt-get install libgomp1")
            return 1
        await fuse.start()
        code = await scenes(out, folder, url, fuse)
        out.print("[bold]3. Cut, and healed[/]: the same greedy prompts, characters counted and not seconds")
        return 1 if await heals(out, url, MODEL) is False else code
    finally:
        await fuse.stop()
        if server.returncode is None:
            server.kill()
        await server.wait()


async def scenes(out: Console, folder: Path, url: str, fuse: Fuse) -> int:
    out.print(f"[bold]1. Gemma 3 270M on llama.cpp, asked to go on with:[/] {PROMPT}")
    begun = time.monotonic()
    through, reason, said = await ask(fuse.url, 5 * LIMIT)
    took = time.monotonic() - begun
    bare, bare_reason, _ = await ask(url, LIMIT)
    table = Table(expand=True)
    table.add_column(f"without ({LIMIT:.0f} s, then we gave up)", ratio=1)
    table.add_column("with streamfuse", ratio=1)
    table.add_row(_middle(bare), through)
    table.add_row(
        f"{len(bare):,} characters, finish_reason: {bare_reason}",
        f"{len(through):,} characters in {took:.0f} s, finish_reason: {reason}",
    )
    out.print(table)
    out.print(f"on the last chunk: {orjson.dumps(said).decode()}")
    cuts = await fuse.metric("streamfuse_loops_total", action="cut")
    for line in await _metrics(fuse):
        out.print(f"[dim]{line}[/]", highlight=False)
    out.print(f"[bold]2. Real clients that set no token limit[/] (each gets {LIMIT:.0f} s)")
    table = Table(expand=True)
    for column in ("client", "without", "with streamfuse", "seconds", "characters"):
        table.add_column(column)
    good = cuts == 1 and reason == "stop"
    for client in CLIENTS:
        cells, runs = [client.name], []
        for at, where in (("without", url), ("with", fuse.url)):
            place = folder / f"{client.name.split()[0]}-{at}"
            room = Room(place / "home", place / "work", where, PROMPT)
            room.home.mkdir(parents=True)
            room.work.mkdir()
            begun = time.monotonic()
            ran = await run(client, room)
            runs.append((ran, time.monotonic() - begun))
            cells.append(ended(ran))
        cells.append(" / ".join(f"{seconds:.0f}" for _, seconds in runs))
        cells.append(" / ".join(f"{len(ran.out):,}" for ran, _ in runs))
        table.add_row(*cells)
        good = good and runs[0][0].code is None and runs[1][0].code == 0
    out.print(table)
    out.print(Panel("Every promise held." if good else "[red]A promise did not hold.[/]"))
    return 0 if good else 1


def _middle(text: str, most: int = 700) -> str:
    return text if len(text) <= most else f"{text[:most]}… [{len(text) - most:,} more characters of the same]"


async def _metrics(fuse: Fuse) -> list[str]:
    async with aiohttp.ClientSession() as http, http.get(f"{fuse.url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    wanted = ("streamfuse_loops_total{", "streamfuse_stream_end_total{", "streamfuse_loop_chars_after_onset_sum")
    return [line for line in lines if line.startswith(wanted)]


def main() -> int:
    out = Console(width=None if sys.stdout.isatty() else 110)
    install_all(["llm", "node-sdks", "model"])
    reasons = [reason for reason in map(install, ("llm", "node-sdks", "model")) if reason]
    if reasons:
        out.print(*reasons, sep="\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(show(out, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
