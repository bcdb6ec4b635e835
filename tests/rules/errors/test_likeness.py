"""When two answers that are none are the same one, come again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.errors import classify, likeness
from rules.values.failures import Failure, Kind, Phase

PAGE = b"<html>Not here. Ray 9f3a1c, Mon, 30 Nov 2026 10:12:13 GMT, v2</html>"


def page(came: bytes, headers: dict[str, str] | None = None) -> Failure:
    return likeness.known(classify.strange(200, "text/html", came, headers or {}, now=0.0), came)


def test_ids_numbers_and_times_make_no_difference() -> None:
    later = PAGE.replace(b"9f3a1c", b"77b0").replace(b"10:12:13", b"10:12:14")
    assert page(PAGE).likeness == page(later).likeness != ""
    one, two = (b'{"request":"%s"}' % (word * 40) for word in (b"a", b"b"))
    assert page(one).likeness == page(two).likeness


def test_other_words_make_another_answer() -> None:
    assert page(PAGE).likeness != page(PAGE.replace(b"Not here", b"Come back")).likeness
    assert likeness.known(classify.unreadable(), b"x").likeness != likeness.known(classify.ended(0), b"x").likeness


@pytest.mark.parametrize(
    "failure",
    [
        Failure(Phase.HEADERS, Kind.SERVER, "no HTTP", code="streamfuse_upstream_invalid"),
        Failure(Phase.STREAM, Kind.NETWORK, "it broke", code="streamfuse_stream_broken"),
        Failure(Phase.STREAM, Kind.SERVER, "overloaded", code="overloaded_error"),
        Failure(Phase.STREAM, Kind.RATE_LIMIT, "slow down"),
        Failure(Phase.STREAM, Kind.UNKNOWN, "a rule of yours", rule="mine"),
        classify.strange(200, "text/html", PAGE, {"retry-after": "5"}, now=0.0),
    ],
)
def test_what_may_pass_is_compared_with_nothing(failure: Failure) -> None:
    assert likeness.known(failure, b"x").likeness == ""


def test_damage_is_the_same_in_answers_to_different_prompts() -> None:
    short = Failure(Phase.STREAM, Kind.NETWORK, "shorter than it says", code=likeness.SHORT)
    junk = Failure(Phase.HEADERS, Kind.SERVER, "no HTTP", code=likeness.INVALID)
    assert [likeness.common(one) for one in (short, junk)] == [likeness.SHORT, likeness.INVALID]
    one, two = (likeness.known(classify.unreadable(), half) for half in (b'{"text": "The s', b'{"text": "My nam'))
    assert one.likeness != two.likeness and likeness.common(one) == likeness.common(two) == "streamfuse_unreadable"
    unknown = [likeness.known(Failure(Phase.STREAM, Kind.UNKNOWN, "boom"), said) for said in (b"boom", b"bang")]
    assert likeness.common(unknown[0]) != likeness.common(unknown[1])


@pytest.mark.parametrize(
    "failure",
    [
        classify.unreadable(),
        Failure(Phase.STREAM, Kind.NETWORK, "it broke", code="streamfuse_stream_broken"),
        Failure(Phase.HEADERS, Kind.SERVER, "down", status=503),
    ],
)
def test_what_may_pass_is_the_same_as_nothing(failure: Failure) -> None:
    assert likeness.common(failure) == ""


def test_an_error_that_nobody_knows_is_compared() -> None:
    assert likeness.known(Failure(Phase.STREAM, Kind.UNKNOWN, "boom"), b'{"error":"boom"}').likeness


def test_what_is_too_long_is_like_nothing() -> None:
    assert page(b"<" * likeness.MOST).likeness
    assert page(b"<" * (likeness.MOST + 1)).likeness == ""


@pytest.mark.parametrize("code", sorted(likeness.OVERSIZE))
def test_an_answer_over_our_limits_is_like_the_next_one_over_them(code: str) -> None:
    failure = Failure(Phase.STREAM, Kind.SERVER, "too large", code=code)
    one, two = likeness.known(failure, b"a" * (likeness.MOST + 1)), likeness.known(failure, b"")
    assert one.likeness == two.likeness != ""


@given(st.binary(max_size=200))
def test_any_bytes_are_like_themselves(came: bytes) -> None:
    assert page(came).likeness == page(came).likeness
