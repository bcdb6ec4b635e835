"""CPU of the engine alone, in microseconds for each one-token event: `python -m benchmarks.engine [--seconds S]`.

Prints, asserts nothing. Times are CPU time of this process, the best of five; run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable

import orjson

from rules import wires
from rules.detect import packs
from rules.detect.ruleset import RuleSet
from rules.during.stream import Stream
from rules.framing.sse import Decoder, encode

TEXT = """the rain had stopped before noon and a thin light lay over the harbour where two boats were being
unloaded by men who did not speak much to each other because the work was heavy"""
WORDS = TEXT.split()
HEAD = {
    "id": "chatcmpl-CgR1",
    "object": "chat.completion.chunk",
    "created": 1764400001,
    "model": "gpt-5.1-2025-11-13",
    "service_tier": "default",
    "system_fingerprint": "fp_a1b2c3d4e5",
}


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    """A chunk of the usual size, 270 bytes or so."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return encode(orjson.dumps({**HEAD, "choices": [choice], "usage": None}))


def answer(events: int) -> list[bytes]:
    """Text that never repeats exactly: words in an order that a counter stirs."""
    state = 12345
    out = [event({"role": "assistant", "content": ""})]
    for _ in range(events):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(event({"content": " " + WORDS[state % len(WORDS)] + ("." if state % 11 == 0 else "")}))
    return out


def call(fragments: int) -> list[bytes]:
    """One tool call that writes a file, held from its first fragment to its last."""

    def fragment(arguments: str, **first: object) -> bytes:
        name = {"name": "write_file"} if first else {}
        tool = {"index": 0, **first, "function": {**name, "arguments": arguments}}
        choice = {"index": 0, "delta": {"tool_calls": [tool]}, "logprobs": None, "finish_reason": None}
        return encode(orjson.dumps({**HEAD, "choices": [choice], "usage": None}))

    words = [fragment(f" {WORDS[n % len(WORDS)]}{n}") for n in range(fragments)]
    return [fragment('{"text": "', id="call_1", type="function"), *words, fragment('"}')]


def best(run: Callable[[], None], events: int, repeats: int = 5) -> float:
    """Microseconds of CPU for each event."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times) / events * 1e6


def streamed(chunks: list[bytes], rules: RuleSet | None) -> Callable[[], None]:
    wire = wires.get("openai_chat")
    ask = wire.ask({"model": "m", "stream": True, "messages": [{"role": "user", "content": "tell"}]})

    def run() -> None:
        stream = Stream(wire, ask, rules)
        for chunk in chunks:
            stream.feed(chunk, 1.0)
            while stream.busy:
                stream.more(1.0)
        assert stream.finding is None, "the benchmark's own text set a rule off"

    return run


def decoded(chunks: list[bytes]) -> Callable[[], None]:
    def run() -> None:
        decoder = Decoder()
        for chunk in chunks:
            decoder.feed(chunk)

    return run


def parsed(chunks: list[bytes]) -> Callable[[], None]:
    datas = [event.data or b"" for chunk in chunks for event in Decoder().feed(chunk)]

    def run() -> None:
        for data in datas:
            orjson.loads(data)

    return run


def joined(events: list[bytes], together: int) -> list[bytes]:
    return [b"".join(events[at : at + together]) for at in range(0, len(events), together)]


def memory(rules: RuleSet | None, streams: int = 200, events: int = 100) -> float:
    """KiB that one open stream keeps, after so many events."""
    wire = wires.get("openai_chat")
    chunks = answer(events)
    ask = wire.ask({"model": "m", "stream": True, "messages": []})
    for chunk in chunks:
        Stream(wire, ask, rules).feed(chunk, 1.0)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [Stream(wire, ask, rules) for _ in range(streams)]
    for stream in kept:
        for chunk in chunks:
            stream.feed(chunk, 1.0)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / len(kept) / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000, help="length of the long answer")
    given = parser.parse_args()
    events = answer(given.events)
    pack = RuleSet(packs.gather(packs.load("default")))
    print(f"Python {sys.version.split()[0]}, {len(events)} events of {len(events[1])} bytes, {len(pack)} rules")
    print(f"{'µs of CPU an event':36} {'64 a read':>10} {'1 a read':>10}")
    rows: list[tuple[str, Callable[[list[bytes]], Callable[[], None]]]] = [
        ("orjson.loads alone, to compare with", parsed),
        ("decoder", decoded),
        ("+ codec, transcript (no rules)", lambda chunks: streamed(chunks, None)),
        ("+ default pack", lambda chunks: streamed(chunks, pack)),
    ]
    for name, make in rows:
        many, one = (best(make(joined(events, together)), len(events)) for together in (64, 1))
        print(f"{name:36} {many:10.2f} {one:10.2f}")
    short = answer(500)
    for name, rules in (("no rules", None), ("default pack", pack)):
        fast = best(lambda rules=rules: [streamed(short, rules)() for _ in range(20)], 20 * len(short))  # type: ignore[misc]
        print(f"{'20 short answers, ' + name:36} {'':10} {fast:10.2f}")
    for length in (500, 8000):
        fragments = call(length)
        one = best(streamed(fragments, None), len(fragments), repeats=3)
        print(f"{f'a held call of {length} fragments':36} {'':10} {one:10.2f}")
    for length, count in ((100, 200), (2000, 20)):
        without, full = memory(None, count, length), memory(pack, count, length)
        print(
            f"KiB an open stream after {length} events: {without:.1f} without rules, {full:.1f} with the default pack"
        )


if __name__ == "__main__":
    main()
