"""NDJSON: the same lines however the bytes are cut, and byte for byte what came."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.framing.ndjson import LineDecoder
from rules.framing.sse import Event, EventTooLarge

VALUES = st.dictionaries(st.text(max_size=4), st.text(max_size=8) | st.integers(0, 99), max_size=3)


def decoded(raw: bytes, size: int = 1 << 20, limit: int = 1 << 20) -> list[Event]:
    decoder = LineDecoder(limit)
    events = [event for at in range(0, len(raw), size) for event in decoder.feed(raw[at : at + size])]
    return [*events, *decoder.eof()]


@given(st.lists(VALUES, max_size=5), st.integers(1, 20), st.sampled_from([b"\n", b"\r\n", b" \n"]))
def test_lines_are_what_came_however_they_are_cut(values: list[dict[str, object]], size: int, end: bytes) -> None:
    raw = b"".join(orjson.dumps(value) + end for value in values)
    events = decoded(raw, size)
    assert [event.json for event in events] == values
    assert b"".join(event.raw for event in events) == raw


def test_empty_lines_and_a_byte_order_mark_are_left_out() -> None:
    events = decoded(b'\xef\xbb\xbf{"a":1}\n\n \r\n{"b":2}\n')
    assert [event.raw for event in events] == [b'{"a":1}\n', b'{"b":2}\n']


def test_a_last_line_without_its_end_counts_where_it_is_whole() -> None:
    assert [event.json for event in decoded(b'{"a":1}\n{"b":2}')] == [{"a": 1}, {"b": 2}]
    for half in (b'{"b":', b'{"b":{}', b"]", b"null"):
        assert [event.json for event in decoded(b'{"a":1}\n' + half)] == [{"a": 1}]


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_a_character_that_is_split_between_two_lines_is_put_together(size: int) -> None:
    cup = "☕".encode()
    raw = b'{"t":"a' + cup[:2] + b'"}\n{"t":"' + cup[2:] + b'b"}\n'
    events = decoded(raw, size)
    assert "".join(event.json["t"] for event in events) == "a☕b"


def test_lost_characters_tear_the_line() -> None:
    first, second = decoded(b'{"t":"\xff\xfe\x00"}\n{"t":1}\n')
    assert (first.torn, first.raw, second.torn) == (True, b"", False)


def test_a_line_without_end_is_refused_and_the_lines_before_it_are_kept() -> None:
    decoder = LineDecoder(100)
    with pytest.raises(EventTooLarge) as caught:
        decoder.feed(b'{"a":1}\n{"b":"' + b"x" * 200 + b'"}\n')
    assert [event.json for event in caught.value.events] == [{"a": 1}]
    with pytest.raises(EventTooLarge):
        LineDecoder(100).feed(b"x" * 101)


def test_a_line_is_rewritten_as_a_line() -> None:
    (event,) = decoded(b'{"a": 1}\n')
    event.unname()
    event.renamed("x")
    event.rewrite({"a": 2})
    assert (event.raw, event.data) == (b'{"a":2}\n', b'{"a":2}')
