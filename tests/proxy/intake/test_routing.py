"""Where a request goes and what goes with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as bounds
from hypothesis import strategies as st
from multidict import CIMultiDict

from proxy.intake.routing import (
    RouteError,
    choose,
    credential,
    incoming,
    join,
    mode_of,
    outgoing,
    place,
    prefixes,
    without_key,
)
from proxy.settings.load import Settings
from rules.values.verdict import Mode

NAMES = ("openai", "deepseek")


@pytest.mark.parametrize(
    ("path", "provider", "call"),
    [
        ("/v1/chat/completions", None, "/chat/completions"),
        ("/chat/completions", None, "/chat/completions"),
        ("/v1/v1/messages", None, "/messages"),
        ("//v1//chat//completions", None, "/chat/completions"),
        ("/v1/chat/completions/", None, "/chat/completions"),
        ("/deepseek/v1/chat/completions", "deepseek", "/chat/completions"),
        ("/deepseek/chat/completions", "deepseek", "/chat/completions"),
        ("//deepseek//v1/v1/messages", "deepseek", "/messages"),
        ("/openai/deployments/gpt-4o/chat/completions", "openai", "/deployments/gpt-4o/chat/completions"),
        ("/v1/models", None, "/models"),
        ("/", None, "/"),
        ("", None, "/"),
        ("/v1", None, "/"),
        ("/v10/chat", None, "/v10/chat"),
        ("/v1/files/a%20b", None, "/files/a%20b"),
    ],
)
def test_paths(path: str, provider: str | None, call: str) -> None:
    to = place(path, NAMES)
    assert (to.provider, to.call) == (provider, call)


def test_azure_deployments() -> None:
    to = place("/openai/deployments/gpt-4o/chat/completions", ("azure",))
    assert to.call == "/chat/completions"
    for base in ("https://x.example", "https://x.example/openai", "https://x.example/openai/v1"):
        url = join(base, to, "api-version=2024-10-21", True)
        assert url == "https://x.example/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"


@pytest.mark.parametrize("path", ["/-", "/-/", "/-/nope", "//-//recent/x"])
def test_our_own_paths_never_go_upstream(path: str) -> None:
    with pytest.raises(RouteError) as wrong:
        place(path, NAMES)
    assert (wrong.value.status, wrong.value.code) == (404, "streamfuse_not_found")
    assert place("/deepseek" + path, NAMES).provider == "deepseek", "a provider may have such a path"


BASES = ("https://api.groq.com/openai/v1", "https://openrouter.ai/api/v1", "https://z.example/api/paas/v4?a=b")


@pytest.mark.parametrize(
    ("path", "base", "call", "url"),
    [
        ("/openai/v1/chat/completions", 0, "/chat/completions", "https://api.groq.com/openai/v1/chat/completions"),
        ("/api/v1/chat/completions", 1, "/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
        ("/api/v1/v1/messages", 1, "/messages", "https://openrouter.ai/api/v1/messages"),
        ("/api/paas/v4/models", 2, "/models", "https://z.example/api/paas/v4/models?a=b"),
        ("/v1/chat/completions", 2, "/chat/completions", "https://z.example/api/paas/v4/chat/completions?a=b"),
    ],
)
def test_a_client_may_keep_the_path_of_its_base(path: str, base: int, call: str, url: str) -> None:
    to = place(path, ("groq",), prefixes(BASES))
    assert (to.provider, to.call) == (None, call)
    assert join(BASES[base], to, "", True) == url


@pytest.mark.parametrize("path", ["/deepsek/v1/chat/completions", "/nope/v1/models", "/a/b/v1", "/api/paas/v4/models"])
def test_a_misspelt_provider_is_not_the_default_one(path: str) -> None:
    to = place(path, NAMES, prefixes(["https://a.example/v1", *BASES]))
    with pytest.raises(RouteError) as wrong:
        join("https://a.example/v1", to, "", True)
    assert (wrong.value.status, wrong.value.code) == (404, "streamfuse_unknown_provider")


def test_a_base_without_path_gets_what_stands_before_the_version_and_is_watched() -> None:
    to = place("/api/v1/chat/completions", NAMES)
    assert to.call == "/chat/completions"
    assert join("https://openrouter.ai", to, "", True) == "https://openrouter.ai/api/v1/chat/completions"


@pytest.mark.parametrize("path", ["/v1/../admin", "/v1/%2e%2e/admin", "/a/..%2fb", "/v1/./x", "/v1/..\\x", "/.."])
def test_nobody_climbs(path: str) -> None:
    with pytest.raises(RouteError) as wrong:
        place(path, NAMES)
    assert (wrong.value.status, wrong.value.code) == (400, "streamfuse_bad_request")


@pytest.mark.parametrize(
    ("base", "path", "query", "url"),
    [
        ("https://a.example/v1", "/v1/chat/completions", "", "https://a.example/v1/chat/completions"),
        ("https://a.example/v1", "/chat/completions", "", "https://a.example/v1/chat/completions"),
        ("https://a.example/v1", "/v1/v1/messages", "beta=true", "https://a.example/v1/messages?beta=true"),
        ("https://a.example/api/v4", "/v1/chat/completions", "", "https://a.example/api/v4/chat/completions"),
        ("https://a.example", "/v1/messages", "", "https://a.example/v1/messages"),
        ("https://a.example", "/chat/completions", "", "https://a.example/v1/chat/completions"),
        ("https://a.example/v1?key=1", "/v1/models", "a=b", "https://a.example/v1/models?key=1&a=b"),
        ("http://[::1]:8080/v1", "/v1/chat/completions", "", "http://[::1]:8080/v1/chat/completions"),
        ("http://a.example/v1", "/api/experimental/web_search", "", "http://a.example/api/experimental/web_search"),
        ("https://g.example/v1beta/openai", "/upload/v1beta/files", "", "https://g.example/upload/v1beta/files"),
        (
            "https://g.example/v1/projects/p/locations/l/endpoints/openapi",
            "/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent",
            "",
            "https://g.example/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent",
        ),
    ],
)
def test_joins(base: str, path: str, query: str, url: str) -> None:
    assert join(base, place(path, NAMES), query, known=True) == url


def test_an_unknown_call_without_version_goes_as_it_is() -> None:
    assert join("https://a.example", place("/api/tags", NAMES), "", known=False) == "https://a.example/api/tags"


@given(path=st.text(max_size=60), query=st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=10))
@bounds(max_examples=200)
def test_no_path_leaves_the_provider(path: str, query: str) -> None:
    """Whatever the path, the address begins with the provider's own."""
    try:
        to = place("/" + path, NAMES)
    except RouteError:
        return
    assert join("https://a.example/base/v1", to, query, True).startswith("https://a.example/base")


