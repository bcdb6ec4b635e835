"""Chunks that differ in their text and in known members: matched only where a parser would read the very same."""

from __future__ import annotations

import re
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from rules.framing.varied import TRIES, Varied
from rules.values.delta import Channel, Piece

TIME = re.compile(rb'"at":"([^"\\]*)"')
COUNT = re.compile(rb'"n":(\d+)')


def chunk(text: str, at: str = "10:00", n: Any = 1, **more: Any) -> bytes:
    return orjson.dumps({"at": at, "t": {"text": text}, "n": n, **more}) + b"\n"


def taught(members: re.Pattern[bytes], text: str = "first", **more: Any) -> Varied:
    varied = Varied(members)
    varied.learn(chunk(text, **more), Piece((0, "text"), Channel.TEXT, text))
    return varied


@given(st.text(max_size=12), st.text(alphabet="0123:.Z", max_size=8))
def test_a_match_says_what_a_parser_says(text: str, at: str) -> None:
    raw = chunk(text, at)
    piece = taught(TIME).match(raw)
    if piece is not None:
        assert piece.text == orjson.loads(raw)["t"]["text"]
    else:
        assert not text or not text.isprintable()


@given(st.binary(max_size=8), st.integers(0, 40), st.integers(0, 3))
def test_damage_is_never_matched_as_something_else(noise: bytes, at: int, gone: int) -> None:
    """Whatever bytes are changed: a match only where the chunk still is JSON with this text."""
    raw = chunk("some words")
    bad = raw[:at] + noise + raw[at + gone :]
    piece = taught(TIME).match(bad)
    if piece is not None:
        body = orjson.loads(bad)
        assert body == {**orjson.loads(raw), "at": body["at"], "t": {"text": piece.text}}


def test_counts_may_differ_and_nothing_else() -> None:
    varied = taught(COUNT)
    assert varied.match(chunk("x", n=123)) == Piece((0, "text"), Channel.TEXT, "x")
    for other in (chunk("x", n=-1), chunk("x", n=1.5), chunk("x", n="7"), chunk("x", at="11:00"), chunk("x", z=1)):
        assert varied.match(other) is None
    assert varied.match(chunk("x", n=5).replace(b'"n":5', b'"n":05')) is None


def test_a_text_that_looks_like_a_member_is_a_text() -> None:
    for text in ('"at":"9"', '","n":3', 'a"},"n":1}\n', "\\"):
        piece = taught(TIME, text='"at":"1"').match(chunk(text))
        assert piece is None or piece.text == text


def test_nothing_is_learned_from_a_text_that_stands_twice_and_it_gives_up() -> None:
    assert taught(TIME, text="10:00").match(chunk("x")) is None
    varied = Varied(TIME)
    for n in range(TRIES + 2):
        varied.learn(chunk("word", k=n), Piece((0, "text"), Channel.TEXT, "word"))
    assert varied.match(chunk("x", k=TRIES + 1)) is None
    varied = taught(TIME)
    varied.forget()
    assert varied.match(chunk("x")) is None
