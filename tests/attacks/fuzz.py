"""Random damage to healthy input, through everything that reads what strangers write. A seed decides all of it.

Held for every input: no exception but those that are declared, an answer that ends legally, the same words however
the bytes were cut into reads, and a bounded processor time.

    python -m tests.attacks.fuzz --inputs 1000000 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from proxy.settings.load import load
from proxy.settings.reading.problem import ConfigError
from rules import histories
from rules.before.request import HistoryPolicy, before, known_keys
from rules.detect import packs
from rules.during.output import Forward, Halt, Noted
from rules.during.stream import Stream
from rules.during.whole_body.sse_to_json import MISSHAPEN, gathered
from rules.during.whole_body.whole_json import watch_whole
from rules.errors.classify import response
from rules.errors.error_rules import ErrorRules
from rules.errors.provider_packs import rules_for
from rules.framing.framing import JSON_ARRAY, NDJSON, SSE, SSE_AS_SENT
from rules.framing.sse import EventTooLarge
from rules.values.failures import Failure
from rules.values.verdict import Mode
from tests.conversations import Line, gemini, ollama

from .healthy import WIRES, known
from .understanding import Understood, understand

LIMIT = 5.0
"""Seconds of processor time for one input; generous, a quadratic reader needs minutes."""
CORPUS = Path(__file__).parent / "corpus"
"""Inputs that once failed: NAME.TARGET, read by `make test`."""

RULES = packs.assemble(["default"], [], [], {})
TOKENS = (
    b"null", b"true", b"-1", b"1e400", b"{}", b"[]", b'""', b'"\\ud800"', b'"\\u0000"', b"\xff", b"\x00", b"\r",
    b"\n\n", b"\r\n\r\n", b"data:", b"event:", b": ", b"[DONE]", b'"index":-1', b'"index":99999', b'"index":"x"',
    b'"choices":null', b'"delta":[]', b'"content":5', b'"content":{"a":1}', b'"tool_calls":[null]', b'"tool_calls":{}',
    b'"function":null', b'"arguments":null', b'"arguments":{"a":1}', b'"finish_reason":5', b'"finish_reason":"length"',
    b'"finish_reason":""', b'"type":null', b'"usage":"x"', b'"error":null', b'"error":[]', b"9" * 400, b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b'"id":null', b"\\", b'"', b"[" * 60, b"NaN", b"\xe2\x80\xa8",
)  # fmt: skip
LEAVES: tuple[Any, ...] = (
    None, 5, -1, "", [], {}, "x" * 50, [None], {"a": None}, True, 1.5, 10**30, [[]], ["x"], {"type": "text"}, 1e308,
    "\ud800", "tool_calls", 0, False,
)  # fmt: skip

CONFIG = """\
listen: {host: 127.0.0.1, port: 8787, hosts: ["*.example.com"], origins: ["http://localhost:*"]}
default_provider: a
auth: {keys: ["secret-key-1234"], open: [metrics]}
providers:
  a: {base_url: "https://api.example.com/v1", api_key: "${KEY:-x}", retry: {server: {max_retries: 3}}}
  b: {base_url: "http://10.0.0.1:8000/v1", wires: [openai_chat], timeouts: {idle: 90s}, mode: watch}
