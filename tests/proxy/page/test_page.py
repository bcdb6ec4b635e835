"""The page at /-/: what stands on it, and what never does."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from html.parser import HTMLParser

import aiohttp
import orjson
import pytest

from proxy.observers.recent import RecentObserver
from proxy.observers.reports import BreakerChanged, Outcome, Reports, RequestInfo, Saved
from proxy.page import live
from proxy.page.page import FILES, HEADERS, ROWS, VIEWERS, Filter, LivePage, View, _size, page
from proxy.server.app import Server
from proxy.settings.load import Settings
from rules import Tokens
from tests.proxy.test_sick_provider import until
from tests.upstream import Upstream, hang

from ..observers import EXCHANGE, FAILURE, PROMPT, SECRET, ended

SETTINGS = Settings.model_validate({"listen": {"port": 0}, "providers": {"up": {"base_url": "http://127.0.0.1:9/v1"}}})


class Reading(HTMLParser):
    """The text of the cells, and every tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.cells: list[str] = []
        self._in = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag == "td":
            self._in = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = self._in and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._in:
            self.cells[-1] += data


def kept(*reports: object) -> RecentObserver:
    recent = RecentObserver(500, lambda: 1_000_000_000.0)
    for report in reports:
        recent.hear(report)  # type: ignore[arg-type]
    return recent


def read(*reports: object) -> Reading:
    return Reading(page(View(kept(*reports).newest(ROWS))))


def test_an_exchange_is_a_row():
    cells = [" ".join(cell.split()) for cell in read(*EXCHANGE).cells]
    assert cells[:9] == ["01:46:40", "", "openai", "gpt-x", "cut", "200", "2", "0.5", "3.0"]
    assert cells[9].startswith("cut: ") and cells[9].endswith("in the reasoning (rule period)")


def test_nothing_yet():
    assert "Nothing has come yet." in page(View([]))
    assert "that this filter takes" in page(View([], filter=Filter(provider="x")))


def test_rejected_before_anything_was_known():
    assert read(replace(ended(Outcome.REJECTED, None), status=None, first_event=None, findings=())).cells[5] == ""


def test_only_the_newest():
    assert len(LivePage(kept(*[ended()] * (ROWS + 20))).view(Filter()).rows) == ROWS


def test_names_that_clients_choose_are_escaped():
    name = "<script>alert(1)</script><img src=x onerror=y>"
    seen = read(ended(call=RequestInfo("r", "openai", "openai_chat", name)))
    assert seen.tags.count("script") == 1 and "img" not in seen.tags
    assert seen.cells[3] == name


def test_of_many_long_names_a_few_are_shown_in_short():
    assert live._few([]) == "" and live._few(["a", "b"]) == "a, b"
    said = live._few(["\u202e" + "m" * 10_000, *(f"m-{number}" for number in range(99))])
    assert said == "m" * 127 + ", m-0, m-1 and 97 more"
    down = BreakerChanged("main", "m" * 10_000 + "\n", True, FAILURE)
    assert down.model == "m" * 128


def test_never_content_never_credentials():
    text = page(View(kept(*EXCHANGE).newest()))
    assert SECRET not in text and PROMPT not in text


def test_it_loads_its_own_style_and_script_only():
    seen = read(*EXCHANGE)
    assert not {"img", "iframe", "style"} & set(seen.tags)
    assert seen.links[:2] == ["/-/page.css", "/-/page.js"] and all(link.startswith(("/", "#")) for link in seen.links)
    assert not any(name.startswith("on") for name in seen.names), "no script inside the HTML: the policy forbids it"


async def test_it_is_served_with_a_policy_and_only_read():
    recent = kept(*EXCHANGE)
    server = Server(SETTINGS, reports=Reports([recent]), ops=LivePage(recent).routes())
    await server.start()
    where = f"http://127.0.0.1:{server.port}/-/"
    try:
        async with aiohttp.ClientSession() as client:
            async with client.get(where) as answer:
                assert (answer.status, answer.content_type) == (200, "text/html")
                assert {name: answer.headers[name] for name in HEADERS} == HEADERS
                assert "gpt-x" in await answer.text()
            async with client.post(where) as answer:
                assert answer.status in (404, 405)
    finally:
        await server.stop()


def test_the_policy_opens_nothing_else():
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy.pop("default-src") == "'none'"
    assert set(policy.values()) == {"'self'", "'none'"} and policy["script-src"] == "'self'"


def test_a_filter_takes_what_it_names():
    row = {"session": "s", "provider": "p", "outcome": "cut"}
    assert Filter().takes(row) and Filter("s", "p", "cut").takes(row)
    assert not Filter("t").takes(row) and not Filter("", "q").takes(row) and not Filter("", "", "ok").takes(row)
    assert Filter("", "", "ok").takes({"session": "s", "provider": "p"}), "what runs has no outcome yet"


