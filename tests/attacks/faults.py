"""Every fault of a provider at every place of its answer, on every wire: never half a call, never a silent end,
never the same text twice, never a hang, never more calls than the budgets allow, and a single early fault is unseen.

`python -m tests.attacks.faults` runs all of it, prints a table, then runs all odd answers (`odd.py`); it exits with 1
where one stream was wrong.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from benchmarks.outage import skipping
from proxy.server.app import Server

from . import odd
from .agent import Got, Understood, ask, understand
from .healthy import ARGUMENTS, TEXT, THOUGHT, WIRES
from .provider import CALLS, Line, Provider, Script, served

HEAD = "HTTP/1.{} 200 OK\r\nContent-Type: text/event-stream\r\n{}\r\n"
FRAMINGS = ("chunked", "close", "http10", "length")


class Answering:
    """An answer on its way, in one of the ways to say where a body ends."""

    def __init__(self, line: Line, framing: str, total: int) -> None:
        self.line, self.framing, self.total = line, framing, total

    async def head(self) -> None:
        how = {"chunked": "Transfer-Encoding: chunked\r\n", "length": f"Content-Length: {self.total}\r\n"}
        minor = 0 if self.framing == "http10" else 1
        await self.line.send(HEAD.format(minor, how.get(self.framing, "Connection: close\r\n")).encode())

    async def data(self, raw: bytes) -> None:
        if raw:
            await self.line.send(b"%x\r\n%s\r\n" % (len(raw), raw) if self.framing == "chunked" else raw)

    async def end(self) -> None:
        if self.framing == "chunked":
            await self.line.send(b"0\r\n\r\n")


Fault = Callable[[Answering], Awaitable[bool]]
"""Does what goes wrong; whether the answer ends with it."""


async def _reset(answering: Answering) -> bool:
    await answering.line.pause()
    answering.line.reset()
    return True


async def _closed(_: Answering) -> bool:
    return True


async def _ended(answering: Answering) -> bool:
    await answering.end()
    return True


async def _no_chunk(answering: Answering) -> bool:
    await answering.line.send(b"zzz\r\nfoo\r\n")
    await answering.line.pause()
    return True


async def _silent(answering: Answering) -> bool:
    await answering.line.closed()
    return True


async def _told(answering: Answering) -> bool:
    body = {"error": {"message": "upstream died", "type": "server_error", "code": 500}}
    await answering.data(b"data: " + json.dumps(body).encode() + b"\n\n")
    await answering.end()
    return True


async def _endless(answering: Answering) -> bool:
    await answering.data(b'data: {"x":"')
    for _ in range(17):
        await answering.data(b"a" * (1 << 20))
    await answering.data(b'"}\n\n')
    return False


def _between(raw: bytes) -> Fault:
    async def fault(answering: Answering) -> bool:
        await answering.data(raw)
        return False

    return fault


ENDS: dict[str, Fault] = {
    "reset": _reset,
    "closed": _closed,
    "ended without a finish": _ended,
    "not a chunk": _no_chunk,
    "silence": _silent,
    "an error event": _told,
}
"""The answer is over."""

HARMLESS: dict[str, Fault] = {
    "a comment": _between(b": keepalive\n\n"),
    "a CRLF comment": _between(b":\r\n\r\n"),
    "id and retry": _between(b"id: 1\nretry: 10\n\n"),
    "empty data": _between(b"data:\n\n"),
    "a name without data": _between(b"event: x\n\n"),
}
"""Nothing is lost by it: the answer must come whole."""

BETWEEN: dict[str, Fault] = {
    "a byte order mark": _between(b"\xef\xbb\xbf"),
    "broken JSON": _between(b'data: {"broken\n\n'),
    "plain words": _between(b"data: hello\n\n"),
    "NUL": _between(b"data: \x00\x00\n\n"),
    "no UTF-8": _between(b'data: {"x":"\xff\xfe"}\n\n'),
    "null": _between(b"data: null\n\n"),
    "a list": _between(b"data: []\n\n"),
    "a number": _between(b"data: 1e999\n\n"),
    "an empty object": _between(b"data: {}\n\n"),
    "an event of a vendor": _between(b'event: vendor.new\ndata: {"type":"vendor.new","x":1}\n\n'),
    "HTML": _between(b"<html>502 Bad gateway</html>\n\n"),
    "a deep list": _between(b"data: " + b"[" * 5000 + b"]" * 5000 + b"\n\n"),
    "a deep object": _between(b"data: " + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"\n\n"),
    "a long number": _between(b'data: {"n":' + b"9" * 5000 + b"}\n\n"),
    "an error as a string": _between(b'data: {"error":"overloaded"}\n\n'),
    "a named error": _between(b'event: error\ndata: {"error":{"message":"overloaded","type":"overloaded_error"}}\n\n'),
    "17 MB": _endless,
}
"""The provider goes on after it."""


def _half(raw: bytes) -> bytes:
    return raw[: 6 + len(raw) // 2] + b"\n\n"


def _torn(between: bytes) -> Callable[[bytes], bytes]:
    return lambda raw: raw[: 6 + len(raw) // 2] + between + raw[6 + len(raw) // 2 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "an event cut short": _half,
    "an event torn by a line break": _torn(b"\n"),
    "an event torn in two": _torn(b"\n\n"),
}
"""One event of the answer cannot be read."""

TWICE = "an event twice"
KINDS = (*ENDS, *HARMLESS, *BETWEEN, *DAMAGE, TWICE)
PLACES = ("before the head", "after the head", "start", "thought", "text", "tool", "finish", "usage", "done")
EARLY = PLACES[:3]


@dataclass(frozen=True)
class Case:
    """One stream."""

    wire: str
    kind: str
    place: str
    framing: str
    always: bool
    """The fault comes in every try, not only in the first."""
    split: bool
    """Each event comes in two reads."""

    def __str__(self) -> str:
        often, cut = "always" if self.always else "once", ", split" if self.split else ""
        return f"{self.wire}: {self.kind}, {self.place}, {self.framing}, {often}{cut}"

    @property
    def at(self) -> int:
        """Events that come before the fault."""
        if self.place == "after the head":
            return 0
        where = [n for n, said in enumerate(WIRES[self.wire].said) if said.place == self.place]
        return where[len(where) // 2] + 1

    def events(self) -> list[bytes]:
        """What the provider says, damage and doubled events included."""
        events = [raw for _, raw in WIRES[self.wire].said]
        if self.kind in DAMAGE:
            events[self.at - 1] = DAMAGE[self.kind](events[self.at - 1])
        elif self.kind == TWICE:
            events.insert(self.at, events[self.at - 1])
        return events

    def script(self) -> Script:
        async def script(line: Line, call: int) -> bool:
            bad = self.always or call == 1
            events = self.events() if bad else [raw for _, raw in WIRES[self.wire].said]
            fault = (ENDS | HARMLESS | BETWEEN).get(self.kind) if bad else None
            if fault and self.place == "before the head":
                return await _before(line, self.kind)
            answering = Answering(line, self.framing, sum(map(len, events)))
            await answering.head()
            for n, raw in enumerate(events):
                if fault and n == self.at and await fault(answering):
                    return False
                if self.split:
                    await answering.data(raw[: len(raw) // 2])
                    await line.pause()
                    raw = raw[len(raw) // 2 :]
                await answering.data(raw)
            if fault and self.at >= len(events) and await fault(answering):
                return False
            await answering.end()
            return self.framing in ("chunked", "length")

        return script


async def _before(line: Line, kind: str) -> bool:
    """A fault before the status line."""
    if kind == "an error event":
        body = b'{"error":{"message":"no"}}'
        await line.send(b"HTTP/1.1 503 x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
        await line.send(body)
        return True
    if kind == "reset":
        line.reset()
    elif kind == "not a chunk":
        await line.send(b"HTP/1.1 banana\r\n\r\n")
    elif kind == "silence":
        await line.closed()
    return False


def _framings(kind: str) -> tuple[str, ...]:
    if kind in ("silence", "17 MB", "not a chunk"):
        return FRAMINGS[:1]
    if kind in ("reset", "closed"):
        return FRAMINGS
    return FRAMINGS[:2]


def cases() -> Iterator[Case]:
    """All of them, in a fixed order."""
    for wire, known in WIRES.items():
        places = {said.place for said in known.said}
        for kind in KINDS:
            for place in PLACES:
                if place == "before the head" and (kind not in ENDS or kind == "ended without a finish"):
                    continue
                if place not in EARLY[:2] and place not in places:
                    continue
                if place == "after the head" and (kind in DAMAGE or kind == TWICE):
                    continue
                for framing in _framings(kind):
                    splits = (False, True) if framing == "chunked" and kind not in ("silence", "17 MB") else (False,)
                    for split in splits:
                        for always in (True, False):
                            yield Case(wire, kind, place, framing, always, split)


def judge(case: Case, got: Got, calls: int) -> tuple[str, list[str]]:
    """(`whole`, `error`, `refused` or `wrong`, what is wrong)."""
    wrong = []
    if calls > CALLS:
        wrong.append(f"{calls} calls")
    if got.broken:
        return "wrong", [*wrong, f"the answer {got.broken}"]
    if got.status != 200:
        try:
            if not json.loads(got.body)["error"]:
                wrong.append("an error that says nothing")
        except (ValueError, KeyError, TypeError):
            wrong.append("an error that is not in the common shape")
        return "refused", wrong + _hidden(case, "refused")
    seen = understand(case.wire, got.body)
    result = "error" if seen.failed else "whole"
    wrong += seen.faults if _own(case) else []
    wrong += _text(case, seen) + _calls(case, seen)
    if not seen.failed and not (seen.done and seen.finish):
        wrong.append("a silent end")
    if case.kind in ENDS or case.kind in HARMLESS:
        try:
            import_module(f"tests.readers.{case.wire}").read(_named(got.body))
        except (AssertionError, KeyError, TypeError, ValueError) as e:
            wrong.append(f"the strict reader: {e!r}"[:100])
    return result, wrong + _hidden(case, result)


def _named(raw: bytes) -> bytes:
    """Without lines that carry nothing: an `id:` or `retry:` of the provider passes, and no reader minds."""
    return b"".join(line for line in raw.splitlines(True) if not line.startswith((b"id:", b"retry:", b"event: x")))


def _own(case: Case) -> bool:
    """A break of grammar is ours: the provider's own answer has none."""
    return not understand(case.wire, b"".join(case.events())).faults and case.kind not in BETWEEN


