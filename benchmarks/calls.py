"""Calls of one request in the proxy's thread, counted: the one figure of performance that a busy machine cannot change.

    python -m benchmarks.calls [--tree json|stream] [--depth 6]

A bare aiohttp pass-through is counted beside it. Provider and client are plain sockets in a thread of their own, one
request after the other on one connection each, so that every read brings the same bytes every time; the figure is the
median of REQUESTS requests after WARM ones. Counted are what `sys.setprofile` tells: functions in Python and functions
in C, not operators and classes. `tests/benchmarks/test_calls.py` holds a bar over the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import statistics
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from types import FrameType
from typing import Any, TypeAlias

from benchmarks.bare import passing
from benchmarks.through import chunks

WARM = 8
REQUESTS = 9

Started: TypeAlias = Callable[[int], AbstractAsyncContextManager[int]]
"""Starts a proxy in this loop before the provider on this port; gives its own port."""

JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n"


def _whole() -> bytes:
    message = {"role": "assistant", "content": "Two files differ, and both of them are tests."}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "m"}
    body = json.dumps({**head, "choices": [choice], "usage": usage}).encode()
    return JSON % (len(body), body)


ANSWERS = {"json": _whole(), "stream": STREAM % b"".join(chunks(20, 20))}
"""What the provider says: one small JSON, or a stream of 20 events in one packet."""


def ask(streaming: bool, port: int) -> bytes:
    """A request as an SDK writes it."""
    body = json.dumps({"model": "m", "stream": streaming, "messages": [{"role": "user", "content": "What differs?"}]})
    return (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n"
        "Content-Type: application/json\r\nUser-Agent: bench/1\r\nAuthorization: Bearer key\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def everything(upstream: int) -> dict[str, Any]:
    """A config with all that watches a provider and tells of it, while all is well."""
    url = f"http://127.0.0.1:{upstream}/v1"
    sick = {
        "concurrency": {"limit": 500, "queue": 100, "adaptive": True},
        "breaker": {"failures": 5, "pause": "10s"},
        "fallback": [{"provider": "spare"}],
    }
    return {
        "providers": {"main": {"base_url": url, **sick}, "spare": {"base_url": url}},
        "default_provider": "main",
        "notify": {"url": url},
    }


@asynccontextmanager
async def fusing_all(upstream: int) -> Any:
    """The same with a limit of calls, a breaker, a fallback, the webhook and OpenTelemetry on (what exports apart)."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    from proxy.observers.notify import observer as notifying
    from proxy.observers.otlp.measured import Measured
    from proxy.observers.otlp.traces import Traces
    from proxy.observers.telemetry import TelemetryObserver
    from proxy.settings.load import Settings

    settings = Settings.model_validate(everything(upstream))
    traces = Traces(TracerProvider(shutdown_on_exit=False), lambda trace: None)
    measured = Measured(Resource({}), InstrumentationScope("streamfuse"))
    telemetry = TelemetryObserver(settings, traces, measured)
    async with fusing(upstream, everything(upstream), (notifying(settings), telemetry), traces) as port:
        yield port


@asynccontextmanager
async def fusing(
    upstream: int, more: dict[str, Any] | None = None, sinks: Sequence[Any] = (), tracing: Any = None
) -> Any:
    """streamfuse as `streamfuse serve` runs it: default rules, all sinks, the journal as JSON (to /dev/null). `more`:
    another config than the upstream alone; `sinks`: besides those; `tracing`: takes the client's trace on."""
    from pathlib import Path

    from proxy.observers.journal import JournalObserver
    from proxy.observers.metrics import MetricsObserver
    from proxy.observers.recent import RecentObserver
    from proxy.observers.reports import Reports
    from proxy.server.app import Server
    from proxy.settings.load import Settings

    tree = more if more is not None else {"upstream": f"http://127.0.0.1:{upstream}/v1"}
    settings = Settings.model_validate({"listen": {"port": 0}, **tree})
    with Path("/dev/null").open("w") as out:  # noqa: ASYNC230  (opened once, before anything is counted)
        journal = JournalObserver(format="json", stream=out)
        all_sinks = [MetricsObserver(), journal, RecentObserver(100, lambda: 0.0), *sinks]
        server = Server(settings, reports=Reports(all_sinks, tracing))
        await server.start()
        try:
            yield server.port
        finally:
            await server.stop()
            journal.close()


