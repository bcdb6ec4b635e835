"""Every fault of a provider at every place of its answer, on every wire: never half a call, never a silent end,
never the same text twice, never a hang, never more calls than the budgets allow, and a single early fault is unseen.

`python -m tests.attacks.faults` runs all of it, prints a table, then runs all odd answers (`odd.py`); it exits with 1
where one stream was wrong.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from benchmarks.outage import skipping
from proxy.server.app import Server

from . import odd
from .agent import Got, ask
from .forms import Form
from .healthy import ARGUMENTS, TEXT, THOUGHT, WIRES
from .provider import CALLS, Line, Provider, Script, served
from .understanding import Understood, understand

HEAD = "HTTP/1.{} 200 OK\r\nContent-Type: {}\r\n{}\r\n"
FRAMINGS = ("chunked", "close", "http10", "length")


class Answering:
    """An answer on its way, in one of the ways to say where a body ends."""

    def __init__(self, line: Line, framing: str, total: int, form: Form) -> None:
        self.line, self.framing, self.total, self.form = line, framing, total, form
        self._first = True

    async def head(self) -> None:
        how = {"chunked": "Transfer-Encoding: chunked\r\n", "length": f"Content-Length: {self.total}\r\n"}
        minor = 0 if self.framing == "http10" else 1
        await self.line.send(
            HEAD.format(minor, self.form.kind, how.get(self.framing, "Connection: close\r\n")).encode()
        )

    def led(self, raw: bytes) -> bytes:
        """The event, parted from those before it."""
        raw = self.form.lead(raw, self._first) + raw
        self._first = self._first and not raw.strip()
        return raw

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
    await answering.data(answering.led(answering.form.event(body)))
    await answering.end()
    return True


async def _endless(answering: Answering) -> bool:
    form = answering.form
    await answering.data(answering.led(form.head + b'{"x":"'))
    for _ in range(17):
        await answering.data(b"a" * (1 << 20))
    await answering.data(b'"}' + form.end)
    return False


def _between(data: bytes, name: str = "") -> Fault:
    """An event with this data."""

    async def fault(answering: Answering) -> bool:
        await answering.data(answering.led(answering.form.event(data, name)))
        return False

    return fault


def _plain(raw: bytes) -> Fault:
    """These bytes, without what an event has around them."""

    async def fault(answering: Answering) -> bool:
        await answering.data(answering.led(raw) + answering.form.end)
        return False

    return fault


def _quiet(name: str) -> Fault:
    """What its framing knows as nothing."""

    async def fault(answering: Answering) -> bool:
        await answering.data(answering.form.noise[name])
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

HARMLESS: dict[str, Fault] = {name: _quiet(name) for wire in WIRES.values() for name in wire.form.noise}
"""Nothing is lost by it: the answer must come whole."""

BETWEEN: dict[str, Fault] = {
    "a byte order mark": _plain(b"\xef\xbb\xbf"),
    "broken JSON": _between(b'{"broken'),
    "plain words": _between(b"hello"),
    "NUL": _between(b"\x00\x00"),
    "no UTF-8": _between(b'{"x":"\xff\xfe"}'),
    "null": _between(b"null"),
    "a list": _between(b"[]"),
    "a number": _between(b"1e999"),
    "an empty object": _between(b"{}"),
    "an event of a vendor": _between(b'{"type":"vendor.new","x":1}', "vendor.new"),
    "HTML": _plain(b"<html>502 Bad gateway</html>"),
    "a deep list": _between(b"[" * 5000 + b"]" * 5000),
    "a deep object": _between(b'{"a":' * 5000 + b"1" + b"}" * 5000),
    "a long number": _between(b'{"n":' + b"9" * 5000 + b"}"),
    "an error as a string": _between(b'{"error":"overloaded"}'),
    "a named error": _between(b'{"error":{"message":"overloaded","type":"overloaded_error"}}', "error"),
    "17 MB": _endless,
}
"""The provider goes on after it."""


def _half(form: Form, raw: bytes) -> bytes:
    return raw[: len(form.head) + len(raw) // 2] + form.end


def _torn(form: Form, raw: bytes, between: bytes) -> bytes:
    middle = len(form.head) + len(raw) // 2
    return raw[:middle] + between + raw[middle:]


DAMAGE: dict[str, Callable[[Form, bytes], bytes]] = {
    "an event cut short": _half,
    "an event torn by a line break": lambda form, raw: _torn(form, raw, b"\n"),
    "an event torn in two": lambda form, raw: _torn(form, raw, form.end or b"\n,\r\n"),
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

    @property
    def form(self) -> Form:
        return WIRES[self.wire].form

    def sent(self) -> bytes:
        """All that the provider says, one after the other."""
        return b"".join(self.form.joined(self.events()))

    def events(self) -> list[bytes]:
        """What the provider says, damage and doubled events included."""
        events = [raw for _, raw in WIRES[self.wire].said]
        if self.kind in DAMAGE:
            events[self.at - 1] = DAMAGE[self.kind](self.form, events[self.at - 1])
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
            total = sum(map(len, self.form.joined(events)))
            answering = Answering(line, self.framing, total, self.form)
            await answering.head()
            for n, raw in enumerate(events):
                if fault and n == self.at and await fault(answering):
                    return False
                raw = answering.led(raw)
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
            if kind in HARMLESS and kind not in known.form.noise:
                continue
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
            import_module(f"tests.readers.{WIRES[case.wire].wire or case.wire}").read(_read_alone(case, got.body))
        except (AssertionError, KeyError, TypeError, ValueError) as e:
            wrong.append(f"the strict reader: {e!r}"[:100])
    return result, wrong + _hidden(case, result)


def _read_alone(case: Case, raw: bytes) -> bytes:
    """Without lines that carry nothing: the provider's `id:`, `retry:` and comments pass, and no reader minds."""
    if not case.form.head:
        return raw
    none = (b"id:", b"retry:", b"event: x") + ((b":",) if case.wire == "gemini" else ())
    left = b"".join(line for line in raw.splitlines(True) if not line.startswith(none))
    return re.sub(rb"(\r\n\r\n)[\r\n]+", rb"\1", left).lstrip(b"\r\n") if case.wire == "gemini" else left


def _own(case: Case) -> bool:
    """A break of grammar is ours: the provider's own answer has none."""
    return not understand(case.wire, case.sent()).faults and case.kind not in BETWEEN


def _direct(case: Case) -> Understood:
    return understand(case.wire, case.sent())


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
