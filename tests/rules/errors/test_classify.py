"""Every way to fail, as it arrives, and what it counts as."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.errors import classify
from rules.errors.classify import Raised
from rules.errors.error_words import CONTEXT
from rules.values.delta import Fault
from rules.values.failures import Failure, Kind, Phase
from tests.vectors import vectors

NOW = 1767225600.0

# What the seed does and we do not, and why.
FIXED: dict[str, tuple[Kind, str]] = {
    "retry.decide/body-exhausted-upper": (Kind.SERVER, "Google writes its codes in capitals; the seed misses them"),
    "retry.decide/normalised-reset-is-unknown": (Kind.NETWORK, "a reset is the network, however it was wrapped"),
    "retry.decide/status-409-not-retryable-flag": (Kind.UNKNOWN, "a proxy has no SDK that flags 409 as retryable"),
}


def _raised(value: dict[str, Any]) -> Raised:
    causes = [value["cause"]] if "cause" in value else []
    causes += value.get("errors", [])
    status = value.get("response", {}).get("status")
    return Raised(
        value.get("name", "Error"), value.get("message", ""), value.get("code"), status, tuple(map(_raised, causes))
    )


def _seed(asked: dict[str, Any]) -> Failure:
    phase = Phase.STREAM if asked["phase"] == "stream" else Phase.HEADERS
    if "api" in asked:
        api = asked["api"]
        headers = dict(api.get("headers") or {})
        if api.get("isRetryable"):
            headers["x-should-retry"] = "true"  # the flag that a client library makes of the status, as we get it
        return classify.response(
            api.get("status"),
            headers,
            api.get("body", "").encode(),
            now=NOW,
            phase=phase,
            message=api.get("message", "boom"),
            allow_404=api.get("allow404", False),
        )
    if "raw" in asked:
        return classify.raised(_raised(asked["raw"]), phase)
    if "wrapped" in asked:
        return classify.raised(Raised("UnknownError", asked["wrapped"]), phase)
    return classify.raised(Raised(asked["named"]), phase)


@pytest.mark.parametrize("row", vectors("retry", "retry.decide"), ids=lambda row: row["id"])
def test_like_the_seed(row: Any) -> None:
    failure = _seed(row["in"])
    out = row["out"]
    if row["id"] in FIXED:
        assert failure.kind is FIXED[row["id"]][0], FIXED[row["id"]][1]
        return
    assert failure.kind.value == out["kind"]
    assert (failure.kind is not Kind.TERMINAL) == out["retryable"]
    if out["retryable"]:
        assert ("stream" if failure.phase is Phase.STREAM else "request") == out["phase"]
    if "retryAfterMs" in out:
        assert failure.retry_after == out["retryAfterMs"] / 1000


def http(status: int, body: Any = b"", headers: dict[str, str] | None = None) -> Failure:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return classify.response(status, headers or {}, raw, now=NOW)


def inside(body: dict[str, Any]) -> Failure:
    return classify.in_band(Fault(None, "", body))


# --- providers' HTTP errors ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        # OpenAI
        (
            429,
            {"error": {"message": "…", "type": "tokens", "code": "rate_limit_exceeded"}},
            Kind.RATE_LIMIT,
            "rate_limit_exceeded",
        ),
        (
            429,
            {"error": {"message": "…", "type": "insufficient_quota", "code": "insufficient_quota"}},
            Kind.TERMINAL,
            "insufficient_quota",
        ),
        (429, {"error": {"code": "billing_hard_limit_reached"}}, Kind.TERMINAL, "billing_hard_limit_reached"),
        (429, {"error": {"type": "usage_limit_reached", "resets_at": 1}}, Kind.TERMINAL, "usage_limit_reached"),
        (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}, Kind.TERMINAL, CONTEXT),
        (503, {"error": {"code": "slow_down"}}, Kind.SERVER, "slow_down"),
        (500, {"error": {"type": "server_error", "code": None}}, Kind.SERVER, "server_error"),
        # Anthropic
        (429, {"type": "error", "error": {"type": "rate_limit_error"}}, Kind.RATE_LIMIT, "rate_limit_error"),
        (
            429,
            {
                "type": "error",
                "error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}},
            },
            Kind.TERMINAL,
            "rate_limit_error",
        ),
        (409, {"type": "error", "error": {"type": "conflict_error"}}, Kind.UNKNOWN, "conflict_error"),
        (413, {"type": "error", "error": {"type": "request_too_large"}}, Kind.TERMINAL, CONTEXT),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, Kind.SERVER, "overloaded_error"),
        (
            400,
            {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
            Kind.TERMINAL,
            CONTEXT,
        ),
        # Google
        (
            429,
            [
                {
                    "error": {
                        "code": 429,
                        "status": "RESOURCE_EXHAUSTED",
                        "message": "You exceeded your current quota",
                        "details": [{"@type": "x.RetryInfo", "retryDelay": "26s"}],
                    }
                }
            ],
            Kind.RATE_LIMIT,
            "429",
        ),
        (
            429,
            {
                "error": {
                    "code": 429,
                    "message": "You exceeded your current quota",
                    "details": [
                        {"@type": "x.RetryInfo", "retryDelay": "26s"},
                        {"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]},
                    ],
                }
            },
            Kind.TERMINAL,
            "429",
        ),
        (
            429,
            [{"error": {"code": 429, "message": "m", "details": [{"violations": [{"quotaId": "RequestsPerDay"}]}]}}],
            Kind.TERMINAL,
            "429",
        ),
        (
            503,
            {"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}},
            Kind.SERVER,
            "503",
        ),
        # OpenRouter
        (402, {"error": {"code": 402, "message": "…"}}, Kind.TERMINAL, "402"),
        (
            402,
            {"error": {"code": 402, "metadata": {"limit_source": "openrouter_in_flight_budget"}}},
            Kind.RATE_LIMIT,
            "402",
        ),
        # Groq, Mistral, DeepSeek, LiteLLM, relays, edges
        (400, {"error": {"code": "tool_use_failed", "type": "invalid_request_error"}}, Kind.UNKNOWN, "tool_use_failed"),
        (498, {"error": {"code": "capacity_exceeded"}}, Kind.SERVER, "capacity_exceeded"),
        (424, {"error": {"message": "failed dependency"}}, Kind.UNKNOWN, None),
        (
            429,
            {
                "object": "error",
                "message": "Service tier capacity exceeded for this model.",
                "type": "invalid_request_error",
                "code": "3505",
            },
            Kind.RATE_LIMIT,
            "3505",
        ),
        (422, {"detail": [{"msg": "extra_forbidden"}]}, Kind.TERMINAL, None),
        (402, {"error": {"message": "Insufficient Balance"}}, Kind.TERMINAL, "insufficient_quota"),
        (
            429,
            {"error": {"message": "litellm.RateLimitError", "type": "None", "param": "None", "code": "429"}},
            Kind.RATE_LIMIT,
            "429",
        ),
        (
            500,
            {"error": {"type": "upstream_error", "code": "bad_response_status_code", "param": "422"}},
            Kind.TERMINAL,
            "bad_response_status_code",
        ),
        (403, {"error": {"message": "用户额度不足, 剩余额度: 0"}}, Kind.TERMINAL, "insufficient_quota"),
        (429, {"message": "Too Many Requests"}, Kind.RATE_LIMIT, None),
        (404, {"error": {"message": "no such model"}}, Kind.TERMINAL, None),
        (501, b"", Kind.TERMINAL, None),
        (502, b"<html><head><title>502 Bad Gateway</title></head></html>", Kind.SERVER, None),
        (403, b"<html><head><title>Just a moment...</title></head></html>", Kind.TERMINAL, None),
        (401, b"", Kind.TERMINAL, None),
        (418, b"", Kind.TERMINAL, None),
        (408, b"", Kind.SERVER, None),
    ],
)
def test_http_errors(status: int, body: Any, kind: Kind, code: str | None) -> None:
    failure = http(status, body)
    assert (failure.kind, failure.code, failure.status, failure.phase) == (kind, code, status, Phase.HEADERS)
    assert failure.body == ((body if isinstance(body, bytes) else orjson.dumps(body)) or None)
    assert failure.message


def test_a_rate_is_no_context_overflow() -> None:
    assert http(400, {"error": {"message": "prompt token count of 9 exceeds the limit of 8"}}).code == CONTEXT
    limited = http(429, {"error": {"message": "exceeds the limit of 10 requests a minute"}})
    assert limited.kind is Kind.RATE_LIMIT


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens, however you requested 9000",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
        "Please reduce the length of the messages or completion.",
        "the request exceeds the available context size, try increasing it",
        "Input length 9 exceeds the maximum allowed context length",
        "prompt too long; exceeded max context length by 9 tokens",
        "413 status code (no body)",
        "400 (no body)",
    ],
)
def test_context_overflow_by_its_words(message: str) -> None:
    failure = http(400, {"error": {"message": message}})
    assert (failure.kind, failure.code) == (Kind.TERMINAL, CONTEXT)


def test_hints_headers_before_body_before_words() -> None:
    google = {"error": {"message": "retry in 9s", "details": [{"@type": "x.RetryInfo", "retryDelay": "26s"}]}}
    assert http(429, google, {"Retry-After": "7"}).retry_after == 7
    assert http(429, google).retry_after == 26
    assert http(429, {"error": {"message": "try again in 1m30s"}}).retry_after == 90
    assert http(429).retry_after is None


def test_what_the_client_may_have_of_the_headers() -> None:
    failure = http(
        429, b"", {"Retry-After": "7", "X-RateLimit-Reset": "1", "Set-Cookie": "secret", "Content-Length": "9"}
    )
    assert dict(failure.headers) == {"retry-after": "7", "x-ratelimit-reset": "1"}
    assert http(500, b"", {"x-should-retry": "false"}).should_retry is False


def test_a_huge_body_is_cut() -> None:
    failure = http(500, b"x" * (1 << 20))
    assert failure.body is not None and len(failure.body) == classify.BODY


# --- inside a 200 ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"error": {"message": "The server had an error", "type": "server_error"}}, Kind.SERVER, None),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, Kind.SERVER, None),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}, Kind.RATE_LIMIT, None),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "try again in 1.5s"}, Kind.RATE_LIMIT, None),
        (
            {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "x"}}},
            Kind.SERVER,
            None,
        ),
        ({"type": "response.failed", "response": {"error": {"code": "invalid_prompt"}}}, Kind.TERMINAL, None),
        ({"error": {"code": 502, "message": "Provider returned error"}, "choices": []}, Kind.SERVER, 502),
        ({"error": {"code": 401, "message": "User not found."}}, Kind.TERMINAL, 401),
        (
            {
                "error": {
                    "object": "error",
                    "message": "The request queue is full.",
                    "type": "SERVICE_UNAVAILABLE",
                    "code": 503,
                }
            },
            Kind.SERVER,
            503,
        ),
        ({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}, Kind.TERMINAL, 400),
        ({"error": "server busy, please try again.  maximum pending requests exceeded"}, Kind.SERVER, None),
        ({"error": {"message": "unexpected EOF", "type": "api_error_"}}, Kind.STREAM, None),
        ({"error": {"message": "upstream stream error: reset"}}, Kind.STREAM, None),
        ({"error": {"type": "upstream_error", "message": "x"}}, Kind.STREAM, None),
        ({"error": {"message": "当前分组上游负载已饱和，请稍后再试"}}, Kind.SERVER, None),
        ({"error": {"code": "insufficient_quota", "message": "x"}}, Kind.TERMINAL, None),
        ({"error": {"message": "prompt is too long"}}, Kind.TERMINAL, None),
        ({"error": {"message": "something new"}}, Kind.UNKNOWN, None),
        ({"error": {"message": "Service tier capacity exceeded", "type": "invalid_request_error"}}, Kind.SERVER, None),
        ({"error": {"message": "bad tools", "type": "invalid_request_error"}}, Kind.TERMINAL, None),
        ({"x_groq": {"error": "over capacity, model overloaded"}}, Kind.SERVER, None),
        (
            {"error": {"message": '{"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}'}},
            Kind.SERVER,
            503,
        ),
    ],
)
def test_errors_inside_an_answer(body: dict[str, Any], kind: Kind, status: int | None) -> None:
    failure = inside(body)
    assert (failure.kind, failure.status, failure.phase) == (kind, status, Phase.STREAM)
    assert failure.body == orjson.dumps(body)


def test_a_wait_inside_an_answer_is_heard() -> None:
    assert inside({"type": "error", "code": "rate_limit_exceeded", "message": "try again in 1.5s"}).retry_after == 1.5


def test_the_wires_own_reading_helps_where_the_body_says_nothing() -> None:
    failure = classify.in_band(Fault("server_error", "broke", {"odd": 1}))
    assert (failure.kind, failure.code, failure.message) == (Kind.SERVER, "server_error", "broke")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("error", Kind.STREAM),
        ("abort", Kind.STREAM),
        ("network_error", Kind.STREAM),
        ("insufficient_system_resource", Kind.SERVER),
        ("stop", None),
        ("length", None),
        ("repetition", None),
    ],
)
def test_finish_reasons(reason: str, kind: Kind | None) -> None:
    failure = classify.finish(reason)
    assert (failure and failure.kind) == kind


def test_ends_without_a_finish() -> None:
    assert classify.ended(0).code == "streamfuse_empty_stream"
    assert classify.ended(3).code == "streamfuse_truncated"
    assert classify.ended(3).kind is Kind.STREAM


def test_a_200_that_is_no_answer() -> None:
    page = classify.strange(200, "text/html; charset=utf-8", b"<!DOCTYPE html><html>", {}, now=NOW)
    assert (page.kind, page.code, page.status) == (Kind.SERVER, "streamfuse_not_an_answer", None)
    assert "HTML" in page.message
    busy = classify.strange(
        200, "application/json", b'\n\n {"error":{"code":429,"message":"slow"}}', {"Retry-After": "3"}, now=NOW
    )
    assert (busy.kind, busy.status, busy.retry_after) == (Kind.RATE_LIMIT, 429, 3)
    new = classify.strange(200, "application/json", b'{"error":{"message":"new"}}', {}, now=NOW)
    assert new.kind is Kind.UNKNOWN
    other = classify.strange(200, "", b"\x00\x01", {}, now=NOW)
    assert other.kind is Kind.SERVER and "something" in other.message


# --- exceptions ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("exc", "kind"),
    [
        (Raised("ServerDisconnectedError", "Server disconnected"), Kind.NETWORK),
        (Raised("ClientConnectorError", "x", causes=(Raised("OSError", "refused", "ECONNREFUSED"),)), Kind.NETWORK),
        (Raised("ClientPayloadError", "Response payload is not completed"), Kind.NETWORK),
        (Raised("TimeoutError"), Kind.NETWORK),
        (Raised("ClientConnectorCertificateError", "certificate verify failed"), Kind.TERMINAL),
        (Raised("gaierror", "Name or service not known", "ENOTFOUND"), Kind.TERMINAL),
        (Raised("AbortError", causes=(Raised("Error", "x", "ECONNRESET"),)), Kind.TERMINAL),
        (Raised("Error", code="ABORT_ERR"), Kind.TERMINAL),
        (Raised("ValueError", "no"), Kind.TERMINAL),
    ],
)
def test_exceptions(exc: Raised, kind: Kind) -> None:
    failure = classify.raised(exc, Phase.CONNECT)
    assert failure.kind is kind and failure.message


def test_a_reused_connection_that_resets_before_the_answer_is_stale() -> None:
    reset = Raised("ClientOSError", "reset", "ECONNRESET")
    assert classify.raised(reset, Phase.HEADERS, reused=True).code == "streamfuse_stale_connection"
    assert classify.raised(reset, Phase.STREAM, reused=True).code == "ECONNRESET"
    assert classify.raised(reset, Phase.HEADERS).code == "ECONNRESET"


def test_the_chain_is_bounded() -> None:
    deep = Raised("Error", "end", "ECONNRESET")
    for _ in range(20):
        deep = Raised("Error", "x", causes=(deep,))
    assert classify.raised(deep, Phase.STREAM).kind is Kind.TERMINAL
    wide = Raised("Error", causes=(*tuple(Raised("Error") for _ in range(50)), Raised("E", code="EPIPE")))
    assert len(list(wide.chain())) == 16


# --- anything at all -------------------------------------------------------------------------------------------------
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "code", "type", "message", "detail", "details", "errors", "response", "x", "metadata"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.integers(100, 599), st.one_of(st.binary(max_size=60), JSON.map(lambda v: __import__("json").dumps(v).encode()))
)
@settings(max_examples=200)
def test_any_answer_is_a_failure(status: int, body: bytes) -> None:
    failure = classify.response(status, {}, body, now=NOW)
    assert failure.status == status and failure.message
    classify.strange(200, "application/json", body, {}, now=NOW)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3) | JSON.filter(lambda v: isinstance(v, dict)))
@settings(max_examples=150)
def test_any_fault_is_a_failure(body: dict[str, Any]) -> None:
    failure = inside(body)
    assert failure.phase is Phase.STREAM and failure.message


# --- what no waiting mends, and what does ----------------------------------------------------------------------------
GOOGLE = "You exceeded your current quota, please check your plan and billing details."
RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "26s"}
HOPELESS: dict[str, tuple[int, Any]] = {
    "Gemini, nothing at all": (
        429,
        [
            {
                "error": {
                    "code": 429,
                    "message": f"{GOOGLE}\n* Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, "
                    "model: gemini-2.5-pro\nPlease retry in 26.5s.",
                    "status": "RESOURCE_EXHAUSTED",
                    "details": [RETRY_INFO],
                }
            }
        ],
    ),
    "Gemini, quotaValue 0": (
        429,
        {
            "error": {
                "code": 429,
                "message": GOOGLE,
                "details": [{"@type": "x.QuotaFailure", "violations": [{"quotaValue": "0"}]}, RETRY_INFO],
            }
        },
    ),
    "OpenRouter, free models": (429, {"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day"}}),
    "Z.ai, five hours": (429, {"error": {"code": "1308", "message": "已达到 5 小时的使用上限。"}}),
    "Z.ai, week": (429, {"error": {"code": 1310, "message": "Weekly/Monthly Limit Exhausted."}}),
    "OpenAI, one request over the minute": (
        429,
        {
            "error": {
                "message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 48000. The "
                "input or output tokens must be reduced in order to run successfully.",
                "type": "tokens",
                "code": "rate_limit_exceeded",
            }
        },
    ),
    "a relative of it": (429, {"error": {"message": "TPM limit: 6,000, requested: 7,654", "type": "tokens"}}),
    "LiteLLM": (
        429,
        {"error": {"message": "Budget has been exceeded! Current cost: 12, Max budget: 10", "type": "budget_exceeded"}},
    ),
    "LiteLLM, a team": (429, {"error": {"message": "ExceededBudget: Team over its max", "type": "ExceededBudget"}}),
    "MiniMax": (200, {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}),
    "xAI": (429, {"error": "Your team has either used all available credits or reached its monthly spending limit."}),
    "Bedrock": (429, {"message": "Too many tokens per day, please wait before trying again."}),
    "Cohere": (429, {"message": "You are using a Trial key, which is limited to 1000 API calls / month."}),
    "Cloudflare": (
        429,
        {"errors": [{"message": "you have used up your daily free allocation of 10,000 neurons", "code": 4006}]},
    ),
    "GitHub": (429, {"error": {"code": "quota_exceeded", "message": "You have exceeded your monthly quota"}}),
    "Ark": (429, {"error": {"code": "SetLimitExceeded", "message": "model service paused"}}),
    "Moonshot": (429, {"error": {"type": "exceeded_current_quota_error", "message": "suspended"}}),
    "a balance in a 500": (500, {"error": {"message": "Insufficient credits. Add more.", "code": 500}}),
    "a plain text": (429, b"You have reached your monthly usage limit"),
    "Qianfan": (200, {"error_code": 17, "error_msg": "Open api daily request limit reached"}),
}


@pytest.mark.parametrize("case", HOPELESS)
def test_what_no_waiting_mends(case: str) -> None:
    status, body = HOPELESS[case]
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    if status == 200:
        failure = classify.strange(200, "application/json", raw, {}, now=NOW)
    else:
        failure = http(status, raw)
    assert failure.kind is Kind.TERMINAL, failure


@pytest.mark.parametrize("case", [name for name, (_, body) in HOPELESS.items() if isinstance(body, dict)])
def test_what_no_waiting_mends_in_a_stream(case: str) -> None:
    assert inside(HOPELESS[case][1]).kind is Kind.TERMINAL


LATER = "2026-01-01T00:00:20Z"


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20s"}, {}, 20.0),
        ({"anthropic-ratelimit-requests-reset": LATER, "anthropic-ratelimit-requests-remaining": "0"}, {}, 20.0),
        ({"RateLimit-Reset": "20"}, {"error": {"message": "slow down"}}, 20.0),
        ({"RateLimit": '"default";r=0;t=20'}, {}, 20.0),
        ({}, {"retry_after": 20}, 20.0),
        ({}, {"error": {"message": "x", "retry_after": "20"}}, 20.0),
        ({}, {"error": {"message": "x", "details": {"retryAfterSeconds": 20}}}, 20.0),
        ({}, {"error": {"message": "x", "retry_after_ms": 1500}}, 1.5),
        ({}, {"error": {"message": "x", "reset_at": LATER}}, 20.0),
        ({}, {"error": {"type": "x", "resets_in_seconds": 20, "resets_at": 1767225620}}, 20.0),
        (
            {},
            {
                "error": {
                    "code": 429,
                    "message": "Rate limit exceeded: free-models-per-min.",
                    "metadata": {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767225620000"}},
                }
            },
            20.0,
        ),
        ({}, {"error": {"message": "请求过于频繁，请在20秒后重试"}}, 20.0),
        ({}, b"Too many requests. Please try again in 20 seconds.", 20.0),
        ({}, b'"Slow down: retry after 20s"', 20.0),
        # what is told most plainly counts
        ({"retry-after": "3", "x-ratelimit-reset": "50"}, {"retry_after": 20}, 3.0),
        ({"x-ratelimit-reset": "50"}, {"error": {"message": "try again in 7.66s"}}, 7.66),
        # a day's limit whose end is near is waited for
        ({"retry-after": "30"}, {"error": {"message": "Limit of requests per day (RPD): Limit 200, Used 200"}}, 30.0),
        (
            {},
            {"error": {"message": "on tokens per day (TPD): Limit 9, Used 9. Try again in 7m12s."}},
            432.0,
        ),
    ],
)
def test_waits_of_a_429(headers: dict[str, str], body: Any, wait: float) -> None:
    failure = http(429, body, headers)
    assert (failure.kind, failure.retry_after) == (Kind.RATE_LIMIT, wait)


def test_a_day_s_limit_that_is_far_is_told_with_its_end() -> None:
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "36000"}
    failure = http(429, {"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day"}}, headers)
    assert (failure.kind, failure.retry_after) == (Kind.TERMINAL, 36000.0)
    assert failure.headers["x-ratelimit-reset"] == "36000"


@pytest.mark.parametrize("status", [500, 503, 529])
def test_how_a_limit_stands_is_no_wait_for_a_sick_server(status: int) -> None:
    headers = {"x-ratelimit-remaining-requests": "99", "x-ratelimit-reset-requests": "6m0s", "ratelimit-reset": "60"}
    assert http(status, {}, headers).retry_after is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1002, Kind.RATE_LIMIT),
        (1039, Kind.RATE_LIMIT),
        (1013, Kind.SERVER),
        (1004, Kind.TERMINAL),
        (1027, Kind.TERMINAL),
    ],
)
def test_minimax_says_it_in_base_resp(code: int, kind: Kind) -> None:
    assert inside({"choices": None, "base_resp": {"status_code": code, "status_msg": "x"}}).kind is kind


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached on requests per min (RPM): Limit 3, Used 3, Requested 1.",
        "The server had an error while processing your request. You can retry.",
        "Limit 30000, Used 29000, Requested 5000. Please try again in 8s.",
        "Too many concurrent requests for your plan.",
        "quota limit: 0.5 requests per second",
    ],
)
def test_what_passes_is_not_called_hopeless(message: str) -> None:
    assert http(429, {"error": {"message": message, "code": "rate_limit_exceeded"}}).kind is Kind.RATE_LIMIT


def test_a_ready_rule_does_not_revive_what_is_hopeless() -> None:
    from rules.errors.provider_packs import rules_for

    body = {"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day"}}
    rules = rules_for("openrouter", "openrouter.ai")
    failure = rules.failure(body, http(429, body))
    assert failure is not None and failure.kind is Kind.TERMINAL
    minute = {"error": {"code": 429, "message": "Rate limit exceeded"}}
    again = rules.failure(minute, http(429, minute))
    assert again is not None and again.kind is Kind.RATE_LIMIT
