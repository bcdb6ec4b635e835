"""The fault matrix over what protects a provider: a breaker, a line before it, another provider to fall back to. No
answer is lost that a client would have had without them, and nothing that they hold is ever kept.

`python -m tests.attacks.overload` runs all of it and prints a table; it exits with 1 where one stream was wrong.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.outage import skipping
from proxy.server.app import Server

from .agent import Got, ask
from .faults import EARLY, ENDS, FRAMINGS, HARMLESS, KINDS, TWICE, Case, cases, judge
from .healthy import WIRES
from .provider import CALLS, Provider, Script, served

GUARDS = ("fallback", "breaker", "line")
TRIES = 4
"""Requests of a client that asks again after a failure: the SDKs' three, and one for the pause of a breaker."""
PAUSE = 0.02
"""Seconds between two probes."""
PLACES = 3
"""Calls at once, fewer than there are clients."""


def well(wire: str) -> Script:
    """The answer of a provider without a fault."""
    script = Case(wire, "reset", "start", FRAMINGS[0], False, False).script()
    return lambda line, _call: script(line, 2)  # only its first answer is faulty


def config(guard: str, number: int, first: int, spare: int) -> Mapping[str, Any]:
    """Providers: one for each of so many cases, since one that is broken fails everybody's requests for good reason."""
    line = {"concurrency": {"limit": PLACES, "queue": 10_000, "wait": "10m", "adaptive": True}}
    base = f"http://127.0.0.1:{first}/v1"
    if guard == "line":
        return {"all": {"base_url": base, **line}}
    sick: dict[str, Any] = {"base_url": base, "breaker": {"failures": 1, "pause": f"{PAUSE * 1000:g}ms"}}
    if guard == "fallback":
        sick["fallback"] = [{"provider": "spare"}]
    there = {"spare": {"base_url": f"http://localhost:{spare}/v1", "api_key": "theirs", **line}}
    return {f"p{at}": sick for at in range(number)} | (there if guard == "fallback" else {})


def strict(guard: str, case: Case, result: str) -> list[str]:
    """What must be whole under this guard, beyond what every answer must be."""
    if result == "whole":
        return []
    if case.kind in HARMLESS or (case.kind == TWICE and guard == "fallback" and case.place in EARLY):
        return ["without the guard it would have been whole"]
    if case.kind in ENDS and case.place in EARLY and (guard == "fallback" or not case.always):
        return ["nothing was shown, and somebody would have answered"]
    return []


async def one(guard: str, at: int, case: Case, provider: Provider, server: Server) -> tuple[str, list[str]]:
    """A client that asks again where it is told of a failure by a status, as the SDKs do."""
    name = f"{guard}-{at}"
    provider.scripts[name] = case.script()
    headers = "" if guard == "line" else f"x-streamfuse-provider: p{at}\r\n"
    got = Got()
    tries = TRIES if guard == "breaker" else 1
    for number in range(tries):
        if number:
            await asyncio.sleep(PAUSE)
        got = await ask(server.port, case.wire, name, headers=headers)
        if got.status == 200 or got.broken:
            break
    calls = provider.calls[name] - provider.stale[name]
    # The judge knows one request; this client may have sent several.
    result, wrong = judge(case, got, min(calls, CALLS) if calls <= CALLS * tries else calls)
    if b"streamfuse_queue_full" in got.body:
        wrong.append("there was room in the line")
    return result, wrong + strict(guard, case, result)


async def run_all(
    guard: str, chosen: list[Case], *, together: int = 24, idle: str = "2s"
) -> list[tuple[Case, str, list[str]]]:
    """Every case with its result, `together` at a time; at the end nobody holds a place or waits for one."""
    turn = asyncio.Semaphore(together)
    timeouts = {"idle": idle, "headers": idle, "first_event": idle, "first_event_alive": idle}
    async with Provider() as provider, Provider() as spare:
        for wire in WIRES:
            spare.scripts |= {f"{guard}-{at}": well(wire) for at, case in enumerate(chosen) if case.wire == wire}
        providers = config(guard, len(chosen), provider.port, spare.port)
        default = "all" if guard == "line" else "p0"
        async with served(provider, timeouts=timeouts, providers=providers, default_provider=default) as server:

            async def take(at: int, case: Case) -> tuple[Case, str, list[str]]:
                async with turn:
                    return (case, *await one(guard, at, case, provider, server))

            results = await asyncio.gather(*(take(at, case) for at, case in enumerate(chosen)))
            async with asyncio.timeout(10):
                while server.fuse.open:  # noqa: ASYNC110  (what it waits for has no event)
                    await asyncio.sleep(0.001)
            for slots in server.fuse.slots.values():
                assert (slots.running, slots.waiting) == (0, 0), "a place was never given back"
    return results


def every() -> Iterator[Case]:
    """The whole matrix, as far as it says something here: a head is a head, however its body is framed."""
    for case in cases():
        if case.kind != "17 MB" and case.framing == FRAMINGS[0] and not case.split:
            yield case


def main() -> int:
    """Every case under every guard; 1 where one was wrong."""
    wrong = 0
    for guard in GUARDS:
        results = skipping.run(run_all(guard, list(every()), idle="4s"))
        table = Counter((case.kind, result) for case, result, _ in results)
        print(f"{guard:32}{'whole':>8}{'error':>8}{'refused':>8}")
        for kind in KINDS:
            print(f"{kind:32}" + "".join(f"{table[kind, column]:8}" for column in ("whole", "error", "refused")))
        for case, _, why in results:
            if why:
                wrong += 1
                print(f"WRONG {guard}: {case}: {'; '.join(why)}")
        print(f"{len(results)} streams")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
