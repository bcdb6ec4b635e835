"""Our own keys: who is admitted, and which of our pages want one."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from pydantic import ValidationError

from proxy.intake.keys import Keys
from proxy.observers import Sinks
from proxy.observers.reports import Reports
from proxy.server.app import Server
from proxy.server.serve import pages
from proxy.settings.load import Settings
from proxy.settings.service.auth import Auth
from tests.proxy.conftest import Start
from tests.proxy.server.test_app import exchange, url
from tests.upstream import Upstream


def keys(**auth: Any) -> Keys:
    return Keys(Auth.model_validate(auth))


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"Authorization": "Bearer ours"}, "authorization"),
        ({"authorization": "bearer   ours "}, "authorization"),
        ({"x-api-key": "ours"}, "x-api-key"),
        ({"api-key": "ours"}, "api-key"),
        ({"x-goog-api-key": "ours"}, "x-goog-api-key"),
        ({"Authorization": "Bearer theirs", "x-api-key": "ours"}, "x-api-key"),
        ({"Authorization": "Basic ours"}, None),
        ({"Authorization": basic("u:ours")}, None),
        ({"Authorization": "ours"}, None),
        ({"Authorization": "Bearer"}, None),
        ({"Authorization": "Bearer "}, None),
        ({"Authorization": "Bearer ours2"}, None),
        ({"Authorization": "Bearer OURS"}, None),
        ({"Authorization": "Bearer öurs"}, None),
        ({"Authorization": "Bearer \udcff"}, None),
        ({"x-api-key": "\udcfc"}, None),
        ({"Proxy-Authorization": "Bearer ours"}, None),
        ({}, None),
    ],
)
def test_admission(headers: dict[str, str], found: str | None) -> None:
    assert keys(keys=["other", "ours"]).admit(CIMultiDict(headers)) == found


@given(
    st.text(st.characters(codec=None, exclude_categories=()), max_size=40), st.sampled_from(["Bearer ", "Basic ", ""])
)
def test_any_text_is_an_answer_and_never_an_exception(text: str, scheme: str) -> None:
    raw = text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    mine = keys(keys=["ours"], metrics_key="scrape")
    for name in ("authorization", "x-api-key"):
        headers = CIMultiDict({name: scheme + raw})
        assert mine.admit(headers) is None or "ours" in raw
        assert not mine.opens("page", headers) or "ours" in raw or scheme == "Basic "


def test_which_key_opens_what() -> None:
    def opened(mine: Keys, **headers: str) -> str:
        given = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
        return " ".join(page for page in ("metrics", "page", "ready") if mine.opens(page, given))

    both = keys(keys=["ours"], metrics_key="scrape")
    assert opened(both) == opened(both, Authorization="Bearer x") == opened(both, Authorization="Basic !!") == ""
    for told in ("Bearer ours", basic("anyone:ours"), basic(":ours"), basic("ours:"), basic("ours")):
        assert opened(both, Authorization=told) == "metrics page ready"
    assert opened(both, x_api_key="ours") == "metrics page ready"
    assert opened(both, Authorization="Bearer scrape") == opened(both, Authorization=basic("p:scrape")) == "metrics"
    assert opened(keys()) == "metrics page ready"
    assert opened(keys(metrics_key="scrape")) == "page ready"
    assert opened(keys(keys=["ours"], open=["metrics"])) == "metrics"
    assert opened(keys(keys=["ours"], open=["page", "ready"])) == "page ready"
    assert both.admit(CIMultiDict({"Authorization": "Bearer scrape"})) is None, "it asks no provider"
    assert not keys(metrics_key="scrape"), "the proxy itself is as open as before"


@pytest.mark.parametrize("auth", [{"keys": [""]}, {"keys": ["ok", " "]}, {"keys": ""},
                                  {"open": ["everything"]}])  # fmt: skip
def test_what_would_let_everybody_in(auth: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Auth.model_validate(auth)


Serve = Callable[..., Awaitable[Server]]


@pytest.fixture
async def serving(up: Upstream) -> AsyncIterator[Serve]:
    """A proxy with all its pages."""
    running: list[Server] = []

    async def start(**more: Any) -> Server:
        tree = {"listen": {"port": 0}, "providers": {"up": {"base_url": f"{up.url}/v1", "api_key": "sk-p"}}, **more}
        settings = Settings.model_validate(tree)
        here = Sinks(settings)
        server = Server(settings, reports=Reports([here.metrics, here.recent]), ops=pages(here))
        await server.start()
        running.append(server)
        return server

    yield start
    for server in running:
        await server.stop()


async def statuses(client: aiohttp.ClientSession, port: int, headers: dict[str, str]) -> dict[str, int]:
    out = {}
    for path in ("/healthz", "/readyz", "/metrics", "/-/", "/-/recent"):
        async with client.get(f"http://127.0.0.1:{port}{path}", headers=headers) as answer:
            out[path] = answer.status
    return out


@pytest.mark.parametrize("more", [{}, {"ops": {"port": 0}}])
async def test_with_keys_our_pages_want_one(
    serving: Serve, client: aiohttp.ClientSession, more: dict[str, Any]
) -> None:
    server = await serving(auth={"keys": ["ours"], "metrics_key": "scrape"}, **more)
    port = server.ops_port or server.port
    none = await statuses(client, port, {})
    assert none == {"/healthz": 200, "/readyz": 200, "/metrics": 401, "/-/": 401, "/-/recent": 401}
    assert set((await statuses(client, port, {"Authorization": "Bearer ours"})).values()) == {200}
    assert set((await statuses(client, port, {"Authorization": basic("me:ours")})).values()) == {200}
    scraper = await statuses(client, port, {"Authorization": "Bearer scrape"})
    assert scraper == {**none, "/metrics": 200}
    async with client.get(f"http://127.0.0.1:{port}/-/") as answer:
        assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")
        assert (await answer.json())["error"]["code"] == "streamfuse_unauthorized"


async def test_readiness_is_told_to_everybody_and_its_details_to_those_with_a_key(
    serving: Serve, client: aiohttp.ClientSession
) -> None:
    server = await serving(auth={"keys": ["ours"]})
    async with client.get(url(server, "/readyz")) as answer:
        assert await answer.json() == {"status": "ready"}
    async with client.get(url(server, "/readyz"), headers={"x-api-key": "ours"}) as answer:
        assert await answer.json() == {"status": "ready", "open": 0, "state": "up"}


async def test_pages_that_the_config_opens(serving: Serve, client: aiohttp.ClientSession) -> None:
    server = await serving(auth={"keys": ["ours"], "open": ["metrics"]})
    got = await statuses(client, server.port, {})
    assert (got["/metrics"], got["/-/"], got["/-/recent"]) == (200, 401, 401)


async def test_without_keys_all_is_as_open_as_before(serving: Serve, client: aiohttp.ClientSession) -> None:
    assert set((await statuses(client, (await serving()).port, {})).values()) == {200}


@pytest.mark.parametrize("header", [b"Authorization: Bearer \xff", b"x-api-key: \xfc", b"Authorization: \xff\xfe",
                                    b"api-key: \x80", b"x-goog-api-key: a\xc3"])  # fmt: skip
@pytest.mark.parametrize("path", [b"/v1/models", b"/metrics", b"/-/recent"])
async def test_bytes_that_are_no_text_are_no_key(up: Upstream, serving: Serve, header: bytes, path: bytes) -> None:
    server = await serving(auth={"keys": ["ours"]})
    answer = await exchange(
        server, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + header + b"\r\n\r\n"
    )
    assert b" 401 " in answer.split(b"\r\n")[0]
    assert up.requests == []


async def test_the_key_never_goes_upstream(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(auth={"keys": ["ours"]})
    headers = {"x-api-key": "ours", "Authorization": "Bearer theirs"}
    async with client.get(url(server, "/v1/models"), headers=headers) as answer:
        assert answer.status == 200
    assert up.requests[0].header("x-api-key") is None and up.requests[0].header("authorization") == "Bearer theirs"