def _direct(case: Case) -> Understood:
    return understand(case.wire, b"".join(case.events()))


def _text(case: Case, seen: Understood) -> list[str]:
    """A beginning of what was said, and all of it where the answer counts as whole."""
    whole = {TEXT} | ({_direct(case).text} if case.kind == TWICE else set())
    thought = {THOUGHT} | ({_direct(case).thought} if case.kind == TWICE else set())
    wrong = []
    if seen.failed:
        if not any(one.startswith(seen.text) for one in whole):
            wrong.append(f"other text: {seen.text!r}")
    elif seen.text not in whole:
        wrong.append(f"short or doubled text: {seen.text!r}")
    if not any(one.startswith(seen.thought) for one in thought):
        wrong.append(f"other thoughts: {seen.thought!r}")
    return wrong


def _calls(case: Case, seen: Understood) -> list[str]:
    """Whole calls or none."""
    whole = {ARGUMENTS} | (set(_direct(case).calls.values()) if case.kind == TWICE else set())
    wrong = [f"half a call: {one!r}" for one in seen.calls.values() if one not in whole]
    if not seen.failed and WIRES[case.wire].tools and not seen.calls:
        wrong.append("the call is missing")
    return wrong


def _hidden(case: Case, result: str) -> list[str]:
    """A harmless thing changes nothing; one failure before anything was said is not seen."""
    if result != "whole" and case.kind in HARMLESS:
        return ["harmless, and yet no whole answer"]
    if result != "whole" and not case.always and case.place in EARLY:
        return ["one early fault was not hidden"]
    return []


