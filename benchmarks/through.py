"""What the proxy costs, measured beside a bare aiohttp pass-through in the same minute.

    python benchmarks/through.py [--only E,F,T,A,B,P] [--reps 3]

A: one stream of 20000 events flat out. B: 64 streams of 2000 events flat out. P: 100 streams of 50 events a second, the
case of real models. F: streams of 20 events, what a request costs. T: the
same of one token, one after the other, for the time to the first byte. E: memory of an open stream. Everything runs on
loopback in processes of its own; µs are CPU time of the proxy's process (schedstat), which other load on the machine
disturbs least; the two proxies take turns. Printed, never a test.

RIG=DIR instead drives a load rig of your own against both: DIR/run.sh NAME URL PID, upstream on 127.0.0.1:9100.
BENCH_PORT=N takes the ports N, N+101 to N+103 instead, BENCH_MODE=off switches the rules off,
BENCH_LOOP=uvloop gives streamfuse that loop. BENCH_OTHER=JSON starts a
second streamfuse with these settings and measures it in turn with the first, to see a difference of a few %;
what trying again costs while all is well:

    BENCH_OTHER='{"retry": {"request": {"max_retries": 0}, "stream": {"max_retries": 0}}, "replay": {"hold_bytes": 0}}'
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASE = int(os.environ.get("BENCH_PORT", "9100"))
UPSTREAM, PASS, FUSE, OTHER = BASE, BASE + 101, BASE + 102, BASE + 103
PROXIES = {"pass": PASS, "fuse": FUSE}
if os.environ.get("BENCH_OTHER"):
    PROXIES["other"] = OTHER


# --- the three servers -----------------------------------------------------------------------------------------------
def chunks(count: int, seed: int) -> list[bytes]:
    """A chat answer as HTTP chunks, about 300 bytes an event, in words that do not repeat themselves."""
    chance = random.Random(seed)
    letters = "etaoinshrdlucmfwyp"
    out = []
    for number in range(count + 2):
        delta: dict[str, str] = {"content": " " + "".join(chance.choices(letters, k=chance.randint(2, 9)))}
        if number == 0:
            delta = {"role": "assistant", "content": ""}
        last = number == count + 1
        choice = {
            "index": 0,
            "delta": {} if last else delta,
            "logprobs": None,
            "finish_reason": "stop" if last else None,
        }
        event = {
            "id": "chatcmpl-0123456789abcdef0123456789abcdef",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": "bench-model",
            "system_fingerprint": "fp_0123456789",
            "choices": [choice],
        }
        data = b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"
        if last:
            data += b"data: [DONE]\n\n"
        out.append(b"%x\r\n%s\r\n" % (len(data), data))
    return out


async def upstream() -> None:
    """Answers `BENCH n=COUNT r=RATE` from the message text."""
    ready = {count: chunks(count, count) for count in (1, 20, 2000, 20000)}
    paced = [chunks(600, seed) for seed in range(16)]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = int(request.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                words = dict(w.split("=") for w in body.decode().split("BENCH ")[1].split('"')[0].split())
                count, rate = int(words["n"]), float(words["r"])
                number += 1
                writer.write(head)
                if not rate:
                    for at in range(0, len(ready[count]), 64):
                        writer.write(b"".join(ready[count][at : at + 64]))
                        await writer.drain()
                else:
                    begun = time.monotonic()
                    for at, data in enumerate((paced[number % 16] if count > 1 else ready[1])[: count + 2]):
                        await asyncio.sleep(max(0.0, begun + at / rate - time.monotonic()))
                        writer.write(data)
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", UPSTREAM, backlog=1024) as server:
        await server.serve_forever()


async def passing() -> None:
    """The least that an aiohttp proxy can do."""
    import aiohttp
    from aiohttp import web

    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            body = await request.read()
            headers = {"Content-Type": "application/json"}
            async with session.post(f"http://127.0.0.1:{UPSTREAM}{request.path_qs}", data=body, headers=headers) as got:
                answer = web.StreamResponse(headers={"Content-Type": got.headers["Content-Type"]})
                await answer.prepare(request)
                async for data in got.content.iter_any():
                    await answer.write(data)
                await answer.write_eof()
                return answer

        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/{path:.*}", handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", PASS, backlog=1024).start()
        await asyncio.Event().wait()


async def fusing(port: int = FUSE, more: str = "{}") -> None:
    """streamfuse with all its default rules and sinks, but the journal's lines; `more`: settings, as JSON."""
    from proxy.observers import sinks
    from proxy.observers.reports import Reports
    from proxy.server.app import Server
    from proxy.settings.load import Settings

    settings = Settings.model_validate(
        {
            "rules": {"mode": os.environ.get("BENCH_MODE", "on")},
            "listen": {"port": port},
            "upstream": f"http://127.0.0.1:{UPSTREAM}/v1",
            **json.loads(more),
        }
    )
    here = sinks(settings)
    await Server(settings, reports=Reports([here.metrics, here.recent])).run()


