"""Certificates that are believed, and HTTP proxies in between."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import pytest
import trustme
from pydantic import ValidationError

from proxy.settings.provider import Provider
from proxy.way import Way, way
from tests.upstream import Upstream, hang, head, talk, whole

from .conftest import Start

BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}


def test_nothing_said_is_the_system_s_way():
    assert way(Provider(base_url="https://h")) == Way(True, None)


@pytest.mark.parametrize(("provider", "status"), [({}, 502), ({"ca_file": "ca"}, 200), ({"verify_tls": False}, 200)])
@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions"])
async def test_certificates(
    start: Start, client: aiohttp.ClientSession, tmp_path: Path, provider: dict[str, object], status: int, path: str
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    if "ca_file" in provider:
        provider = {"ca_file": str(tmp_path / "ca.pem")}
    async with Upstream(context) as up:
        up.answer(*(whole({}) if path == "/v1/models" else talk("hi")))
        proxy = await start(provider={"base_url": f"{up.url}/v1", **provider})
        sent = {"json": BODY} if path != "/v1/models" else {}
        method = "POST" if sent else "GET"
        async with client.request(method, f"http://127.0.0.1:{proxy.port}{path}", **sent) as answer:
            await answer.read()
            assert answer.status == status


async def test_an_http_proxy_in_between(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    up.answer(*talk("hi"))
    there = {"base_url": "http://provider.invalid/v1", "proxy_url": up.url.replace("://", "://user:secret@")}
    proxy = await start(provider=there)
    async with client.post(f"http://127.0.0.1:{proxy.port}/v1/chat/completions", json=BODY) as answer:
        assert answer.status == 200 and b"hi" in await answer.read()
    (request,) = up.requests
    assert request.target == "http://provider.invalid/v1/chat/completions"
    assert request.header("Proxy-Authorization") == "Basic dXNlcjpzZWNyZXQ="


@pytest.mark.parametrize("value", ["gone.pem", __file__, "/"])
def test_a_file_that_holds_no_authorities_is_a_mistake(value):
    with pytest.raises(ValidationError, match=r"PEM|cannot be read"):
        Provider(base_url="https://h", ca_file=value)


@pytest.mark.parametrize("value", ["socks5://h:1", "h:1", "http://"])
def test_an_address_that_is_no_proxy(value):
    with pytest.raises(ValidationError, match="proxy"):
        Provider(base_url="https://h", proxy_url=value)


async def test_one_more_than_limits_streams(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    up.answer(head(), hang())
    proxy = await start(limits={"streams": 1})
    url = f"http://127.0.0.1:{proxy.port}/v1/files/big"
    async with client.get(url) as first:
        assert first.status == 200
        async with client.get(url) as second:
            assert second.status == 503 and second.headers["Retry-After"] == "1"
            assert (await second.json())["error"]["code"] == "streamfuse_too_many_streams"
