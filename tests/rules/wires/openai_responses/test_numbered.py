"""The shortcut for numbered deltas says what the parser would say, or nothing at all."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.framing.sse import encode
from rules.values.delta import Channel, Piece
from rules.wires.openai_responses.numbered import TRIES, Numbered

BLOCK = (0, "0.0")


def body(number: int, text: str, **more: Any) -> bytes:
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    event = {"type": "response.output_text.delta", "sequence_number": number, **at, "delta": text, "logprobs": []}
    return orjson.dumps({**event, **more})


def said(text: str) -> Piece:
    return Piece(BLOCK, Channel.TEXT, text)


def taught(text: str = "Hello", **more: Any) -> Numbered:
    like = Numbered()
    like.learn(body(4, text, **more), said(text))
    return like


def test_untaught_it_matches_nothing() -> None:
    assert Numbered().match(body(4, "x")) is None
    assert Numbered().match(b"") is None
    assert Numbered().match(b"\0,\0") is None


@pytest.mark.parametrize("more", [{}, {"obfuscation": "aZ3"}], ids=["plain", "padded"])
def test_another_number_text_and_padding_are_read(more: dict[str, Any]) -> None:
    like = taught(**more)
    if more:
        more = {"obfuscation": "q9x8r7"}
    for number, text in ((5, " world"), (1234567, "!"), (6, "☕ ö"), (7, "Hello"), (8, "a\nline"), (9, "a\\b")):
        assert like.match(body(number, text, **more)) == said(text)


@pytest.mark.parametrize("more", [{}, {"obfuscation": "aZ3"}], ids=["plain", "padded"])
def test_whole_events_are_read_too(more: dict[str, Any]) -> None:
    like = Numbered()
    like.learn(encode(body(4, "Hello", **more), "response.output_text.delta"), said("Hello"))
    assert like.match(encode(body(5, "x", **more), "response.output_text.delta")) == said("x")
    assert like.match(encode(body(5, "x", **more))) is None
    assert like.match(body(5, "x", **more)) is None
    assert like.match(encode(body(5, "x", **more), "response.output_text.delta") * 2) is None


@pytest.mark.parametrize(
    "data",
    [
        body(5, ""),
        body(5, 'a "quote"'),
        body(5, "x", logprobs=[{"token": "x"}]),
        body(5, "x", item_id="msg_2"),
        body(5, "x", extra=1),
        body(5, "x")[:-1],
        body(5, "x") + b" ",
        body(5, "x").replace(b":5,", b":-5,"),
        body(5, "x").replace(b":5,", b":,"),
        body(5, "x").replace(b":5,", b":05,"),
        body(5, "x", obfuscation="abc"),
    ],
)
def test_whatever_else_differs_is_for_the_parser(data: bytes) -> None:
    assert taught().match(data) is None


@pytest.mark.parametrize("padding", ['a"b', "a\\b", "\n", "a b"])
def test_odd_padding_is_for_the_parser(padding: str) -> None:
    assert taught(obfuscation="x").match(body(5, "y", obfuscation=padding)) is None


def test_what_is_not_certain_is_not_learned() -> None:
    for data in (body(4, "Hello", x={"delta": "Hello"}), body(4, "Hello", x='"'), b'{"delta":"Hello"}'):
        like = Numbered()
        like.learn(data, said("Hello"))
        assert like.match(data) is None


def test_a_stream_whose_events_all_differ_is_given_up() -> None:
    like = Numbered()
    for number in range(TRIES + 1):
        like.learn(body(number, "x", item_id=f"msg_{number}"), said("x"))
    assert like.match(body(TRIES, "y", item_id=f"msg_{TRIES}")) is None


@settings(max_examples=100, deadline=None)
@given(
    first=st.text(max_size=6),
    padded=st.booleans(),
    number=st.integers(0, 10**9),
    text=st.text(max_size=6),
    padding=st.text(max_size=4),
    at=st.integers(0, 200),
    mutation=st.binary(max_size=3),
)
def test_it_never_differs_from_the_parser(
    first: str, padded: bool, number: int, text: str, padding: str, at: int, mutation: bytes
) -> None:
    like = taught(first, **({"obfuscation": "x"} if padded else {}))
    data = body(number, text, **({"obfuscation": padding} if padded else {}))
    for given_ in (data, data[:at] + mutation + data[at + len(mutation) :]):
        piece = like.match(given_.decode(errors="replace").encode())  # as the Decoder hands events on
        if piece is not None:
            parsed = orjson.loads(given_.decode(errors="replace"))
            assert parsed["delta"] == piece.text
            assert parsed["item_id"] == "msg_1"
            assert parsed["type"] == "response.output_text.delta"
