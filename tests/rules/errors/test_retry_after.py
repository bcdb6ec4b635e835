"""Waits that upstreams ask for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.errors.retry_after import from_body, from_headers, from_message, should_retry
from tests.vectors import vectors

NOW = 1767225600.0  # Thu, 01 Jan 2026 00:00:00 GMT

# Some quirks of the seed are not kept: a unit is a whole word ("2 months" is no wait of two minutes), and spans add up
# ("1m30s" is 90 seconds: coming back after 60 means a second refusal). A wait is one in whatever order it is said, and
# a day is a wait: to ask again before is another refusal.
FIXED: dict[str, float | None] = {
    "retry.hint.message/months-read-as-minutes": None,
    "retry.hint.message/first-unit-only": 90000,
    "retry.hint.message/day-unknown": 86400000,
    "retry.hint.message/wrong-order": 5000,
    "retry.hint.message/retry-later": 5000,
}


@pytest.mark.parametrize("row", vectors("retry", "retry.hint.header"), ids=lambda row: row["id"])
def test_headers_like_the_seed(row: Any) -> None:
    got = from_headers(row["in"]["headers"], row["in"]["now_ms"] / 1000)
    assert (None if got is None else round(got * 1000, 6)) == row["out"]


@pytest.mark.parametrize("row", vectors("retry", "retry.hint.message"), ids=lambda row: row["id"])
def test_messages_like_the_seed(row: Any) -> None:
    got = from_message(row["in"]["message"])
    assert (None if got is None else round(got * 1000, 6)) == FIXED.get(row["id"], row["out"])


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "Thu, 01 Jan 2026 00:00:20 GMT"}, 20.0),
        ({"retry-after": "Thursday, 01-Jan-26 00:00:20 GMT"}, 20.0),
        ({"retry-after": "2026-01-01T00:01:00Z"}, 60.0),
        ({"retry-after": "Wed, 31 Dec 2025 23:59:59 GMT"}, None),
        ({"retry-after": "Thu, 99 Foo 2026 00:00:20 GMT"}, None),
        ({"retry-after": "0"}, 0.1),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "9" * 400}, 2147483.647),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
        ({"Retry-After-Ms": "20", "Retry-After": "9"}, 0.1),
        ({"retry-after-ms": "-10", "retry-after": "2"}, 2.0),
        ({}, None),
    ],
)
def test_headers(headers: dict[str, str], wait: float | None) -> None:
    assert from_headers(headers, NOW) == wait


@pytest.mark.parametrize(
    ("message", "wait"),
    [
        ("Rate limit reached. Please try again in 1m30s.", 90.0),
        ("Please try again in 1h2m3.5s", 3723.5),
        ("retry after 1 minute and 5 seconds", 65.0),
        ("Please retry after 26 seconds.", 26.0),
        ("try again in 500ms", 0.5),
        ("Try again in 60 sec", 60.0),
        ("try again in 2 mins", 120.0),
        ("try again in 3 sheep", None),
        ("try again after 2 months", None),
        ("No deployments available for selected model, Try again in 5 seconds.", 5.0),
        ("", None),
    ],
)
def test_messages(message: str, wait: float | None) -> None:
    assert from_message(message) == wait


@pytest.mark.parametrize(
    ("body", "wait"),
    [
        ({"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "26s"}]}}, 26.0),
        ([{"error": {"details": [7, {"@type": "x.RetryInfo", "retryDelay": "0.5s"}]}}], 0.5),
        ({"error": {"details": [{"@type": "x.RetryInfo", "retryDelay": "soon"}]}}, None),
        ({"error": {"details": "26s"}}, None),
        ({"error": "Model x is currently loading", "estimated_time": 20.0}, 20.0),
        ({"error": "x", "estimated_time": True}, None),
        ({"error": "x", "estimated_time": float("inf")}, None),
        ([], None),
        ("26s", None),
        (None, None),
    ],
)
def test_bodies(body: Any, wait: float | None) -> None:
    assert from_body(body) == wait


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"X-Should-Retry": "false"}, False),
        ({"x-should-retry": " True "}, True),
        ({"x-should-retry": "1"}, None),
        ({}, None),
    ],
)
def test_should_retry(headers: dict[str, str], said: bool | None) -> None:
    assert should_retry(headers) is said


@given(st.text(max_size=60), st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text(max_size=40)))
@settings(max_examples=150)
def test_any_words_give_a_wait_or_none(message: str, headers: dict[str, str]) -> None:
    for wait in (from_message("try again in " + message), from_headers(headers, NOW)):
        assert wait is None or 0.1 <= wait <= 2147483.647
