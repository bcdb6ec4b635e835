"""When a call is whole, what waits for it, and that brackets are followed however the text is cut."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.during.tool_call_hold import Brackets, CutEvent, ToolCallHold
from rules.framing.sse import Event
from rules.values.delta import Block, Channel, Close, Delta, Finish, Piece
from rules.wires.base import Ask
from rules.wires.openai_chat.codec import ChatCodec

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\{}[] \n', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('k"\\}', max_size=3), inner, max_size=3),
    max_leaves=8,
)


def fed(*texts: str) -> Brackets:
    brackets = Brackets()
    for text in texts:
        brackets.feed(text)
    return brackets


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.text(max_size=3), values, max_size=4), st.sampled_from([None, 1]), st.lists(st.integers(0, 999))
)
def test_whole_exactly_at_the_end_of_an_object_however_it_is_cut(
    value: object, indent: int | None, cuts: list[int]
) -> None:
    text = json.dumps(value, indent=indent)
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    brackets = Brackets()
    for a, b in itertools.pairwise(edges):
        assert not brackets.whole
        brackets.feed(text[a:b])
    assert brackets.whole


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text('{}[]"\\ a,:1', max_size=6), max_size=8))
def test_what_is_not_whole_json_may_look_so_only_where_brackets_match(texts: list[str]) -> None:
    text = "".join(texts)
    whole = fed(*texts).whole
    assert whole == fed(text).whole
    try:
        complete = isinstance(orjson.loads(text), dict | list)
    except orjson.JSONDecodeError:
        complete = False
    if complete:
        assert whole


@pytest.mark.parametrize(
    "texts",
    [
        ('{"a": "}',),
        ('{"a": "\\', '"}'),
        ("SELECT 1 FROM {t}",),
        ("x", " {}"),
        ('{"a":1}', " more"),
        ('{"a":1} more',),
        ('{"a":1}', ' {"b":2}'),
        ("null",),
        ("",),
    ],
)
def test_not_whole(texts: tuple[str, ...]) -> None:
    assert not fed(*texts).whole


def test_white_space_around_is_no_matter() -> None:
    assert fed(" \n", ' {"a"', ":1} ", "\n").whole


def held(hold: ToolCallHold, block: tuple[int, str], text: str) -> None:
    hold.feed(block, text)
    hold.keep(Event(text.encode()), (), {block[0]})


def raws(hold: ToolCallHold) -> list[bytes]:
    return [h.event.raw for h in hold.released()]


def test_events_wait_for_their_choice_and_keep_their_order() -> None:
    hold = ToolCallHold(1000)
    held(hold, (0, "a"), "{1")
    hold.keep(Event(b"both"), (), {0, 1})
    hold.keep(Event(b"one"), (), {1})
    hold.keep(Event(b"two"), (), {2})
    assert hold.waiting() == {0, 1, 2}
    assert raws(hold) == [b"two"]
    hold.close((0, "a"))
    assert raws(hold) == [b"{1", b"both", b"one"]
    assert (hold.waiting(), hold.size) == (set(), 0)


def test_nothing_is_released_before_a_call_closes() -> None:
    hold = ToolCallHold(1000)
    for _ in range(3):
        held(hold, (0, "a"), "x")
        assert raws(hold) == []
    hold.close((0, "a"))
    assert raws(hold) == [b"x"] * 3
    assert raws(hold) == []


def piece(hold: ToolCallHold, block: Block, text: str, *more: Delta) -> None:
    """A fragment that waits."""
    hold.feed(block, text)
    hold.keep(Event(text.encode()), [Piece(block, Channel.TOOL, text), *more], {block[0]})


A, B, OTHER = (0, "a"), (0, "b"), (1, "a")


class Parts(ChatCodec):
    """Writes the text of what is left of an event."""

    def only(self, event: Event, deltas: Sequence[Delta], wanted: Sequence[Delta | None]) -> Event | None:
        return Event("".join(d.text for d in wanted if isinstance(d, Piece)).encode())


CODEC = Parts(Ask("m", True))


def spared(hold: ToolCallHold, cut: CutEvent | None = None, looped: Block | None = None) -> list[bytes]:
    """The texts of what is spared, an item an event."""
    left = hold.spared(0, CODEC, cut, looped)
    return ["".join(d.text for d in held.deltas if isinstance(d, Piece)).encode() for held in left]


def test_whole_calls_are_spared_in_order_and_half_ones_are_not() -> None:
    hold = ToolCallHold(1000)
    for block, text in ((A, "{1"), (B, "{2"), (OTHER, "{3"), (A, "4")):
        piece(hold, block, text)
    piece(hold, A, "}", Close(A))
    hold.close(A)
    piece(hold, B, "5")
    piece(hold, OTHER, "}", Close(OTHER))
    hold.close(OTHER)
    assert spared(hold) == [b"{1", b"4", b"}"]
    assert [h.event.raw for h in hold.taken()] == [b"{1", b"{2", b"{3", b"4", b"}", b"5", b"}"]


@pytest.mark.parametrize(
    "also", [Piece(B, Channel.TOOL, "{"), Piece((0, "text"), Channel.TEXT, "so"), Finish(0, "stop")]
)
def test_a_whole_call_is_spared_without_what_shares_its_event(also: Delta) -> None:
    hold = ToolCallHold(1000)
    hold.open(B)
    piece(hold, A, "{")
    piece(hold, A, "1", also)
    piece(hold, A, "}", Close(A))
    hold.close(A)
    text = isinstance(also, Piece) and also.channel is Channel.TEXT
    assert spared(hold) == [b"{", b"1so" if text else b"1", b"}"]


def test_text_is_spared_up_to_the_first_call_that_is_not() -> None:
    hold = ToolCallHold(1000)
    said = (0, "text")
    piece(hold, A, "{", Piece(said, Channel.TEXT, "one"))
    piece(hold, A, "}", Close(A))
    hold.close(A)
    piece(hold, B, "{", Piece(said, Channel.TEXT, "two"))
    assert spared(hold) == [b"{one", b"}"]


def test_nothing_is_spared_where_an_event_cannot_be_written_again() -> None:
    class Stiff(Parts):
        def only(self, event: Event, deltas: Sequence[Delta], wanted: Sequence[Delta | None]) -> Event | None:
            return None

    hold = ToolCallHold(1000)
    hold.open(B)
    piece(hold, A, "{")
    piece(hold, A, "}", Close(A), Piece(B, Channel.TOOL, "{"))
    hold.close(A)
    assert hold.spared(0, Stiff(Ask("m", True))) == []


def test_a_whole_call_behind_one_that_stays_stays_too() -> None:
    hold = ToolCallHold(1000)
    piece(hold, B, "{")
    piece(hold, A, "{}", Close(A))
    hold.close(A)
    assert spared(hold) == []
    assert len(hold.queue) == 2


def test_a_call_that_looped_is_not_spared_though_it_is_closed() -> None:
    hold = ToolCallHold(1000)
    piece(hold, A, "{}", Close(A))
    hold.close(A)
    assert spared(hold) == [b"{}"] and spared(hold, looped=A) == []


def test_a_call_whose_last_fragment_stands_in_the_event_that_was_cut_is_spared() -> None:
    hold = ToolCallHold(1000)
    hold.open(B)
    piece(hold, A, '{"a":')
    hold.feed(A, "1}")
    hold.close(A)
    assert spared(hold) == []
    last = [Piece(A, Channel.TOOL, "1}"), Piece(B, Channel.TOOL, "loop")]
    cut = CutEvent(Event(b"both"), last, [last[0], None], {A})
    assert spared(hold, cut) == [b'{"a":', b"1}"]


def test_a_call_that_goes_on_behind_its_end_is_not_spared() -> None:
    hold = ToolCallHold(1000)
    hold.open(B)
    piece(hold, A, "{}", Close(A))
    hold.close(A)
    piece(hold, A, "{")
    assert spared(hold) == []


def test_all_can_be_taken_out() -> None:
    hold = ToolCallHold(1000)
    held(hold, (0, "a"), "x")
    held(hold, (1, "b"), "y")
    assert [h.event.raw for h in hold.taken()] == [b"x", b"y"]
    assert (hold.queue, hold.size, hold.waiting()) == ([], 0, {0, 1})


def test_over_the_limit_calls_become_loose() -> None:
    hold = ToolCallHold(10)
    held(hold, (0, "a"), '{"a":')
    assert raws(hold) == []
    held(hold, (0, "a"), '"123456')
    assert len(raws(hold)) == 2
    assert hold.waiting() == set()
    call = hold.feed((0, "a"), '"}')
    assert call is not None
    assert (call.whole, call.arguments) == (True, "")


def test_broken_json_in_matching_brackets_is_not_whole() -> None:
    call = ToolCallHold(100).feed((0, "a"), "{oops}")
    assert call is not None
    assert call.brackets.whole
    assert not call.whole


def test_an_empty_object_is_whole_but_not_evident() -> None:
    call = ToolCallHold(100).feed((0, "a"), " {} ")
    assert call is not None
    assert call.whole
    assert not call.evident


def test_free_text_is_never_whole_by_itself() -> None:
    hold = ToolCallHold(100)
    hold.open((0, "a"), "sql", free=True)
    call = hold.feed((0, "a"), '{"a":1}')
    assert call is not None
    assert not call.whole


def test_nothing_more_of_a_whole_call_is_nothing() -> None:
    hold = ToolCallHold(100)
    hold.feed((0, "a"), '{"a":1}')
    hold.close((0, "a"))
    assert hold.feed((0, "a"), "") is None
    again = hold.feed((0, "a"), "{")
    assert again is not None
    hold.drop()
    assert (hold.calls, hold.queue, hold.size) == ({}, [], 0)


@pytest.mark.parametrize(("limit", "waits"), [(12, True), (11, False)])
def test_exactly_at_the_limit_calls_are_still_held(limit: int, waits: bool) -> None:
    hold = ToolCallHold(limit)
    held(hold, (0, "a"), '{"a":')
    held(hold, (0, "a"), '"12345"')
    assert hold.calls[0, "a"].loose is not waits
    assert len(raws(hold)) == (0 if waits else 2)