async def run(case: Case, provider: Provider, server: Server) -> tuple[str, list[str]]:
    """Ask once, and judge."""
    name = str(abs(hash(case)))
    provider.scripts[name] = case.script()
    got = await ask(server.port, case.wire, name)
    return judge(case, got, provider.calls[name] - provider.stale[name])


async def run_all(chosen: list[Case], *, together: int = 24, idle: str = "2s") -> list[tuple[Case, str, list[str]]]:
    """Every case with its result, `together` at a time. `idle`: how long the proxy waits for a silent provider."""
    turn = asyncio.Semaphore(together)
    timeouts = {"idle": idle, "headers": idle, "first_event": idle, "first_event_alive": idle}

    async with Provider() as provider, served(provider, timeouts=timeouts) as server:

        async def one(case: Case) -> tuple[Case, str, list[str]]:
            async with turn:
                return (case, *await run(case, provider, server))

        return await asyncio.gather(*(one(case) for case in chosen))


def main() -> int:
    """The whole matrix, and every odd answer; 1 where one was wrong."""
    chosen = list(cases())
    results = asyncio.run(run_all(chosen, idle="4s"))
    table = Counter((case.kind, result) for case, result, _ in results)
    print(f"{'fault':32}{'whole':>8}{'error':>8}{'refused':>8}")
    for kind in KINDS:
        print(f"{kind:32}" + "".join(f"{table[kind, column]:8}" for column in ("whole", "error", "refused")))
    wrong = [(case, why) for case, _, why in results if why]
    for case, why in wrong:
        print(f"WRONG {case}: {'; '.join(why)}")
    print(f"{len(results)} streams, {len(wrong)} wrong")
    oddities = skipping.run(odd.run_all())
    amiss = [(one, why) for one, why in oddities if why]
    for one, why in amiss:
        print(f"WRONG {one}: {'; '.join(why)}")
    print(f"{len(oddities)} odd answers, {len(amiss)} wrong")
    return 1 if wrong or amiss else 0


if __name__ == "__main__":
    sys.exit(main())
