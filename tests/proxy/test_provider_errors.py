"""Errors as some 30 providers write them, through a running proxy: what cannot pass costs one call, what can pass is
asked again after the wait that the provider names, and the last failure reaches the client as it came.

`provider_errors.jsonl` holds one answer a line. `wait` is null where asking again cannot help, a number of seconds
where the answer names them (over five minutes nobody waits: the client is told), and "soon" where it names none.
"""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.outage import skipping
from benchmarks.outage.skipping import EPOCH
from tests.attacks.agent import Got, ask
from tests.attacks.healthy import WIRES
from tests.attacks.odd import JSON, answer
from tests.attacks.provider import CALLS, Line, Provider, served

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "fixtures/provider_errors.jsonl").read_text(encoding="utf-8").splitlines()
]
LONGEST = 300.0
"""Seconds: `retry.rate_limit.max_delay`."""
KEPT = {"x-request-id": "req_of_the_provider", "x-ratelimit-limit-requests": "60"}


def at(now: float, text: str) -> str:
    """Times that count from now."""
    for seconds in (8, 30):
        moment = datetime.fromtimestamp(EPOCH + now, UTC) + timedelta(seconds=seconds)
        text = text.replace(f"{{iso+{seconds}}}", moment.strftime("%Y-%m-%dT%H:%M:%SZ"))
        text = text.replace(f"{{ms+{seconds}}}", str(int(moment.timestamp() * 1000)))
    return text


class Met:
    """One row: when it was asked for, and the last failure that was sent."""

    def __init__(self, row: dict[str, Any], times: int) -> None:
        self.row, self.times = row, times
        self.calls: list[float] = []
        self.sent: tuple[dict[str, str], bytes] = ({}, b"")
        self.got = Got()

    async def script(self, line: Line, call: int) -> bool:
        now = asyncio.get_running_loop().time()
        self.calls.append(now)
        if call > self.times:
            await line.send(answer("200 OK", JSON, WIRES["openai_chat"].whole))
            return False
        headers = {name: at(now, value) for name, value in self.row["headers"].items()} | KEPT
        body = at(now, self.row["body"]).encode()
        self.sent = headers, body
        kind = b"text/html" if body.startswith(b"<") else JSON
        lines = [f"{name}: {value}".encode() for name, value in headers.items()]
        await line.send(answer(f"{self.row['status']} x", kind, body, *lines))
        return False

    @property
    def wait(self) -> float | None:
        """Seconds between the first two calls."""
        return self.calls[1] - self.calls[0] if len(self.calls) > 1 else None


async def meet(rows: list[dict[str, Any]], times: int, stream: bool, **settings: Any) -> list[Met]:
    """These rows side by side, each failing so many times."""
    every = [Met(row, times) for row in rows]
    async with Provider() as provider:
        provider.scripts = {f"c{number}": met.script for number, met in enumerate(every)}
        async with served(provider, **settings) as server:

            async def one(number: int, met: Met) -> None:
                met.got = await ask(server.port, "openai_chat", f"c{number}", stream=stream)

            await asyncio.gather(*(one(number, met) for number, met in enumerate(every)))
    return every


def named(met: Met) -> str:
    return f"{met.row['provider']} {met.row['status']} {met.row['body'][:90]}"


def test_what_cannot_pass_costs_one_call_and_the_rest_waits_as_told() -> None:
    wrong = []
    for met in skipping.run(meet(ROWS, 1, True, retry={})):
        wait = met.row["wait"]
        if wait is None or (wait != "soon" and wait > LONGEST):
            right = len(met.calls) == 1 and met.got.status >= 400
        else:
            low, high = (0.1, 5.0) if wait == "soon" else (wait - 0.01, wait * 1.2 + 1)
            right = met.wait is not None and low <= met.wait <= high and met.got.status == 200
        if not right:
            wrong.append(f"{named(met)}: {len(met.calls)} calls, wait {met.wait}, {met.got.status}")
    assert not wrong, "\n".join(wrong)


def test_the_last_failure_is_handed_on_as_it_came() -> None:
    """Only a page or bare text is put into the wire's own error, because an SDK cannot read it."""
    wrong = []
    rows = [row for row in ROWS if row["status"] != 200]
    for met in skipping.run(meet(rows[::3], CALLS, False)):
        headers, body = met.sent
        head = met.got.head.lower().decode("latin-1")
        lost = [name for name, value in headers.items() if f"\r\n{name}: {value}".lower() not in head]
        same = met.got.body == body if body.startswith((b"{", b"[", b" {")) else b'"message":' in met.got.body
        if met.got.status != met.row["status"] or not same or lost:
            wrong.append(f"{named(met)}: {met.got.status} {met.got.body[:90]!r} {lost}")
    assert not wrong, "\n".join(wrong)


def test_the_table_is_wide() -> None:
    assert len({row["provider"] for row in ROWS}) >= 25
    assert {type(row["wait"]) for row in ROWS} >= {type(None), str, int}
