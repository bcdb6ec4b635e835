"""`check --probe`: one question a provider, and what the answer says about the config."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from proxy.commands.probe import Found, probe
from proxy.settings.load import Settings
from proxy.settings.sections.provider import READ
from tests.upstream import Upstream, chunk, close, end, hang, head, raw, whole

MODELS = {"object": "list", "data": [{"id": "m1"}, {"id": "m2"}]}


async def found(base: str, **provider: Any) -> Found:
    tree = {"providers": {"a": {"base_url": base, **provider}}}
    return (await probe(Settings.model_validate(tree)))["a"]


async def test_a_provider_that_will_do(up: Upstream) -> None:
    up.answer(*whole(MODELS))
    got = await found(f"{up.url}/v1", api_key="sk-mine")
    assert got.good and "api_key accepted, 2 models" in got.said and "reachable, no TLS" in got.said
    assert f"watched: {', '.join(READ)}" in got.said
    request = up.requests[0]
    assert (request.method, request.target, request.header("authorization")) == ("GET", "/v1/models", "Bearer sk-mine")
    assert len(up.requests) == 1


async def test_a_base_without_its_version_and_no_key(up: Upstream) -> None:
    up.answer(*whole(MODELS))
    got = await found(up.url)
    assert got.good and "no key needed for that, 2 models" in got.said
    assert up.requests[0].target == "/v1/models" and up.requests[0].header("authorization") is None


async def test_messages_want_their_key_elsewhere(up: Upstream) -> None:
    up.answer(*whole(MODELS))
    got = await found(f"{up.url}/v1", api_key="sk-mine", wires=["anthropic_messages"])
    assert got.good
    assert up.requests[0].header("x-api-key") == "sk-mine" and up.requests[0].header("anthropic-version")


async def test_a_key_that_only_the_other_header_carries(up: Upstream) -> None:
    up.answer(head(401, "application/json"), chunk(b"{}"), end())
    up.answer(*whole(MODELS))
    got = await found(f"{up.url}/v1", api_key="sk-mine")
    assert got.good and [request.header("x-api-key") for request in up.requests] == [None, "sk-mine"]


@pytest.mark.parametrize(
    ("status", "provider", "good", "said"),
    [
        (401, {"api_key": "sk-mine"}, False, "its api_key is refused (HTTP 401)"),
        (403, {"api_key": "sk-mine", "key_header": "authorization"}, False, "its api_key is refused (HTTP 403)"),
        (401, {}, True, "the client's own"),
        (404, {}, True, "base_url right"),
        (429, {"api_key": "sk-mine"}, True, "busy"),
        (301, {}, False, "redirects"),
        (500, {}, False, "HTTP 500"),
    ],
)
async def test_what_a_status_means(up: Upstream, status: int, provider: dict[str, str], good: bool, said: str) -> None:
    up.answer(head(status, "application/json"), chunk(b'{"error":"sk-mine <b>"}'), end())
    got = await found(f"{up.url}/v1", **provider)
    assert got.good is good and said in "; ".join(got.said)
    assert "sk-mine" not in str(got) and "<b>" not in str(got)


@pytest.mark.parametrize("body", [b"<html>hi</html>", b"{}", b'"x"', b"", b"null"])
async def test_a_page_instead_of_a_list(up: Upstream, body: bytes) -> None:
    up.answer(*whole(body))
    got = await found(f"{up.url}/v1")
    assert not got.good and "no list of models" in "; ".join(got.said)


async def test_another_streamfuse(up: Upstream) -> None:
    up.answer(*whole(MODELS, x_streamfuse_request_id="r1"))
    got = await found(f"{up.url}/v1")
    assert not got.good and "a streamfuse answers here" in "; ".join(got.said)


@contextlib.asynccontextmanager
async def plain() -> AsyncIterator[str]:
    """The address, as if it spoke TLS, of a server that answers anything with a plain 400."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def test_nobody_there(up: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    got = await found("http://127.0.0.1:1/v1")
    assert not got.good and "cannot connect to the upstream 127.0.0.1:1" in got.said[0]
    async with plain() as base:
        got = await found(base)
    assert not got.good and "write http://" in got.said[-1]
    up.answer(raw(b"\x15\x03\x01\x00\x02\x02\x46"), close())
    got = await found(up.url)
    assert not got.good and "write https://" in got.said[-1]
    up.answer(hang())
    monkeypatch.setattr("proxy.commands.probe.PATIENCE", 0.05)
    got = await found(up.url)
    assert not got.good and "no answer within" in got.said[0]


async def test_certificates(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    async with Upstream(tls=context) as up:
        up.answer(*whole(MODELS))
        got = await found(f"{up.url}/v1")
        assert not got.good and "not trusted" in got.said[0] and "ca_file" in got.said[-1]
        got = await found(f"{up.url}/v1", ca_file=str(tmp_path / "ca.pem"))
        assert got.good and "reachable, certificate good" in got.said
        got = await found(f"{up.url}/v1", verify_tls=False)
        assert "reachable, certificate not checked" in got.said