async def test_parts_are_served_and_one_exchange_has_a_page() -> None:
    recent = kept(*EXCHANGE)
    server = Server(SETTINGS, reports=Reports([recent]), ops=LivePage(recent, lambda: server.fuse).routes())
    await server.start()
    at = f"http://127.0.0.1:{server.port}/-"
    try:
        async with aiohttp.ClientSession() as client:
            for name, kind in FILES.items():
                async with client.get(f"{at}/{name}") as answer:
                    assert (answer.status, answer.content_type) == (200, kind)
            async with client.get(f"{at}/x/req-1") as answer:
                text = await answer.text()
                assert answer.status == 200 and "try 1 failed after 0.2 s: 429: rate limit" in text
                assert SECRET not in text and PROMPT not in text
            async with client.get(f"{at}/x/%3Cscript%3E") as answer:
                assert answer.status == 404 and "<script>" not in await answer.text()
            async with client.get(
                f"http://127.0.0.1:{server.port}/", headers={"Accept": "text/html"}, allow_redirects=False
            ) as answer:
                assert (answer.status, answer.headers["Location"]) == (302, "/-/")
    finally:
        await server.stop()


async def test_news_come_as_events_until_the_process_drains() -> None:
    recent = kept()
    server = Server(SETTINGS, reports=Reports([recent]), ops=LivePage(recent, lambda: server.fuse).routes())
    await server.start()
    try:
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"http://127.0.0.1:{server.port}/-/events?provider=openai") as answer,
        ):
            assert answer.content_type == "text/event-stream" and answer.headers["Cache-Control"] == "no-store"
            first = orjson.loads((await answer.content.readuntil(b"\n\n"))[6:])["html"]
            assert "Nothing has come yet" in first
            server.fuse.draining = True
            for report in EXCHANGE:
                recent.hear(report)
            async with asyncio.timeout(5):
                rest = await answer.read()
            assert b"gpt-x" in rest and b"shutting down" in rest
    finally:
        await server.stop()


def test_how_fast_each_model_answers_is_a_median() -> None:
    calls = [
        replace(ended(Outcome.OK, None), seconds=1.0 + first, first_event=first, attempts=1) for first in (1, 2, 9)
    ]
    told = [replace(call, tokens=Tokens(5, tokens)) for call, tokens in zip(calls, (20, 50, 40), strict=True)]
    other = replace(told[0], attempts=2)  # the first of its calls failed: it says little of the provider
    (one,) = live.speeds(kept(*told, other).newest())
    assert one == {"provider": "openai", "model": "gpt-x", "answers": 3, "first": 2, "rate": 40}
    assert "How fast they answer" in page(View([], speeds=[one]))


def test_what_loops_took_is_told_with_an_estimate_of_what_was_saved() -> None:
    call = ended()
    rows = kept(replace(call, saved=Saved(call.call, 300, 4000))).newest()
    assert "Loops took 300 characters; their cuts saved about 4000 tokens (an estimate)." in page(View(rows))


async def test_of_many_open_requests_the_oldest_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.page.page.MOST_OPEN", 3)
    async with Upstream() as up:
        up.answer(hang())
        tree = {"listen": {"port": 0}, "providers": {"up": {"base_url": f"{up.url}/v1"}}}
        server = Server(Settings.model_validate(tree))
        await server.start()
        shown = LivePage(RecentObserver(10, lambda: 0.0), lambda: server.fuse)
        async with aiohttp.ClientSession() as http:
            url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
            asking = [asyncio.create_task(http.post(url, json={"model": "m", "messages": []})) for _ in range(5)]
            await up.until(lambda: len(up.requests) == 5)
            view = shown.view(Filter())
            assert (len(view.running), view.more) == (3, 2)
            assert "And 2 more" in page(view)
            assert not shown.view(Filter(provider="other")).running
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        await server.stop()


async def test_a_browser_that_takes_nothing_loses_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.page.page.STUCK", 0.05)
    monkeypatch.setattr("proxy.page.page.LOOK", 0.001)
    turn = itertools.count()
    monkeypatch.setattr("proxy.page.page.parts", lambda view: f"{next(turn)}" + "x" * 500_000)
    shown = LivePage(kept())
    server = Server(SETTINGS, ops=shown.routes())
    await server.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.write(b"GET /-/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readline()
        await until(lambda: shown._viewers)
        await until(lambda: not shown._viewers)
        writer.close()
    finally:
        await server.stop()


async def test_only_so_many_may_watch() -> None:
    page = LivePage(kept())
    page._viewers = VIEWERS
    server = Server(SETTINGS, ops=page.routes())
    await server.start()
    try:
        async with aiohttp.ClientSession() as client, client.get(f"http://127.0.0.1:{server.port}/-/events") as answer:
            assert answer.status == 503
    finally:
        await server.stop()


@pytest.mark.parametrize(("size", "said"), [(0, "0 B"), (2048, "2 KB"), (5 << 20, "5.0 MB")])
def test_sizes(size: int, said: str) -> None:
    assert _size(size) == said
