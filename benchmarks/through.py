"""What the proxy costs, measured beside a bare aiohttp pass-through (and nginx, where there is one) in the same minute.

    python -m benchmarks.through [--only D,F,G,H,C1,C20,C80,C320,T,P5,P24,A5,A24,B,E] [--reps 5]

| row | what | figure |
|---|---|---|
| D | small JSON, `stream: false` | µs a request |
| F | streams of 20 events | µs a request |
| G, H | a body of 200 kB, of 2 MB, and 20 events back | µs a request |
| C1, C20, C80, C320 | an agent at that step, its past seen before: a call and 1.8 kB of result a step | µs a request |
| T | a stream of one event, one request after the other | ms to the first byte |
| P5, P24 | 100 streams of 50 events a second, the case of real models; 5 and 24 characters an event | µs an event |
| A5, A24 | one stream of 20000 events flat out | µs an event |
| B | 64 streams of 2000 events flat out, 5 characters | µs an event |
| E | memory of an open stream | KiB |

Everything runs on loopback in processes of its own; clients keep their connections, as every SDK does; streamfuse runs
as `streamfuse serve` runs it, with its journal on. µs are CPU time of the proxy's process (schedstat), which other load
on the machine disturbs least. The proxies take turns, and a ratio is the median of the ratios of neighbours in time.
Printed, never a test.

RIG=DIR instead drives a load rig of your own against both: DIR/run.sh NAME URL PID, upstream on 127.0.0.1:9100.
BENCH_NGINX=PATH names nginx where it is not on PATH (BENCH_NGINX= leaves it out).
BENCH_PORT=N takes the ports N, N+101 to N+104 instead, BENCH_MODE=off switches the rules off,
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
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bare import passing

ROOT = Path(__file__).resolve().parent.parent
BASE = int(os.environ.get("BENCH_PORT", "9100"))
UPSTREAM, PASS, FUSE, OTHER, FRONT = BASE, BASE + 101, BASE + 102, BASE + 103, BASE + 104
NGINX = (
    os.environ["BENCH_NGINX"]
    if "BENCH_NGINX" in os.environ
    else shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
)
PROXIES = {"pass": PASS, "fuse": FUSE}
if os.environ.get("BENCH_OTHER"):
    PROXIES["other"] = OTHER
if NGINX:
    PROXIES["nginx"] = FRONT


# --- the three servers -----------------------------------------------------------------------------------------------
def chunks(count: int, seed: int, chars: int = 0) -> list[bytes]:
    """A chat answer as HTTP chunks, about 300 bytes an event, in words that do not repeat themselves. `chars` in each
    event, else 3 to 10."""
    chance = random.Random(seed)
    letters = "etaoinshrdlucmfwyp"

    def word() -> str:
        return " " + "".join(chance.choices(letters, k=chance.randint(2, 9)))

    out = []
    for number in range(count + 2):
        said = word()
        while len(said) < chars:
            said += word()
        delta: dict[str, str] = {"content": said[:chars] if chars else said}
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


SMALL = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "bench-model",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Two files differ, and both of them are tests."},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21},
    }
).encode()


async def upstream() -> None:
    """Answers `BENCH n=COUNT r=RATE c=CHARACTERS` from the message text: so many events, or small JSON for n=0."""
    ready: dict[tuple[int, int], list[bytes]] = {}
    paced = {chars: [chunks(600, seed, chars) for seed in range(16)] for chars in (5, 24)}
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    small = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(SMALL), SMALL)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = int(request.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                words = dict(w.split("=") for w in body.split(b"BENCH ")[1].split(b'"')[0].decode().split())
                count, rate, chars = int(words["n"]), float(words["r"]), int(words["c"])
                number += 1
                if not count:
                    writer.write(small)
                    continue
                writer.write(head)
                if not rate:
                    if (count, chars) not in ready:
                        ready[count, chars] = chunks(count, count, chars)
                    for at in range(0, count + 2, 64):
                        writer.write(b"".join(ready[count, chars][at : at + 64]))
                        await writer.drain()
                else:
                    begun = time.monotonic()
                    for at, data in enumerate(paced[chars][number % 16] if count > 1 else chunks(1, 1)):
                        await asyncio.sleep(max(0.0, begun + at / rate - time.monotonic()))
                        writer.write(data)
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", UPSTREAM, backlog=1024, limit=8 << 20) as server:
        await server.serve_forever()


async def bare() -> None:
    """The pass-through, until it is killed."""
    async with passing(UPSTREAM, PASS):
        await asyncio.Event().wait()


def fusing(port: int = FUSE, more: str = "{}") -> None:
    """streamfuse as `streamfuse serve` runs it; `more`: settings, as JSON."""
    from proxy.server.serve import run
    from proxy.settings.load import Settings

    run(
        Settings.model_validate(
            {
                "rules": {"mode": os.environ.get("BENCH_MODE", "on")},
                "loop": os.environ.get("BENCH_LOOP", "asyncio"),
                "listen": {"port": port},
                "upstream": f"http://127.0.0.1:{UPSTREAM}/v1",
                "journal": {"format": "json"},
                **json.loads(more),
            }
        )
    )


def nginx(folder: Path) -> list[str]:
    """The command that runs nginx as the same proxy: one process, connections kept on both sides, nothing buffered."""
    (folder / "nginx.conf").write_text(
        f"""daemon off; master_process off; error_log /dev/null; pid {folder}/pid;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_max_body_size 64m; client_body_buffer_size 4m; keepalive_requests 1000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream provider {{ server 127.0.0.1:{UPSTREAM}; keepalive 256; keepalive_requests 1000000; }}
  server {{
    listen 127.0.0.1:{FRONT} backlog=1024;
    location / {{
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }}
  }}
}}
"""
    )
    return [str(NGINX), "-e", "/dev/null", "-p", str(folder), "-c", str(folder / "nginx.conf")]


# --- the load --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Work:
    """One row: `clients` connections, each with `repeat` requests one after the other."""

    clients: int
    repeat: int
    count: int
    rate: float = 0.0
    chars: int = 0
    pad: int = 0
    """Characters of the user's message."""
    steps: int = 0
    """Steps of an agent's conversation before this request."""

    @property
    def each(self) -> bool:
        """Is the figure one of a request, not of an event?"""
        return self.count <= 20


