"""Certificates that are believed and shown, and proxies in between."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from pydantic import ValidationError

from proxy.settings.sections.provider import ProviderSettings
from proxy.upstream.transport import Transport, transport_to
from tests.upstream import Upstream, hang, head, talk, whole

from ..conftest import Start

BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}


def test_nothing_said_is_the_system_s_way():
    assert transport_to(ProviderSettings(base_url="https://h")) == Transport(True, None)


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
        sent: dict[str, Any] = {"json": BODY} if path != "/v1/models" else {}
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
        ProviderSettings(base_url="https://h", ca_file=value)


@pytest.mark.parametrize("value", ["ftp://h:1", "h:1", "http://", "socks5://", "http://h:x"])
def test_an_address_that_is_no_proxy(value):
    with pytest.raises(ValidationError, match="proxy"):
        ProviderSettings(base_url="https://h", proxy_url=value)


async def test_one_more_than_limits_streams(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    up.answer(head(), hang())
    proxy = await start(limits={"streams": 1})
    url = f"http://127.0.0.1:{proxy.port}/v1/files/big"
    async with client.get(url) as first:
        assert first.status == 200
        async with client.get(url) as second:
            assert second.status == 503 and second.headers["Retry-After"] == "1"
            assert (await second.json())["error"]["code"] == "streamfuse_too_many_streams"


# --- our own certificate ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("together", [True, False])
async def test_a_provider_that_wants_a_certificate(
    start: Start, client: aiohttp.ClientSession, tmp_path: Path, together: bool
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    mine = authority.issue_cert("agent@example.org")
    mine.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    mine.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    mine.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "both.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    shown = {"client_cert": str(tmp_path / "both.pem")}
    if not together:
        shown = {"client_cert": str(tmp_path / "cert.pem"), "client_key": str(tmp_path / "key.pem")}
    async with Upstream(context) as up:
        up.answer(*talk("hi"))
        for provider, status in ((shown, 200), ({}, 502)):
            there = {"base_url": f"{up.url}/v1", "ca_file": str(tmp_path / "ca.pem"), **provider}
            proxy = await start(provider=there, retry={"network": {"mode": "bounded", "max_retries": 0}})
            async with client.post(f"http://127.0.0.1:{proxy.port}/v1/files", json=BODY) as answer:
                await answer.read()
                assert answer.status == status
        assert len(up.requests) == 1


@pytest.mark.parametrize(
    "files", [{"client_cert": "gone.pem"}, {"client_cert": __file__}, {"client_key": "key.pem"}, {"client_cert": "/"}]
)
def test_a_certificate_that_is_none_is_a_mistake(files: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="client_"):
        ProviderSettings(base_url="https://h", **files)


# --- SOCKS -----------------------------------------------------------------------------------------------------------
class Socks:
    """A SOCKS5 proxy (RFC 1928) that connects to one place, whatever it is asked for."""

    def __init__(self, port: int, user: bytes = b"", refuses: bool = False) -> None:
        self._to = port
        self._user = user
        self._refuses = refuses
        self.asked: list[tuple[str, int]] = []
        self.users: list[bytes] = []
        self.tasks: set[asyncio.Task[object]] = set()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        with (
            contextlib.closing(writer),
            contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError),
        ):
            _, methods = await reader.readexactly(2)
            await reader.readexactly(methods)
            writer.write(b"\x05\x02" if self._user else b"\x05\x00")
            if self._user:
                _, size = await reader.readexactly(2)
                name = await reader.readexactly(size)
                self.users.append(name + b":" + await reader.readexactly((await reader.readexactly(1))[0]))
                writer.write(b"\x01\x00")
            _, _, _, kind = await reader.readexactly(4)
            if kind == 3:
                host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
            else:
                host = ".".join(map(str, await reader.readexactly(4)))
            self.asked.append((host, int.from_bytes(await reader.readexactly(2))))
            writer.write(b"\x05%c\x00\x01\x00\x00\x00\x00\x00\x00" % (5 if self._refuses else 0))
            if self._refuses:
                return
            there, back = await asyncio.open_connection("127.0.0.1", self._to)
            with contextlib.closing(back):
                await asyncio.gather(self._pipe(reader, back), self._pipe(there, writer))

    @staticmethod
    async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()


@contextlib.asynccontextmanager
async def listening(socks: Socks) -> AsyncIterator[Socks]:
    server = await asyncio.start_server(socks.serve, "127.0.0.1", 0)
    socks.port = server.sockets[0].getsockname()[1]
    try:
        yield socks
    finally:
        server.close()
        for task in socks.tasks:
            task.cancel()
        await asyncio.gather(*socks.tasks, return_exceptions=True)


SOCKS = "an environment made before the dependency was declared"


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
async def test_a_socks_proxy_in_between(up: Upstream, start: Start, client: aiohttp.ClientSession, scheme: str) -> None:
    pytest.importorskip("aiohttp_socks", reason=SOCKS)
    up.answer(*talk("hi"))
    async with listening(Socks(up.port, user=b"me")) as socks:
        there = {
            "base_url": "http://provider.invalid:8000/v1",
            "proxy_url": f"{scheme}://me:secret@127.0.0.1:{socks.port}",
        }
        proxy = await start(provider=there)
        for _ in range(2):
            async with client.post(f"http://127.0.0.1:{proxy.port}/v1/chat/completions", json=BODY) as answer:
                assert answer.status == 200 and b"hi" in await answer.read()
    assert socks.asked == [("provider.invalid", 8000)] and socks.users == [b"me:secret"]
    assert up.requests[0].header("host") == "provider.invalid:8000" and len(up.requests) == 2


async def test_tls_through_a_socks_proxy(start: Start, client: aiohttp.ClientSession, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp_socks", reason=SOCKS)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("provider.invalid").configure_cert(context)
    async with Upstream(context) as up, listening(Socks(up.port)) as socks:
        up.answer(*talk("hi"))
        there = {"base_url": "https://provider.invalid/v1", "proxy_url": f"socks5://127.0.0.1:{socks.port}"}
        proxy = await start(provider={**there, "ca_file": str(tmp_path / "ca.pem")})
        async with client.post(f"http://127.0.0.1:{proxy.port}/v1/chat/completions", json=BODY) as answer:
            assert answer.status == 200 and b"hi" in await answer.read()
    assert socks.asked == [("provider.invalid", 443)]


async def test_a_socks_proxy_that_refuses(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    pytest.importorskip("aiohttp_socks", reason=SOCKS)
    async with listening(Socks(up.port, refuses=True)) as socks:
        there = {"base_url": "http://provider.invalid/v1", "proxy_url": f"socks5://127.0.0.1:{socks.port}"}
        proxy = await start(provider=there)
        async with client.get(f"http://127.0.0.1:{proxy.port}/v1/models") as answer:
            said = await answer.json()
            assert answer.status == 502 and "SOCKS" in said["error"]["message"]
    assert up.requests == []


# --- the environment's ------------------------------------------------------------------------------------------------
async def test_a_proxy_of_the_environment(
    up: Upstream, start: Start, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    up.answer(*talk("hi"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", up.url.replace("://", "://user:secret@"))
    there = {"base_url": "http://provider.invalid/v1"}
    proxy = await start(provider=there)
    async with client.post(f"http://127.0.0.1:{proxy.port}/v1/chat/completions", json=BODY) as answer:
        assert answer.status == 200 and b"hi" in await answer.read()
    assert up.requests[0].target == "http://provider.invalid/v1/chat/completions"
    assert up.requests[0].header("Proxy-Authorization") == "Basic dXNlcjpzZWNyZXQ="
    monkeypatch.setenv("NO_PROXY", ".invalid")
    for settings in ({}, {"network": {"proxy_env": False}}):
        proxy = await start(provider=there, **settings)
        async with client.get(f"http://127.0.0.1:{proxy.port}/v1/models") as answer:
            assert answer.status == 502
        monkeypatch.delenv("NO_PROXY", raising=False)
    assert len(up.requests) == 1


def test_a_proxy_is_shown_without_its_credentials() -> None:
    provider = ProviderSettings(base_url="https://api.example.org/v1", proxy_url="http://user:secret@proxy:3128")
    assert transport_to(provider).shown == "http://proxy:3128 (proxy_url)"
    there = transport_to(
        ProviderSettings(base_url="https://api.example.org/v1"), {"https_proxy": "http://u:secret@proxy:3128"}
    )
    assert there.shown == "http://proxy:3128 (https_proxy)"
    assert transport_to(provider, {"https_proxy": "http://other:1"}).said_by == "proxy_url"
    assert transport_to(ProviderSettings(base_url="https://h"), {}).shown == ""