# --- the load --------------------------------------------------------------------------------------------------------
async def stream(port: int, count: int, rate: float) -> tuple[int, float]:
    """One request on a connection of its own: (events, seconds to the first byte of the body)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    ask = {"model": "m", "stream": True, "messages": [{"role": "user", "content": f"BENCH n={count} r={rate}"}]}
    body = json.dumps(ask).encode()
    begun = time.monotonic()
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body) + body
    )
    await reader.readuntil(b"\r\n\r\n")
    data = await reader.read(1 << 16)
    first = time.monotonic() - begun
    events, done = 0, False
    while data:
        events += data.count(b"data: ")
        done = done or b"[DONE]" in data
        data = await reader.read(1 << 16)
    writer.close()
    if not done:
        raise RuntimeError("a stream did not end")
    return events, first


async def other() -> None:
    """A second streamfuse, with the settings of BENCH_OTHER."""
    await fusing(OTHER, os.environ["BENCH_OTHER"])


async def load(port: int, streams: int, count: int, rate: float, repeat: int = 1) -> tuple[int, int, list[float]]:
    """(events, requests, times to the first byte) of so many streams side by side, `repeat` times."""
    events, firsts = 0, []
    for _ in range(repeat):
        for got, first in await asyncio.gather(*(stream(port, count, rate) for _ in range(streams))):
            events += got
            firsts.append(first)
    return events, streams * repeat, firsts


WORK = {
    "A": (1, 20000, 0.0, 2),
    "B": (64, 2000, 0.0, 1),
    "P": (100, 600, 50.0, 1),
    "F": (16, 20, 0.0, 20),
    "T": (1, 1, 0.0, 200),
}


def cpu(pid: int) -> float:
    """CPU seconds of a process and its threads so far."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def memory(pid: int) -> int:
    """Proportional set size, bytes."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) * 1024


async def held(port: int, pid: int, streams: int) -> float:
    """KiB that an open, silent stream costs."""
    await load(port, 20, 20, 0.0)
    before = memory(pid)
    tasks = [asyncio.create_task(stream(port, 1, 0.1)) for _ in range(streams)]
    await asyncio.sleep(4)
    after = memory(pid)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return (after - before) / streams / 1024


def measure(only: list[str], reps: int, pids: dict[str, int]) -> None:
    """Print one line a workload."""
    for name in only:
        if name == "E":
            sizes = {who: asyncio.run(held(PROXIES[who], pids[who], 200)) for who in PROXIES}
            print(
                "E  KiB an open stream   " + "   ".join(f"{who} {size:.1f}" for who, size in sizes.items()), flush=True
            )
            continue
        streams, count, rate, repeat = WORK[name]
        got: dict[str, list[float]] = {who: [] for who in PROXIES}
        firsts: dict[str, list[float]] = {who: [] for who in PROXIES}
        for _ in range(reps):
            for who, port in PROXIES.items():
                begun = cpu(pids[who])
                events, requests, times = asyncio.run(load(port, streams, count, rate, repeat))
                got[who].append((cpu(pids[who]) - begun) / (requests if name in "FT" else events) * 1e6)
                firsts[who] += times
        mid = {who: statistics.median(values) for who, values in got.items()}
        unit = "µs/request" if name in "FT" else "µs/event"
        line = "   ".join(
            f"{who} {mid[who]:.1f} (first byte {statistics.median(firsts[who]) * 1e3:.1f} ms)" for who in mid
        )
        ratio = f"ratio {mid['fuse'] / mid['pass']:.2f}"
        if "other" in mid:
            ratio += f", to other {_pairs(got['fuse'], got['other'])}"
        print(f"{name}  {unit:10}   {line}   {ratio}", flush=True)


def _pairs(mine: list[float], other: list[float]) -> str:
    """Median of the ratios of neighbours in time, and their quartiles: what else the machine does hits both alike."""
    ratios = sorted(a / b for a, b in zip(mine, other, strict=True))
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    return f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Start the servers, measure, end them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="E,F,T,A,B,P")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("role", nargs="?", choices=["upstream", "pass", "fuse", "other"])
    args = parser.parse_args()
    if args.role:
        role = {"upstream": upstream, "pass": passing, "fuse": fusing, "other": other}[args.role]
        if os.environ.get("BENCH_LOOP") == "uvloop" and role is fusing:
            import uvloop

            uvloop.run(role())
        else:
            asyncio.run(role())
        return
    rig = os.environ.get("RIG")
    roles = [*PROXIES] if rig else ["upstream", *PROXIES]
    started = {
        role: subprocess.Popen([sys.executable, __file__, role], env={**os.environ, "PYTHONPATH": str(ROOT)})
        for role in roles
    }
    pids = {role: process.pid for role, process in started.items()}
    try:
        _listening([*PROXIES.values()] if rig else [UPSTREAM, *PROXIES.values()])
        if any(process.poll() is not None for process in started.values()):
            raise SystemExit("a port is taken: another measurement is running, or give another BENCH_PORT")
        if rig:
            for who, port in PROXIES.items():
                url = f"http://127.0.0.1:{port}/v1/chat/completions"
                command = [f"{rig}/run.sh", who, url, str(pids[who]), "--only", args.only, "--reps", str(args.reps)]
                subprocess.run([*command, "--spec", "m=o b=24"], check=True)
        else:
            measure(args.only.split(","), args.reps, pids)
    finally:
        for process in started.values():
            process.terminate()
            process.wait()


def _listening(ports: list[int]) -> None:
    import socket

    for port in ports:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)  # noqa: TID251  (a measuring script, not the proxy)


if __name__ == "__main__":
    main()