class Count:
    """Counts calls from `on` to `off`; with `tree` also by path of callers, `depth` names from the task's own."""

    def __init__(self, tree: bool = False) -> None:
        self.calls = 0
        self.tree = tree
        self.by: Counter[tuple[str, ...]] = Counter()

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            self.calls += 1
            if self.tree:
                self.by[_path(frame)] += 1
        elif event == "c_call":
            self.calls += 1
            if self.tree:
                self.by[(*_path(frame), called.__qualname__)] += 1


def _path(frame: FrameType | None) -> tuple[str, ...]:
    path = []
    while frame is not None:
        code = frame.f_code
        path.append(f"{code.co_filename.rpartition('/')[2].removesuffix('.py')}.{code.co_qualname}")
        frame = frame.f_back
    return tuple(reversed(path))


async def count(start: Started, kind: str, counting: Count | None = None) -> float:
    """Calls of one request."""
    counting = counting or Count()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with start(listening.getsockname()[1]) as port:
            got = asyncio.to_thread(_talk, listening, port, kind, counting)
            sys.setprofile(counting)
            try:
                marks = await got
            finally:
                sys.setprofile(None)
    return statistics.median(after - before for before, after in pairwise(marks))


def _talk(listening: socket.socket, port: int, kind: str, counting: Count) -> list[int]:
    """Client and provider in one thread: the counter's value after each request."""
    request, answer = ask(kind == "stream", port), ANSWERS[kind]
    marks = []
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        provider = None
        for number in range(WARM + REQUESTS):
            client.sendall(request)
            if provider is None:
                provider = listening.accept()[0]
                provider.settimeout(10)
            _request(provider)
            provider.sendall(answer)
            _answer(client)
            if number == WARM - 1:
                counting.by.clear()
            if number >= WARM - 1:
                marks.append(counting.calls)
        assert provider is not None
        provider.close()
    return marks


def _request(provider: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += provider.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    left = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]) - len(body)
    while left > 0:
        left -= len(provider.recv(left))


def _answer(client: socket.socket) -> None:
    """One answer to its end: all of its length, or the last chunk."""
    data = client.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    if b"content-length:" in head.lower():
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += client.recv(1 << 16)
        return
    while not body.endswith(b"0\r\n\r\n"):
        body += client.recv(1 << 16)


def show(counting: Count, depth: int) -> None:
    """The tree of calls, most first, per request."""
    sums: Counter[tuple[str, ...]] = Counter()
    for path, calls in counting.by.items():
        for end in range(1, min(len(path), depth) + 1):
            sums[path[:end]] += calls

    def line(at: tuple[str, ...]) -> None:
        below = [path for path in sums if len(path) == len(at) + 1 and path[: len(at)] == at]
        for path in sorted(below, key=lambda path: -sums[path]):
            if (each := sums[path] / REQUESTS) >= 1:
                print(f"{each:7.1f} {'  ' * len(at)}{path[-1]}")
                line(path)

    line(())


def main() -> None:
    """Print the figures, or one tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", choices=[*ANSWERS])
    parser.add_argument("--depth", type=int, default=12)
    args = parser.parse_args()
    if args.tree:
        counting = Count(tree=True)
        asyncio.run(_one(fusing, args.tree, counting))
        show(counting, args.depth)
        return
    for kind in ANSWERS:
        bare, fuse = (asyncio.run(_one(start, kind, Count())) for start in (passing, fusing))
        print(f"{kind:8} pass-through {bare:.0f}   streamfuse {fuse:.0f}   ratio {fuse / bare:.2f}")


def _one(start: Started, kind: str, counting: Count) -> Awaitable[float]:
    return count(start, kind, counting)


if __name__ == "__main__":
    main()