routes: [{model: "deepseek-*", provider: b}]
retry: {request: {max_retries: 1, initial_delay: 10ms, jitter_ratio: 0.5}}
timeouts: {idle: 2m, headers: 1m}
limits: {request_body: 64MB, headers: 64KB}
rules: {packs: [default], mode: "on"}
errors: [{path: "$.error.code", equals: 17, retry: true}]
journal: {format: json, level: info}
privacy: {show_excerpts: false}
"""


class Chance:
    """What a seed decides."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, body: Any) -> Any:
        """The same JSON with one node of it changed."""
        draw = self.random
        if isinstance(body, dict) and body and draw.random() < 0.8:
            name, body = draw.choice(list(body)), dict(body)
            how = draw.random()
            if how < 0.15:
                del body[name]
            else:
                body[name] = draw.choice(LEAVES) if how < 0.3 else self.value(body[name])
            return body
        if isinstance(body, list) and body and draw.random() < 0.8:
            body = list(body)
            at = draw.randrange(len(body))
            body[at] = self.value(body[at])
            return body * 2 if draw.random() < 0.1 else body
        return draw.choice(LEAVES)

    def blob(self, raw: bytes) -> bytes:
        """The same bytes with one to three places changed."""
        draw, data = self.random, bytearray(raw)
        for _ in range(draw.randint(1, 3)):
            at, how = draw.randrange(len(data) + 1), draw.random()
            if how < 0.5:
                data[at:at] = draw.choice(TOKENS)
            elif how < 0.75:
                del data[at : at + draw.randint(1, 8)]
            elif at < len(data):
                data[at] = draw.randrange(256)
        return bytes(data)

    def stream(self, events: Iterable[bytes]) -> bytes:
        """Events lost, doubled, out of order, changed inside."""
        draw, said = self.random, list(events)
        for _ in range(draw.randint(1, 4)):
            at, how = draw.randrange(len(said)), draw.random()
            if how < 0.3:
                said[at] = self._event(said[at])
            elif how < 0.4:
                said.insert(at, draw.choice(said))
            elif how < 0.5:
                said[at] = b""
            elif how < 0.6:
                other = draw.randrange(len(said))
                said[at], said[other] = said[other], said[at]
            else:
                said[at] = self.blob(said[at])
        return b"".join(said)

    def _event(self, raw: bytes) -> bytes:
        head, found, data = raw.partition(b"{")
        try:
            body = json.loads(found + data)
        except ValueError:
            return raw
        return head + json.dumps(self.value(body)).encode() + data[len(data.rstrip()) :]

    def cuts(self, raw: bytes) -> list[bytes]:
        """The reads in which these bytes come."""
        draw = self.random
        longest = draw.choice((1, 40, 400, len(raw) or 1))
        pieces, at = [], 0
        while at < len(raw):
            size = draw.randint(1, longest)
            pieces.append(raw[at : at + size])
            at += size
        return pieces


def drive(wire: str, pieces: Iterable[bytes]) -> bytes:
    """What a client gets of an answer that comes in these pieces."""
    stream = Stream(*known(wire), RULES)
    out, now = bytearray(), 0.0

    def taken(came: list[Any]) -> Halt | None:
        for one in came:
            if isinstance(one, Forward):
                out.extend(one.raw)
            elif isinstance(one, Halt):
                return one
            else:
                assert isinstance(one, Noted)
        return None

    def turns(came: list[Any]) -> Halt | None:
        halt = taken(came)
        while halt is None and stream.busy:
            halt = taken(stream.more(now))
        return halt

    halt = None
    for piece in pieces:
        now += 0.01
        halt = turns(stream.feed(piece, now))
        if halt or stream.finished:
            break
    else:
        halt = turns(stream.eof(now))
    if halt is None:
        out += stream.closing()
    elif isinstance(halt.cause, Failure):
        out += stream.failing(halt.cause)
    else:
        out += stream.closing(stream.ending(1))
    return bytes(out)


def _essence(seen: Understood) -> tuple[object, ...]:
    return (seen.text, seen.finish, seen.failed) if not seen.failed else (seen.failed,)


# --- targets: each reads one input, and raises where something is wrong ----------------------------------------------
def a_stream(raw: bytes, chance: Chance) -> None:
    wire, _, raw = raw.partition(b"\n")
    name = wire.decode()
    seen = _read(name, drive(name, chance.cuts(raw)))
    if seen is None:
        return
    if not seen.failed:
        assert seen.done and (seen.finish or name == "anthropic_messages"), "a silent end"
    other = _read(name, drive(name, [raw]))
    assert other is not None and _essence(other) == _essence(seen), "the reads change the words"