def settings(**more: object) -> Settings:
    return Settings.model_validate(
        {
            "default_provider": "openai",
            "providers": {name: {"base_url": f"https://{name}.example/v1"} for name in NAMES},
            "routes": [{"model": "deepseek-*", "provider": "deepseek"}],
            **more,
        }
    )


def test_who_decides_the_provider() -> None:
    to, named = place("/v1/chat/completions", NAMES), place("/deepseek/v1/chat/completions", NAMES)
    assert choose(settings(), to, None, "gpt-4o") == "openai"
    assert choose(settings(), to, None, "deepseek-chat") == "deepseek"
    assert choose(settings(), named, None, "gpt-4o") == "deepseek"
    assert choose(settings(), named, "openai", "deepseek-chat") == "openai"
    with pytest.raises(RouteError) as wrong:
        choose(settings(), to, "nobody", None)
    assert wrong.value.code == "streamfuse_unknown_provider" and "deepseek, openai" in str(wrong.value)


def test_no_provider_at_all() -> None:
    with pytest.raises(RouteError):
        choose(Settings(), place("/v1/chat/completions", ()), None, None)


def provider(**more: object) -> object:
    return settings(providers={"openai": {"base_url": "https://a.example/v1", **more}}, routes=[]).providers["openai"]


HEADERS = CIMultiDict(
    {
        "Host": "localhost:8787",
        "Authorization": "Bearer client",
        "api-key": "client",
        "x-goog-api-key": "client",
        "Connection": "keep-alive, X-Listed",
        "X-Listed": "1",
        "Keep-Alive": "timeout=5",
        "TE": "trailers",
        "Trailer": "x",
        "Proxy-Authorization": "x",
        "Upgrade": "h2c",
        "Expect": "100-continue",
        "x-streamfuse-mode": "watch",
        "X-Streamfuse-Correlation-Id": "c",
        "anthropic-version": "2023-06-01",
        "x-stainless-retry-count": "0",
        "x-session-id": "s",
        "traceparent": "00-1",
        "User-Agent": "sdk/1",
    }
)
KEPT = {"anthropic-version", "x-stainless-retry-count", "x-session-id", "traceparent", "user-agent"}


