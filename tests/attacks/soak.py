"""Streams for minutes, some healthy, some faulty, some looping, some left by their client: nothing may be left of them.

    python -m tests.attacks.soak [--seconds 300] [--streams 100] [--pace 0.1]

The proxy runs in a process of its own and tells, every few seconds, its memory, descriptors, tasks and objects. At the
end all is quiet for a while. Exit 1: memory grew after the first third, or a task or a descriptor is left.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from proxy.observers.recent import RecentObserver
from proxy.observers.reports import Reports
from proxy.server.app import Server
from proxy.settings.load import Settings

from .healthy import WIRES, event
from .provider import SETTINGS, Line, Provider

QUIET = 66.0
"""Seconds at the end: aiohttp looks twice a minute which upstream connections have been idle for half of one."""
GROWTH, SLACK = 1.05, 4 << 20
"""How much larger memory may be at the end than after the first third: five in a hundred, and a few pages."""
LEFT = 3
"""Tasks or descriptors more than at the start that are no leak: what the standard library keeps for itself."""
LONGEST = 60
"""Events of an answer, at most."""
LOOP = "I will look at the file again and then I will go on. "
WORDS = ("the fuse reads", "each event and", "hands on what", "it may while", "a model writes", "word after word")


class Sample(NamedTuple):
    """One look at the proxy's process. Bytes and counts."""

    open: int
    rss: int
    fds: int
    tasks: int
    objects: int


def sample(server: Server) -> Sample:
    rss = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    fds = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return Sample(len(server.fuse.open), rss, fds, len(asyncio.all_tasks()), len(gc.get_objects()))


async def serve(upstream: int) -> None:
    """The proxy; a line of JSON for each line on stdin, until stdin ends."""
    tree = {**SETTINGS, "providers": {"up": {"base_url": f"http://127.0.0.1:{upstream}/v1"}}}
    server = Server(Settings.model_validate(tree), reports=Reports([RecentObserver(200, time.time)]))
    await server.start()
    print(server.port, flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(sample(server)), flush=True)
    await server.stop()


class Mixed(Provider):
    """Healthy answers at a reader's pace, and every kind of fault, by the case that is asked for."""

    def __init__(self, pace: float) -> None:
        """`pace`: seconds between two events."""
        super().__init__()
        self.pace = pace

    async def reply(self, line: Line, head: bytes, body: bytes) -> bool:
        case = head.lower().partition(b"x-case: ")[2].partition(b"\r\n")[0].decode()
        if case == "busy":
            error = b'{"error":{"message":"busy"}}'
            await line.send(b"HTTP/1.1 503 x\r\nContent-Length: %d\r\n\r\n" % len(error) + error)
            return True
        await line.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        rng = random.Random(body)
        for n in range(rng.randint(20, LONGEST)):
            said = LOOP if case == "loop" else " ".join(rng.choices(WORDS, k=2)) + f" {rng.random():.6f} "
            await chunk(line, piece({"content": said} if n else {"role": "assistant", "content": ""}))
            await asyncio.sleep(self.pace)
            if n == 8 and case in ("reset", "close", "bad chunk"):
                if case == "reset":
                    with contextlib.suppress(OSError):  # the client may have left meanwhile
                        line.reset()
                elif case == "bad chunk":
                    await line.send(b"zz\r\n")
                return False
        await chunk(line, piece({}, "stop") + b"data: [DONE]\n\n")
        await line.send(b"0\r\n\r\n")
        return True


CASES = ("healthy",) * 6 + ("loop", "busy", "reset", "close", "bad chunk")


def piece(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


async def chunk(line: Line, data: bytes) -> None:
    await line.send(b"%x\r\n%s\r\n" % (len(data), data))


async def agent(port: int, number: int, until: float, pace: float, ended: Counter[str]) -> None:
    """Asks one thing after the other; of five answers it leaves one early."""
    rng = random.Random(number)
    while time.monotonic() < until:
        case, leaves = rng.choice(CASES), rng.random() < 0.2
        asked = {**WIRES["openai_chat"].asks, "stream": True, "user": f"{number} {rng.random()}"}
        body = json.dumps(asked).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nx-case: {case}\r\nConnection: close\r\n"
        patience = rng.random() * 40 * pace if leaves else 60.0 + 2 * LONGEST * pace
        writer = None
        try:
            async with asyncio.timeout(patience):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                got = await reader.read()
            ended["whole" if b"data: [DONE]" in got else "told" if b'"error"' in got else "BARE"] += 1
        except TimeoutError:
            ended["left" if leaves else "HANGS"] += 1
        except OSError:
            ended["BROKEN"] += 1
        finally:
            if writer is not None:
                writer.transport.abort()


async def soak(seconds: float, streams: int, pace: float) -> bool:
    async with Mixed(pace) as provider:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.attacks.soak", "--serve", str(provider.port)),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert child.stdin is not None and child.stdout is not None
        ended: Counter[str] = Counter()
        try:
            port = int(await child.stdout.readline())

            async def look(at: float) -> Sample:
                assert child.stdin is not None and child.stdout is not None
                child.stdin.write(b"\n")
                seen = Sample(*json.loads(await child.stdout.readline()))
                told = " ".join(f"{name} {count}" for name, count in sorted(ended.items()))
                print(
                    f"{at:6.0f} s  open {seen.open:4}  RSS {seen.rss / 2**20:6.1f} MiB  fds {seen.fds:4}  "
                    f"tasks {seen.tasks:4}  objects {seen.objects:7}  {told}",
                    flush=True,
                )
                return seen

            began = time.monotonic()
            first = await look(0)
            until = began + seconds
            agents = [asyncio.create_task(agent(port, number, until, pace, ended)) for number in range(streams)]
            middle: Sample | None = None
            while (at := time.monotonic() - began) < seconds:
                await asyncio.sleep(min(seconds / 12, seconds - at))
                seen = await look(time.monotonic() - began)
                if middle is None and time.monotonic() - began >= seconds / 3:
                    middle = seen
            await asyncio.gather(*agents)
            await asyncio.sleep(QUIET)
            last = await look(time.monotonic() - began)
        finally:
            child.stdin.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(15):
                    await child.wait()
            if child.returncode is None:
                child.kill()
    assert middle is not None
    wrong = [
        why
        for why, bad in (
            ("memory grew after the first third", last.rss > middle.rss * GROWTH + SLACK),
            ("tasks are left", last.tasks > first.tasks + LEFT),
            ("descriptors are left", last.fds > first.fds + LEFT),
            ("requests are left", last.open > 0),
            ("an answer ended without an end, broke or hung", any(name.isupper() for name in ended)),
        )
        if bad
    ]
    print("\n".join(wrong) or "Nothing is left.")
    return not wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--pace", type=float, default=0.1, help="seconds between two events of an answer")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(given.serve))
    else:
        sys.exit(not asyncio.run(soak(given.seconds, given.streams, given.pace)))