def _read(wire: str, out: bytes) -> Understood | None:
    """None where the upstream's own event of a known kind has a shape that our simple reader does not take."""
    try:
        return understand(wire, out)
    except (TypeError, AttributeError, KeyError):
        return None


def a_decoder(raw: bytes, chance: Chance) -> None:
    framing = chance.random.choice((SSE, SSE_AS_SENT, NDJSON, JSON_ARRAY))
    decoder, whole = framing.decoder(64 << 10), framing.decoder(64 << 10)
    try:
        pieces = [event for piece in chance.cuts(raw) for event in decoder.feed(piece)] + list(decoder.eof())
        once = [*whole.feed(raw), *whole.eof()]
    except EventTooLarge:
        return
    told = [[event.data for event in events if event.data is not None] for events in (pieces, once)]
    assert told[0] == told[1], "the reads change the events"
    for event in pieces:
        with contextlib.suppress(ValueError):
            _ = event.json


def a_whole(raw: bytes, _chance: Chance) -> None:
    name, _, raw = raw.partition(b"\n")
    (wire, ask), body = known(name.decode(), stream=False), json.loads(raw)
    if not isinstance(body, dict):
        return
    for read in (lambda: watch_whole(wire, ask, RULES, body), lambda: wire.to_events(ask, body)):
        with contextlib.suppress(*MISSHAPEN):
            if wire.whole(body):
                read()


def a_gathering(raw: bytes, _chance: Chance) -> None:
    name, _, raw = raw.partition(b"\n")
    wire, ask = known(name.decode())
    gathered(wire, ask, raw, framing=wire.framing(ask))


def a_review(raw: bytes, _chance: Chance) -> None:
    name, _, raw = raw.partition(b"\n")
    (wire, _), body = known(name.decode()), json.loads(raw)
    if not isinstance(body, dict):
        return
    history = histories.get(wire.name)
    wire.codec(wire.ask(body))
    found = known_keys(history, body, HistoryPolicy(), Mode.ON)
    before(wire, history, body, HistoryPolicy(), Mode.ON, found=found, cuts={}, prior=None)


def an_error(raw: bytes, _chance: Chance) -> None:
    head, _, raw = raw.partition(b"\n")
    status, _, wait = head.partition(b" ")
    headers = {"retry-after": wait.decode("latin-1"), "content-type": "application/json"}
    failure = response(int(status), headers, raw, now=1e9)
    assert isinstance(failure, Failure)
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        return
    for rules in ERRORS:
        rules.failure(parsed, failure)


ERRORS: list[ErrorRules] = [
    rules_for(name, host, ())
    for name, host in (("openai", "api.openai.com"), ("gemini", "generativelanguage.googleapis.com"), ("x", "x"))
]


def a_config(raw: bytes, _chance: Chance) -> None:
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(raw)
        file.flush()
        with contextlib.suppress(ConfigError):
            load(Path(file.name), {}, {})


TARGETS: dict[str, Callable[[bytes, Chance], None]] = {
    "stream": a_stream,
    "decoder": a_decoder,
    "whole": a_whole,
    "gathering": a_gathering,
    "review": a_review,
    "error": an_error,
    "config": a_config,
}


def _history(wire: str) -> dict[str, Any]:
    """A request whose agent does one thing again and again."""
    asks = WIRES[wire].asks
    if wire == "openai_completions":
        return asks
    if wire == "ollama" or wire.startswith("gemini"):
        steps: list[Line] = [("user", "hi"), *[("call", "read", '{"a":1}', "err")] * 5]
        return {**asks, **(ollama(steps) if wire == "ollama" else gemini(steps))}
    turns: list[Any] = []
    for n in range(5):
        if wire == "openai_chat":
            call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": '{"a":1}'}}
            turns.append({"role": "assistant", "content": "same", "tool_calls": [call]})
            turns.append({"role": "tool", "tool_call_id": f"c{n}", "content": "err"})
        elif wire == "anthropic_messages":
            thinking = {"type": "thinking", "thinking": "t", "signature": ""}
            use = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"a": 1}}
            result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": "err", "is_error": True}
            turns.append({"role": "assistant", "content": [thinking, use]})
            turns.append({"role": "user", "content": [result]})
        else:
            turns.append({"type": "reasoning", "id": f"r{n}", "summary": [], "status": "incomplete"})
            turns.append({"type": "function_call", "call_id": f"c{n}", "name": "read", "arguments": '{"a":1}'})
            turns.append({"type": "function_call_output", "call_id": f"c{n}", "output": "err"})
    first = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    return {**asks, "stream": True, "input" if wire == "openai_responses" else "messages": [first, *turns]}