def test_the_clients_own_key_passes() -> None:
    out = outgoing(HEADERS, provider())  # type: ignore[arg-type]
    assert {name.lower() for name in out} == KEPT | {"authorization", "api-key", "x-goog-api-key"}


def test_a_configured_key_replaces_them_all() -> None:
    out = outgoing(HEADERS, provider(api_key="sk-own"))  # type: ignore[arg-type]
    assert {name.lower() for name in out} == KEPT | {"authorization"}
    assert out["Authorization"] == "Bearer sk-own"
    out = outgoing(HEADERS, provider(api_key="sk-own"), key_header="x-api-key")  # type: ignore[arg-type]
    assert out["x-api-key"] == "sk-own" and "Authorization" not in out
    out = outgoing(HEADERS, provider(api_key="sk-own", key_header="api-key"))  # type: ignore[arg-type]
    assert out.getall("api-key") == ["sk-own"] and "Authorization" not in out


def test_our_own_key_and_identity_stay_here() -> None:
    out = outgoing(HEADERS, provider(), admitted_by="authorization", strip=("X-Session-Id",))  # type: ignore[arg-type]
    assert "Authorization" not in out and "x-session-id" not in out
    assert out["api-key"] == "client"


def test_extra_headers_win() -> None:
    out = outgoing(HEADERS, provider(headers={"Traceparent": "mine"}))  # type: ignore[arg-type]
    assert out.getall("traceparent") == ["mine"]


def test_query_keys() -> None:
    assert without_key("key=secret&alt=sse") == "alt=sse"
    assert without_key("keys=1&key=2") == "keys=1"


def test_the_credential_is_the_first_of_its_places() -> None:
    assert credential(HEADERS) == "Bearer client"
    assert credential(CIMultiDict({"x-api-key": "k"})) == "k"
    assert credential(CIMultiDict()) == ""


def test_modes() -> None:
    assert mode_of(CIMultiDict()) is Mode.ON
    assert mode_of(CIMultiDict({"X-Streamfuse-Mode": " Watch "})) is Mode.WATCH
    with pytest.raises(RouteError):
        mode_of(CIMultiDict({"x-streamfuse-mode": "quiet"}))


ANSWER = CIMultiDict(
    [
        ("Content-Type", "text/event-stream"),
        ("Content-Length", "10"),
        ("Content-Encoding", "gzip"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "close, X-Hop"),
        ("X-Hop", "1"),
        ("Alt-Svc", "h3"),
        ("x-streamfuse-attempts", "forged"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
        ("x-request-id", "r"),
        ("x-ratelimit-remaining-tokens", "5"),
    ]
)


def test_answer_headers() -> None:
    out = incoming(ANSWER)
    assert {name.lower() for name in out} == {
        "content-type",
        "set-cookie",
        "x-request-id",
        "x-ratelimit-remaining-tokens",
    }
    assert out.getall("Set-Cookie") == ["a=1", "b=2"]
    assert {"Content-Length", "Content-Encoding"} <= set(incoming(ANSWER, untouched=True))
