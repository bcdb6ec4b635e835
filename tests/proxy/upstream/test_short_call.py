"""Calls with a short body go without aiohttp's request objects; to providers and to callers nothing differs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from multidict import CIMultiDict

from proxy.upstream.client import PIECE, Upstream, UpstreamRequest, UpstreamResponse
from proxy.upstream.short_call import ROUTES, ShortAnswer, ShortCalls
from proxy.upstream.transport import Transport
from rules.values.failures import Failure, Kind
from tests.upstream import Upstream as Script
from tests.upstream import close, hang, head, raw, text, wait, whole

HEADERS = {"Content-Type": "application/json", "X-Twice": "one"}


async def answered(upstream: Upstream, url: str, body: bytes, headers: CIMultiDict[str]) -> UpstreamResponse:
    answer = await upstream.open(UpstreamRequest("POST", url, headers, body))
    assert isinstance(answer, UpstreamResponse), answer
    return answer


@pytest.mark.parametrize("size", [1, 70_000, PIECE, PIECE + 1])
async def test_a_provider_sees_the_same_request_either_way(upstream: Upstream, up: Script, size: int) -> None:
    up.answer(*whole({"answer": 1}))
    headers = CIMultiDict(HEADERS)
    headers.add("X-Twice", "two")
    answer = await answered(upstream, f"{up.url}?alt=sse", b"x" * size, headers)
    assert isinstance(answer._response, ShortAnswer) is (size <= PIECE)
    assert (answer.status, await answer.whole(100)) == (200, b'{"answer": 1}')
    got = up.requests[0]
    assert (got.method, got.target.partition("?")[2], got.body) == ("POST", "alt=sse", b"x" * size)
    assert got.headers == [
        ("Host", up.url.split("/")[2]),
        ("Content-Type", "application/json"),
        ("X-Twice", "one"),
        ("X-Twice", "two"),
        ("Accept-Encoding", "gzip, deflate, identity"),
        ("Content-Length", str(size)),
    ]


async def test_a_host_that_the_config_names_goes_in_place_of_the_address(upstream: Upstream, up: Script) -> None:
    up.answer(*whole({}))
    await (await answered(upstream, up.url, b"{}", CIMultiDict({"host": "models.example"}))).whole(100)
    assert [value for name, value in up.requests[0].headers if name.lower() == "host"] == ["models.example"]


async def test_a_connection_serves_again_after_each_whole_answer(upstream: Upstream, up: Script) -> None:
    up.answer(*whole({}))
    for _ in range(3):
        answer = await answered(upstream, up.url, b"{}", CIMultiDict())
        assert await answer.whole(100) == b"{}" and answer.ended
        answer.close()
    assert {request.connection for request in up.requests} == {up.requests[0].connection}


async def test_what_was_not_read_to_its_end_serves_no_more(upstream: Upstream, up: Script) -> None:
    up.answer(head(), text("hi"), hang())
    up.answer(*whole({}))
    answer = await answered(upstream, up.url, b"{}", CIMultiDict())
    assert await answer.read()
    answer.close()
    await up.until(lambda: up.gone == 1)
    assert isinstance(await answer.read(), Failure)
    assert await (await answered(upstream, up.url, b"{}", CIMultiDict())).whole(100) == b"{}"
    assert up.requests[0].connection != up.requests[1].connection


async def test_news_before_the_answer_is_read_over(upstream: Upstream, up: Script) -> None:
    up.answer(raw(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), *whole({"a": 1}))
    answer = await answered(upstream, up.url, b"{}", CIMultiDict())
    assert (answer.status, await answer.whole(100)) == (200, b'{"a": 1}')


@pytest.mark.parametrize(
    ("said", "code", "kind"),
    [
        (b"nonsense\r\n\r\n", "streamfuse_upstream_invalid", Kind.SERVER),
        (b"", "streamfuse_upstream_unreachable", Kind.NETWORK),
    ],
    ids=["no HTTP", "nothing"],
)
async def test_an_answer_that_is_none_is_a_failure(
    upstream: Upstream, up: Script, said: bytes, code: str, kind: Kind
) -> None:
    up.answer(raw(said), close())
    failure = await upstream.open(UpstreamRequest("POST", up.url, CIMultiDict(), b"{}"))
    assert isinstance(failure, Failure) and (failure.code, failure.kind) == (code, kind)


async def test_a_header_with_a_line_break_is_never_sent(upstream: Upstream, up: Script) -> None:
    failure = await upstream.open(UpstreamRequest("POST", up.url, CIMultiDict({"X-A": "a\r\nX-B: b"}), b"{}"))
    assert isinstance(failure, Failure) and failure.kind is Kind.TERMINAL
    assert up.requests == []


async def test_whoever_leaves_while_it_waits_closes_the_connection(upstream: Upstream, up: Script) -> None:
    up.answer(wait("never"))
    opening = asyncio.ensure_future(upstream.open(UpstreamRequest("POST", up.url, CIMultiDict(), b"{}")))
    await up.until(lambda: len(up.requests) == 1)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await up.until(lambda: up.gone == 1)


@pytest.fixture
async def calls() -> AsyncIterator[ShortCalls]:
    async with aiohttp.ClientSession() as session:
        yield ShortCalls(session, read_bufsize=1024, line=1024, lines=100)


async def test_addresses_are_remembered_but_no_query_and_only_so_many(calls: ShortCalls) -> None:
    plain = Transport()
    first = calls.route("http://a.example/v1/chat", plain)
    assert first is not None and first is calls.route("http://a.example/v1/chat", plain)
    assert first is not calls.route("http://a.example/v1/chat", Transport(tls=False))
    secret = calls.route("http://a.example/v1?key=secret", plain)
    assert secret is not None and secret.line == "POST /v1?key=secret HTTP/1.1"
    assert not any("secret" in url for _, url in calls._routes)
    for number in range(ROUTES):
        calls.route(f"http://a.example/{number}", plain)
    assert len(calls._routes) <= ROUTES


@pytest.mark.parametrize("url", ["ftp://a.example/", "http://user:word@a.example/", "/v1/chat"])
async def test_odd_addresses_go_the_other_way(calls: ShortCalls, url: str) -> None:
    assert calls.route(url, Transport()) is None