WORK = {
    "D": Work(16, 40, 0),
    "F": Work(16, 30, 20),
    "G": Work(8, 20, 20, pad=200_000),
    "H": Work(4, 6, 20, pad=2_000_000),
    "C1": Work(8, 20, 20, steps=1),
    "C20": Work(8, 20, 20, steps=20),
    "C80": Work(8, 12, 20, steps=80),
    "C320": Work(4, 8, 20, steps=320),
    "T": Work(1, 200, 1),
    "P5": Work(100, 1, 600, 50.0, 5),
    "P24": Work(100, 1, 600, 50.0, 24),
    "A5": Work(1, 2, 20000, chars=5),
    "A24": Work(1, 2, 20000, chars=24),
    "B": Work(64, 1, 2000, chars=5),
}


def result(number: int) -> str:
    """A tool's result of 1.8 kB, lines of a file that no other step has read."""
    chance = random.Random(number)
    words = ("value", "index", "result", "buffer", "handler", "request", "reader", "token", "parse", "config")
    lines = (
        f"{at:>4}  {chance.choice(words)}_{chance.randrange(999)} = {chance.choice(words)}({at})" for at in range(60)
    )
    return "\n".join(lines)[:1800]


PAST = [result(number) for number in range(320)]


def asked(work: Work, number: int) -> bytes:
    """The body of a client's request; `number` is one that no other request of this run has."""
    said = f"BENCH n={work.count} r={work.rate} c={work.chars}"
    messages: list[dict[str, object]] = [{"role": "user", "content": said}]
    if work.pad:
        messages.append({"role": "user", "content": "lorem ipsum " * (work.pad // 12)})
    for step in range(work.steps):
        newest = step == work.steps - 1
        path = f"src/{''.join(random.Random(number if newest else step).choices('etaoinshrdlu', k=9))}.py"
        call = {"id": f"call_{step}", "type": "function"}
        call["function"] = {"name": "read_file", "arguments": json.dumps({"path": path})}  # type: ignore[assignment]
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": f"call_{step}", "content": result(number) if newest else PAST[step]}
        )
    return json.dumps({"model": "m", "stream": work.count > 0, "messages": messages}).encode()


async def talk(port: int, work: Work, bodies: list[bytes]) -> tuple[int, list[float]]:
    """One client on one connection: (events, seconds to the first byte of each body)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    events, firsts = 0, []
    for body in bodies:
        begun = time.monotonic()
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Accept: application/json\r\nUser-Agent: bench/1\r\nAuthorization: Bearer key\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body
        )
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b" 200 " not in head[:16]:
            raise RuntimeError(f"not served: {head!r}")
        if b"content-length:" in head:
            await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
            firsts.append(time.monotonic() - begun)
            continue
        first, tail, done = True, b"", False
        while not tail.endswith(b"0\r\n\r\n"):
            data = await reader.read(1 << 16)
            if not data:
                raise RuntimeError("a stream did not end")
            if first:
                firsts.append(time.monotonic() - begun)
                first = False
            seen = tail + data
            events += seen.count(b"data: ") - tail.count(b"data: ")
            done = done or b"[DONE]" in seen
            tail = seen[-16:]
        if work.count and not done:
            raise RuntimeError("an answer was not whole")
    writer.close()
    return events, firsts


_number = iter(range(1000, 1 << 40))


def bodies(work: Work) -> list[list[bytes]]:
    """What each client will send, made before anything is measured."""
    same = None if work.steps else asked(work, 0)
    return [[same or asked(work, next(_number)) for _ in range(work.repeat)] for _ in range(work.clients)]


async def load(port: int, work: Work, sent: list[list[bytes]]) -> tuple[int, int, list[float]]:
    """(events, requests, times to the first byte) of all clients side by side."""
    events, firsts = 0, []
    for got, first in await asyncio.gather(*(talk(port, work, bodies) for bodies in sent)):
        events += got
        firsts += first
    return events, work.clients * work.repeat, firsts


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
    warm, work = Work(20, 1, 20), Work(streams, 1, 1, 0.1)
    await load(port, warm, bodies(warm))
    before = memory(pid)
    tasks = [asyncio.create_task(talk(port, work, sent)) for sent in bodies(work)]
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
        work = WORK[name]
        got: dict[str, list[float]] = {who: [] for who in PROXIES}
        firsts: dict[str, list[float]] = {who: [] for who in PROXIES}
        for rep in range(reps + 1):
            for who, port in PROXIES.items():
                sent = bodies(work)
                begun = cpu(pids[who])
                events, requests, times = asyncio.run(load(port, work, sent))
                if not rep and work.each:
                    continue  # the first turn makes what is kept for the next ones
                got[who].append((cpu(pids[who]) - begun) / (requests if work.each else events) * 1e6)
                firsts[who] += times
        line = "   ".join(
            f"{who} {statistics.median(values):.1f} (first byte {statistics.median(firsts[who]) * 1e3:.2f} ms)"
            for who, values in got.items()
        )
        ratio = f"ratio {_pairs(got['fuse'], got['pass'])}"
        if "other" in got:
            ratio += f", to other {_pairs(got['fuse'], got['other'])}"
        print(f"{name:5} {'µs/request' if work.each else 'µs/event':10}   {line}   {ratio}", flush=True)


def _pairs(mine: list[float], other: list[float]) -> str:
    """Median of the ratios of neighbours in time, and their quartiles: what else the machine does hits both alike."""
    ratios = sorted(a / b for a, b in zip(mine, other, strict=True))
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    return f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Start the servers, measure, end them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join([*WORK, "E"]))
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("role", nargs="?", choices=["upstream", "pass", "fuse", "other"])
    args = parser.parse_args()
    if args.role:
        roles: dict[str, Callable[[], None]] = {
            "upstream": lambda: asyncio.run(upstream()),
            "pass": lambda: asyncio.run(bare()),
            "fuse": fusing,
            "other": lambda: fusing(OTHER, os.environ["BENCH_OTHER"]),
        }
        roles[args.role]()
        return
    rig = os.environ.get("RIG")
    with tempfile.TemporaryDirectory() as folder:
        commands = {who: [sys.executable, __file__, who] for who in ([] if rig else ["upstream"]) + [*PROXIES]}
        if "nginx" in commands:
            commands["nginx"] = nginx(Path(folder))
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        started = {
            who: subprocess.Popen(command, env=env, stderr=_journal(folder, who)) for who, command in commands.items()
        }
        pids = {who: process.pid for who, process in started.items()}
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


def _journal(folder: str, who: str) -> int | None:
    """Where a streamfuse writes its lines: a file, as under a service manager. Other processes keep our stderr."""
    if who not in ("fuse", "other"):
        return None
    return os.open(f"{folder}/{who}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _listening(ports: list[int]) -> None:
    for port in ports:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)  # noqa: TID251  (a measuring script, not the proxy)


if __name__ == "__main__":
    main()
