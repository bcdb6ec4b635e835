"""Errors of ours name the provider, its host and what to do; errors of the provider pass as they are."""

from __future__ import annotations

import aiohttp
import pytest

from proxy.upstream.broken import broken
from proxy.wording.advice import advised, host_of
from rules import Failure, Kind, Phase
from rules.errors.classify import response

AT = "https://api.example.com:8443/v1?key=hidden"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://api.openai.com/v1", "api.openai.com"),
        ("http://127.0.0.1:8080/v1", "127.0.0.1:8080"),
        ("http://[::1]:8080/v1?key=hidden", "[::1]:8080"),
        ("http://user:secret@host/v1", "host"),
    ],
)
def test_the_address_is_the_host_and_nothing_else(url: str, host: str) -> None:
    assert host_of(url) == host


KEY = aiohttp.client_reqrep.ConnectionKey("api.example.com", 8443, True, True, None, None, None)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (
            broken(aiohttp.ClientConnectorError(KEY, ConnectionRefusedError(111, "Connection refused")), Phase.CONNECT),
            "does it run",
        ),
        (broken(aiohttp.ClientConnectorSSLError(KEY, OSError(1, "wrong version")), Phase.CONNECT), "write http://"),
        (broken(aiohttp.InvalidURL("x"), Phase.CONNECT), "write its base_url as"),
        (response(404, {}, b"", now=0), "right up to its version"),
        (response(503, {}, b"", now=0), "HTTP 503 (provider main at api.example.com:8443)."),
        (Failure(Phase.STREAM, Kind.STALL, "The upstream sent nothing for 280 s."), "timeouts in the config"),
        (Failure(Phase.STREAM, Kind.STREAM, ""), "The upstream failed (provider main"),
    ],
)
def test_what_we_say_ourselves_names_who_where_and_what_to_do(failure: Failure, expected: str) -> None:
    told = advised(failure, "main", AT)
    assert "provider main at api.example.com:8443" in told.message
    assert expected in told.message
    assert "hidden" not in told.message
    assert (told.kind, told.status, told.code) == (failure.kind, failure.status, failure.code)


def test_what_the_provider_says_passes_as_it_is() -> None:
    failure = response(401, {}, b'{"error": {"message": "Incorrect API key provided."}}', now=0)
    assert advised(failure, "main", AT) is failure


@pytest.mark.parametrize("code", ["streamfuse_internal", "streamfuse_ring", "streamfuse_queue_full"])
def test_failures_that_are_not_the_providers_stay_as_they_are(code: str) -> None:
    failure = Failure(Phase.CONNECT, Kind.SERVER, "As many calls run as may.", code=code)
    assert advised(failure, "main", AT) is failure
