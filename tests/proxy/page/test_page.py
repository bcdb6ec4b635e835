"""The page at /-/: what stands on it, and what never does."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import aiohttp
import pytest
from aiohttp import web

from proxy.observers.recent import RecentObserver
from proxy.observers.reports import NearMissed, Outcome, Reports, RequestInfo, UpstreamCut
from proxy.page.page import HEADERS, ROWS, page, page_route
from proxy.server.app import Server
from proxy.settings.load import Settings
from rules.values.delta import Channel
from rules.values.verdict import NearMiss

from ..observers import CALL, EXCHANGE, PROMPT, SECRET, ended


class Reading(HTMLParser):
    """The text of the cells, and every tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.cells: list[str] = []
        self._in = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
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
    return Reading(page(kept(*reports).newest(ROWS)))


def test_an_exchange_is_a_row():
    cells = [" ".join(cell.split()) for cell in read(*EXCHANGE).cells]
    assert cells[:9] == ["01:46:40", "openai", "gpt-x", "openai_chat stream", "cut", "200", "2", "0.5", "3.0"]
    assert cells[9] == "period cut · reasoning · from 100 · period 20 · 30.0 copies"


def test_cuts_of_servers_and_stutters_stand_there_too():
    cut, near_miss = UpstreamCut(CALL, "repetition", 0), NearMissed(CALL, NearMiss("refrain", Channel.TEXT, 0, 0.75))
    cells = read(replace(ended(Outcome.OK), findings=(), server_cuts=(cut,), near_misses=(near_miss,))).cells
    assert " ".join(cells[-1].split()) == (
        "repetition cut by the upstream itself refrain stutter · text · suspicion 0.75"
    )


def test_nothing_yet():
    assert "Nothing has come yet." in page([])


def test_rejected_before_anything_was_known():
    assert read(replace(ended(Outcome.REJECTED, None), status=None, first_event=None, findings=())).cells[5] == ""


def test_only_the_newest():
    assert Reading(page(kept(*[ended()] * (ROWS + 20)).newest(ROWS))).tags.count("tr") == ROWS + 1


def test_names_that_clients_choose_are_escaped():
    name = "<script>alert(1)</script><img src=x onerror=y>"
    seen = read(ended(call=RequestInfo("r", "openai", "openai_chat", name)))
    assert "script" not in seen.tags and "img" not in seen.tags
    assert seen.cells[2] == name


def test_never_content_never_credentials():
    text = page(kept(*EXCHANGE).newest())
    assert SECRET not in text and PROMPT not in text


def test_it_loads_nothing():
    seen = read(*EXCHANGE)
    assert not {"script", "link", "img", "iframe", "form"} & set(seen.tags)
    assert seen.links == ["/-/recent", "/metrics"]


async def test_it_is_served_with_a_policy_and_only_read():
    recent = kept(*EXCHANGE)
    settings = Settings.model_validate(
        {"listen": {"port": 0}, "providers": {"up": {"base_url": "http://127.0.0.1:9/v1"}}}
    )
    server = Server(settings, reports=Reports([recent]), ops=[web.get("/-/", page_route(recent))])
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


@pytest.mark.parametrize("part", ["script-src", "connect-src", "img-src"])
def test_the_policy_opens_nothing(part: str):
    assert part not in HEADERS["Content-Security-Policy"]
    assert HEADERS["Content-Security-Policy"].startswith("default-src 'none'")
