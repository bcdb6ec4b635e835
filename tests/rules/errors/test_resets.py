"""Headers of limits: the one that is used up is waited for, however its end is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.errors.resets import moment, reset

NOW = 1767225600.0  # Thu, 01 Jan 2026 00:00:00 GMT


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        # OpenAI, Groq: lengths, one a limit
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-remaining-tokens": "5000",
                "x-ratelimit-reset-tokens": "1s",
            },
            360.0,
        ),
        (
            {
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "120ms",
            },
            0.12,
        ),
        # both used up: both must be open again
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "5s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "9s",
            },
            9.0,
        ),
        # OpenRouter: milliseconds since 1970; GitHub: seconds
        ({"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767225660000"}, 60.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767225610"}, 10.0),
        ({"x-rate-limit-reset": "1767225610"}, 10.0),
        # Anthropic: RFC 3339
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:42Z",
                "anthropic-ratelimit-input-tokens-remaining": "1000",
                "anthropic-ratelimit-input-tokens-reset": "2026-01-01T00:09:00Z",
            },
            42.0,
        ),
        (
            {
                "anthropic-ratelimit-unified-status": "rejected",
                "anthropic-ratelimit-unified-reset": "1767229200",
                "anthropic-ratelimit-unified-7d-status": "allowed",
                "anthropic-ratelimit-unified-7d-reset": "1767300000",
            },
            3600.0,
        ),
        # Cerebras: seconds, a day beside a minute
        (
            {
                "x-ratelimit-remaining-requests-day": "0",
                "x-ratelimit-reset-requests-day": "33011.38",
                "x-ratelimit-remaining-tokens-minute": "500",
                "x-ratelimit-reset-tokens-minute": "11.38",
            },
            33011.38,
        ),
        # Mistral, GitHub Models
        ({"ratelimitbysize-reset": "54"}, 54.0),
        ({"x-ratelimit-timeremaining": "12"}, 12.0),
        # the IETF's drafts
        ({"RateLimit-Limit": "10", "RateLimit-Remaining": "0", "RateLimit-Reset": "30"}, 30.0),
        ({"RateLimit-Reset": "30"}, 30.0),
        ({"RateLimit": "limit=100, remaining=0, reset=50"}, 50.0),
        ({"RateLimit": '"default";r=0;t=30'}, 30.0),
        ({"RateLimit": '"burst";r=5;t=1, "daily";r=0;t=3600'}, 3600.0),
        ({"RateLimit": "default;t=17;r=0"}, 17.0),
        # not used up, over, unreadable: nothing is said
        ({"RateLimit-Remaining": "3", "RateLimit-Reset": "30"}, None),
        ({"RateLimit": '"default";r=7;t=30'}, None),
        ({"x-ratelimit-reset-tokens": "0s"}, None),
        ({"x-ratelimit-reset": "1767225599"}, None),
        ({"x-ratelimit-reset": "soon"}, None),
        ({"x-ratelimit-remaining": "0"}, None),
        ({"x-password-reset": "30"}, None),
        # none says which: the nearest costs one call at most
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 1.0),
        ({}, None),
    ],
)
def test_headers(headers: dict[str, str], wait: float | None) -> None:
    got = reset(headers, NOW)
    assert got == (None if wait is None else pytest.approx(wait))


@pytest.mark.parametrize(
    ("written", "wait"),
    [
        ("30", 30.0),
        ("6m0s", 360.0),
        ("1767225630", 30.0),
        ("1767225630500", 30.5),
        ("2026-01-01T00:01:00.123456789Z", 60.123456),
        ("2026-01-01 08:00:30+08:00", 30.0),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0),
        ("0", None),
        ("-5", None),
        ("9" * 40, None),
        ("", None),
    ],
)
def test_moments(written: str, wait: float | None) -> None:
    assert moment(written, NOW) == (None if wait is None else pytest.approx(wait))


@given(
    st.dictionaries(
        st.sampled_from(["ratelimit", "ratelimit-reset", "x-ratelimit-remaining", "RateLimit-Reset"]), st.text()
    )
)
def test_any_value_gives_a_wait_or_none(headers: dict[str, str]) -> None:
    wait = reset(headers, NOW)
    assert wait is None or wait > 0
