"""A JSON array: the same elements however the bytes are cut, and byte for byte what came."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.framing.json_array import CLOSED, ArrayDecoder, Element
from rules.framing.sse import Event, EventTooLarge

JSON = st.recursive(
    st.none() | st.integers(0, 99) | st.text(alphabet='ab"\\{}[],☕\n ', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
VALUES = st.dictionaries(st.text(alphabet='ab"\\}', max_size=3), JSON, max_size=3)


def decoded(raw: bytes, size: int = 1 << 20, limit: int = 1 << 20) -> list[Event]:
    decoder = ArrayDecoder(limit)
    events = [event for at in range(0, len(raw), size) for event in decoder.feed(raw[at : at + size])]
    return [*events, *decoder.eof()]


@given(
    st.lists(VALUES, min_size=1, max_size=4),
    st.integers(1, 30),
    st.sampled_from([b",", b"\n,\r\n", b" , "]),
    st.booleans(),
    st.sampled_from([b"]", b"\n]\n", b"]\r\n"]),
)
def test_elements_are_what_came_however_they_are_cut(
    values: list[dict[str, object]], size: int, between: bytes, spread: bool, end: bytes
) -> None:
    option = orjson.OPT_INDENT_2 if spread else 0
    raw = b"[" + between.join(orjson.dumps(value, option=option) for value in values) + end
    events = decoded(raw, size)
    assert b"".join(event.raw for event in events) == raw
    assert [event.json for event in events[:-1]] == values
    assert events[-1].data == CLOSED


def test_an_array_that_breaks_off_gives_its_whole_elements() -> None:
    assert [event.json for event in decoded(b'[{"a":1}\n,{"b":')] == [{"a": 1}]
    assert decoded(b"[") == []


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_what_is_no_object_is_torn(size: int) -> None:
    for stray in (b"oops", b"5"):
        events = decoded(b'[{"a":1},' + stray + b',{"b":2}]', size)
        assert any(event.torn for event in events)
        assert [event.json for event in events if isinstance(event, Element)] == [{"a": 1}, {"b": 2}]
    assert any(event.torn for event in decoded(b'[{"a":1},[],{"b":2}]', size))


def test_broken_brackets_and_characters_are_seen() -> None:
    (first, *_) = decoded(b'[{"a":1]}]')
    assert first.unreadable
    assert decoded(b'[{"a":"\xff"},{"b":1}]')[0].torn


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_what_stands_behind_the_bracket_is_left_out(size: int) -> None:
    for noise in (b"ping\n", b"<html>502</html>", b'{"late":1}', b"]"):
        events = decoded(b'[{"a":1}\n]\r\n' + noise, size)
        assert b"".join(event.raw for event in events) == b'[{"a":1}\n]\r\n'


def test_an_element_without_end_is_refused_and_those_before_it_are_kept() -> None:
    with pytest.raises(EventTooLarge) as caught:
        ArrayDecoder(100).feed(b'[{"a":1},{"b":"' + b"x" * 200)
    assert [event.json for event in caught.value.events] == [{"a": 1}]


def test_an_element_keeps_what_stands_before_it() -> None:
    first, second, _ = decoded(b'[{"a":1}\n,\r\n{"b":2}]')
    assert isinstance(first, Element) and isinstance(second, Element)
    second.rewrite({"b": 3})
    assert (first.raw, second.raw) == (b'[{"a":1}', b'\n,\r\n{"b":3}')
    second.led(b"[")
    assert second.raw == b'[{"b":3}'