SHARES = {"stream": 4, "decoder": 4, "whole": 3, "gathering": 3, "review": 4, "error": 3, "config": 1}
"""How often each target is drawn: loading a config costs a hundred times as much as an event."""


def draw(chance: Chance) -> tuple[str, bytes]:
    """(target, input)."""
    pick = chance.random
    (target,) = pick.choices(list(SHARES), list(SHARES.values()))
    wire = pick.choice(list(WIRES))
    if target in ("stream", "gathering"):
        return target, wire.encode() + b"\n" + chance.stream(WIRES[wire].events)
    if target == "decoder":
        return target, chance.blob(chance.stream(WIRES[wire].events))
    if target in ("whole", "review"):
        body = json.loads(WIRES[wire].whole) if target == "whole" else _history(wire)
        for _ in range(pick.randint(0, 4)):
            body = chance.value(body)
        return target, wire.encode() + b"\n" + json.dumps(body).encode()
    if target == "error":
        body = {
            "error": {
                "message": "slow down, try again in 5s",
                "type": "t",
                "code": "rate_limit",
                "details": [{"@type": "RetryInfo", "retryDelay": "5s"}],
                "metadata": {"raw": "{}"},
            }
        }
        raw = json.dumps(chance.value(chance.value(body))).encode()
        wait = pick.choice(("1", "-1", "nan", "1e400", "soon", "9" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"))
        status = pick.choice((400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 529, 599, 999))
        return target, f"{status} {wait}\n".encode() + (chance.blob(raw) if pick.random() < 0.3 else raw)
    return target, chance.blob(CONFIG.encode())


def tried(target: str, raw: bytes, seed: int) -> str:
    """What went wrong with this input, or nothing."""
    begun = time.process_time()
    try:
        TARGETS[target](raw, Chance(seed))
    except Exception as e:
        place = traceback.extract_tb(e.__traceback__)[-1]
        return f"{type(e).__name__} at {Path(place.filename).name}:{place.lineno}: {str(e)[:100]}"
    spent = time.process_time() - begun
    return f"{spent:.1f} s of processor time" if spent > LIMIT else ""


def run(inputs: int, seed: int) -> tuple[Counter[str], dict[tuple[str, str], tuple[int, bytes]]]:
    """(inputs by target, the shortest input of each kind of failure)."""
    done: Counter[str] = Counter()
    wrong: dict[tuple[str, str], tuple[int, bytes]] = {}
    for n in range(inputs):
        this = seed * 1_000_003 + n
        target, raw = draw(Chance(this))
        done[target] += 1
        if why := tried(target, raw, this):
            known = wrong.get((target, why))
            if known is None or len(raw) < len(known[1]):
                wrong[target, why] = (this, raw)
    return done, wrong


def main() -> int:
    """1 where an input failed; each kind of failure is written into a folder, ready for the corpus."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    given = parser.parse_args()
    done, wrong = run(given.inputs, given.seed)
    print(", ".join(f"{target} {count:,}" for target, count in sorted(done.items())), f"= {done.total():,} inputs")
    for n, ((target, why), (seed, raw)) in enumerate(sorted(wrong.items())):
        given.keep.mkdir(exist_ok=True)
        (given.keep / f"{seed}-{n}.{target}").write_bytes(raw)
        print(f"WRONG {target} (seed {seed}): {why}\n      {raw[:300]!r}")
    print(f"{len(wrong)} kinds of failure")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
