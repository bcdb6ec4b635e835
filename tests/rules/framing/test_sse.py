"""The decoder against every row of the framing matrix, any chunking, and garbage."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rules.framing.sse import Decoder, Event, EventTooLarge, encode

A = b'{"a":1}'
B = b'{"b":2}'


def read(*chunks: bytes, limit: int = 1 << 20) -> list[Event]:
    decoder = Decoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.eof()


def datas(events: Iterable[Event]) -> list[bytes]:
    return [event.data for event in events if event.data is not None]


def bytewise(stream: bytes) -> list[bytes]:
    return [stream[i : i + 1] for i in range(len(stream))]


def test_the_usual_block_keeps_its_own_bytes() -> None:
    stream = b'data: {"a": 1 }\n\ndata: [DONE]\n\n'
    events = read(stream)
    assert b"".join(event.raw for event in events) == stream
    assert datas(events) == [b'{"a": 1 }', b"[DONE]"]
    assert events[0].json == {"a": 1}
    assert events[1].json is None


def test_named_events_keep_their_bytes_and_name() -> None:
    stream = b"event: message_stop\ndata: " + A + b"\n\n"
    (event,) = read(stream)
    assert (event.name, event.data, event.raw) == ("message_stop", A, stream)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("cut", ["whole", "bytes"])
def test_all_three_line_ends_come_out_as_lf(end: bytes, cut: str) -> None:
    stream = b"event: x" + end + b"data: " + A + end + end + b"data: " + B + end + end
    events = read(stream) if cut == "whole" else read(*bytewise(stream))
    assert [event.raw for event in events] == [encode(A, "x"), encode(B)]


def test_a_cr_at_a_chunk_border_followed_by_lf_is_one_line_end() -> None:
    events = read(b"data: " + A + b"\r", b"\n", b"\r", b"\nevent: x\r", b"\ndata: " + B + b"\r\n\r\n")
    assert [(event.name, event.data) for event in events] == [("", A), ("x", B)]


def test_a_cr_ends_its_event_at_once() -> None:
    assert datas(Decoder().feed(b"data: " + A + b"\r\r")) == [A]


def test_mixed_line_ends() -> None:
    assert datas(read(b"data: " + A + b"\r\n\ndata: " + B + b"\n\r\ndata: {}\r\n\r")) == [A, B, b"{}"]


@pytest.mark.parametrize("cuts", [(3,), (1, 2), (2,)])
def test_a_byte_order_mark_is_stripped(cuts: tuple[int, ...]) -> None:
    stream = b"\xef\xbb\xbfdata: " + A + b"\n\n"
    edges = (0, *cuts, len(stream))
    assert [e.raw for e in read(*(stream[a:b] for a, b in itertools.pairwise(edges)))] == [encode(A)]


def test_a_byte_order_mark_later_is_content() -> None:
    assert datas(read(b'data: {"a":"\xef\xbb\xbf"}\n\n')) == [b'{"a":"\xef\xbb\xbf"}']


def test_utf8_split_inside_a_code_point() -> None:
    stream = encode('{"a":"日本😀"}'.encode())
    assert [e.raw for e in read(*bytewise(stream))] == [stream]


@pytest.mark.parametrize(
    "text", [b"x\xff", b"\xe6y", b"\x97", b"a\xe6\x97b", b"\xc0\xaf", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"]
)
def test_an_event_whose_characters_are_lost_is_torn(text: bytes) -> None:
    decoder = Decoder()
    events = decoder.feed(b'data: {"a":"%b"}\n\ndata: {"a":"\xe6\x97\xa5"}\n\n: \xff\n' % text)
    assert [(event.torn, event.unreadable) for event in events] == [(True, True), (False, False), (False, False)]
    assert (events[0].json, events[0].raw) == (None, b"")
    assert events[1].json == {"a": "日"}
    assert events[2].raw == ": \ufffd\n".encode()


@pytest.mark.parametrize("cuts", [(1,), (2,), (3,), (1, 2), (1, 2, 3), (4,)])
def test_a_character_split_between_events_is_put_together(cuts: tuple[int, ...]) -> None:
    said = "😀".encode()
    parts = [said[a:b] for a, b in zip((0, *cuts), (*cuts, len(said)), strict=True)]
    parts[0], parts[-1] = b"so " + parts[0], parts[-1] + b" it is"
    decoder = Decoder()
    events = [e for part in parts for e in decoder.feed(b'data: {"a":"%b"}\n\n: hb\n' % part) if e.data is not None]
    assert "".join(event.json["a"] for event in events) == "so 😀 it is"
    assert decoder.clear


def test_two_split_characters_in_a_row_are_put_together() -> None:
    yen, euro = "円".encode(), "€".encode()
    decoder = Decoder()
    parts = (yen[:1], yen[1:] + b" " + euro[:2], euro[2:])
    events = [e for part in parts for e in decoder.feed(b'data: {"a":"%b"}\n\n' % part)]
    assert "".join(event.json["a"] for event in events) == "円 €"


@pytest.mark.parametrize("then", [b'{"a":"plain"}', b'{"a":"\x98"}', b'{"a":"x\x9f\x98\x80"}'])
def test_a_character_whose_rest_never_comes_is_lost(then: bytes) -> None:
    events = Decoder().feed(b'data: {"a":"\xf0"}\n\ndata: %b\n\ndata: {}\n\n' % then)
    assert [event.torn for event in events[:2]] == [False, then != b'{"a":"\x98"}']
    assert any(event.torn for event in events)


@pytest.mark.parametrize("lost", [b'dbta: {"a":1', b'"a":1}', b'{"a":', b'dat\x00: {"a":1}', b'data {"a":1}'])
def test_a_line_that_is_part_of_an_object_is_torn(lost: bytes) -> None:
    events = Decoder().feed(b"data: {}\n\n" + lost + b"\n\ndata: {}\n\n")
    assert [event.torn for event in events] == [False, True, False]


def test_an_object_without_its_field_name_or_behind_a_byte_order_mark_is_read() -> None:
    assert datas(read(b"data: {}\n\n" + A + b"\n\n\xef\xbb\xbfdata: " + A + b"\n\n")) == [b"{}", A, A]


def test_numbers_that_are_none_are_read_and_pass() -> None:
    (event,) = read(b'data: {"logprob":-Infinity,"b":NaN}\n\n')
    assert event.json["logprob"] == float("-inf")
    assert event.raw == b'data: {"logprob":-Infinity,"b":NaN}\n\n'


@pytest.mark.parametrize("word", [b"ping", b"OPENROUTER PROCESSING", b"null", b"[]", b"[DONE]", b"7", b'"ping"', b"{}"])
def test_words_and_json_that_is_something_else_are_no_damage(word: bytes) -> None:
    (event,) = read(b"data: " + word + b"\n\n")
    assert not event.unreadable


@pytest.mark.parametrize("line_end", ["\u2028", "\u0085", "\u000b", "\u000c", "\u001c"])
def test_other_line_separators_are_content(line_end: str) -> None:
    data = f'{{"a":"x{line_end}y"}}'.encode()
    assert datas(read(b"data: " + data + b"\n\n")) == [data]


@pytest.mark.parametrize("stream", [b": x\n\n", b": x\n", b": x\r\n\r\n", b"\n\n: x\n"])
def test_a_comment_is_one_line_without_a_blank_one(stream: bytes) -> None:
    (event,) = Decoder().feed(stream)
    assert (event.data, event.raw, event.json) == (None, b": x\n", None)


def test_bare_comments_and_comments_inside_events() -> None:
    events = read(b":\n\n", b"event: x\n: y\ndata: " + A + b"\n\n")
    assert [event.raw for event in events] == [b":\n", b": y\n", encode(A, "x")]


def test_a_comment_cut_in_the_middle_waits_for_its_end() -> None:
    decoder = Decoder()
    assert decoder.feed(b": PROC") == []
    assert [event.raw for event in decoder.feed(b"ESSING\n")] == [b": PROCESSING\n"]


def test_data_without_space() -> None:
    assert [e.raw for e in read(b"data:" + A + b"\n\ndata:[DONE]\n\n")] == [encode(A), encode(b"[DONE]")]


def test_json_over_several_data_lines_becomes_one_line() -> None:
    for chunks in ([b'data: {\ndata:  "a":\ndata: 1}\n\n'], bytewise(b'data: {\ndata:  "a":\ndata: 1}\n\n')):
        (event,) = read(*chunks)
        assert event.json == {"a": 1}
        assert event.data == b'{\n "a":\n1}'
        assert event.raw == b'data: {  "a": 1}\n\n'


@pytest.mark.parametrize(
    "block",
    [
        b"event: ping\n\n",
        b"data:\n\n",
        b"data: \n\n",
        b"data\n\n",
        b"event: x\ndata: \n\n",
        b"retry: 3000\n\n",
        b"id: 7\n\n",
    ],
)
def test_blocks_that_say_nothing_are_dropped(block: bytes) -> None:
    decoder = Decoder()
    assert datas(decoder.feed(block + b"data: " + A + b"\n\n")) == [A]
    assert decoder.dropped == 1


def test_id_and_retry_lines_are_dropped_from_events() -> None:
    (event,) = read(b"id: 1\nevent: x\nretry: 5\ndata: " + A + b"\nid\n\n")
    assert event.raw == encode(A, "x")


def test_extra_blank_lines() -> None:
    stream = b"\n\n\ndata: " + A + b"\n\n\n\n\ndata: " + B + b"\n\n\n"
    assert datas(read(stream)) == datas(read(*bytewise(stream))) == [A, B]


@pytest.mark.parametrize("tail", [b"data: " + B, b"data: " + B + b"\n", b"data:" + B, b"event: x\ndata: " + B])
def test_a_whole_tail_at_the_end_is_an_event(tail: bytes) -> None:
    assert datas(read(b"data: " + A + b"\n\n", tail)) == [A, B]


def test_done_without_a_line_end() -> None:
    assert datas(read(b"data: " + A + b"\n\ndata: [DONE]")) == [A, b"[DONE]"]


@pytest.mark.parametrize("tail", [b'data: {"a":', b"data: [DON", b"da", b"event: x\n", b"data: 12", b": hb", b'{"a":1'])
def test_half_a_line_at_the_end_is_discarded(tail: bytes) -> None:
    decoder = Decoder()
    assert datas(decoder.feed(b"data: " + A + b"\n\n" + tail)) == [A]
    assert decoder.eof() == []
    assert decoder.eof() == []


@pytest.mark.parametrize("cut", ["whole", "bytes"])
def test_one_line_end_between_events(cut: str) -> None:
    stream = b"data: " + A + b"\ndata: " + B + b"\ndata: [DONE]\n"
    events = read(stream) if cut == "whole" else read(*bytewise(stream))
    assert [event.raw for event in events] == [encode(A), encode(B), encode(b"[DONE]")]


def test_one_line_end_between_named_events() -> None:
    stream = b"event: x\ndata: " + A + b"\nevent: y\ndata: " + B + b"\n"
    assert [(e.name, e.data) for e in read(*bytewise(stream))] == [("x", A), ("y", B)]


def test_once_seen_single_line_ends_cost_no_delay() -> None:
    decoder = Decoder()
    decoder.feed(b"data: " + A + b"\ndata: ")
    assert datas(decoder.feed(B + b"\n")) == [B]


def test_a_broken_line_among_whole_ones_costs_itself() -> None:
    events = read(b'data: {"broken\ndata: ' + A + b"\ndata: " + B + b"\n\n")
    assert [event.json for event in events] == [None, {"a": 1}, {"b": 2}]


def test_one_broken_event_costs_one_event() -> None:
    events = read(b"data: " + A + b'\n\ndata: {"a":\n\ndata: ' + B + b"\n\n")
    assert [event.json for event in events] == [{"a": 1}, None, {"b": 2}]


@pytest.mark.parametrize(
    ("value", "body"),
    [
        (b'{"code":500,"message":"x"}', {"error": {"code": 500, "message": "x"}}),
        (b'{"error":{"message":"x"}}', {"error": {"message": "x"}}),
        (b"slot unavailable", {"error": {"message": "slot unavailable"}}),
    ],
)
def test_the_error_field_of_old_llama_cpp_becomes_data(value: bytes, body: dict[str, object]) -> None:
    (event,) = read(b"error: " + value + b"\n\n")
    assert (event.name, event.json) == ("error", body)
    assert event.data is not None
    assert event.raw == encode(event.data, "error")


def test_a_large_event_passes_in_any_pieces() -> None:
    stream = encode(b'{"a":"' + b"x" * 5_000_000 + b'"}')
    pieces = [stream[i : i + 65_536] for i in range(0, len(stream), 65_536)]
    assert [event.raw for event in read(*pieces, limit=16 << 20)] == [stream]


@pytest.mark.parametrize("endless", [b"data: x", b"event: x", b": x", b"data: x\n", b"x", b"id: 4\n"])
def test_an_endless_event_is_an_error_and_keeps_what_came_before(endless: bytes) -> None:
    decoder = Decoder(1000)
    with pytest.raises(EventTooLarge) as caught:
        decoder.feed(b"data: " + A + b"\n\n" + endless * 1001)
    assert datas(caught.value.events) == [A]
    assert "1000 bytes" in str(caught.value)


def test_an_event_over_the_limit_in_one_read() -> None:
    with pytest.raises(EventTooLarge) as caught:
        Decoder(100).feed(encode(A) + encode(b"x" * 101) + encode(B))
    assert datas(caught.value.events) == [A]


lines = st.sampled_from(
    [
        *(b"data: " + A, b"data:" + B, b"data: {", b'data: "c": 3}', b"data: [DONE]", b"data:", b"data: \xe6\x97\xa5"),
        *(b"event: x", b"event: ping", b": hb", b":", b"id: 1", b"retry: 3", b"", b"", b"", b"junk", b"data: \xff"),
        *(b'error: {"code": 5}', b"data", b'data: {"u":"\xe2\x80\xa8"}', b"\xef\xbb\xbf"),
    ]
)
ends = st.sampled_from([b"\n", b"\r\n", b"\r"])
streams = st.lists(st.tuples(lines, ends), max_size=14).map(lambda parts: b"".join(a + b for a, b in parts))


def chunked(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[a:b] for a, b in itertools.pairwise(edges)]


@settings(max_examples=150, deadline=None)
@given(streams, st.lists(st.integers(0, 10_000), max_size=12))
@example(b'data: {"a":1}\ndata: \xff\n\n', [19])
@example(b"data: {\n\ndata: \xff\ndata: \xff\n\n\ndata: 1\n", [30])
def test_any_chunking_reads_the_same(stream: bytes, cuts: list[int]) -> None:
    whole, cut = read(stream), read(*chunked(stream, cuts))
    assert [(e.name, e.data, e.raw) for e in cut if e.data is not None] == [
        (e.name, e.data, e.raw) for e in whole if e.data is not None
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=60) | lines | ends, max_size=20))
def test_garbage_never_raises_and_what_comes_out_reads_back(chunks: list[bytes]) -> None:
    events = read(*chunks)
    again = read(b"".join(event.raw for event in events))
    sent = [event for event in events if event.raw and event.data is not None]
    assert [event.json for event in again if event.data is not None] == [event.json for event in sent]
    for event in events:
        event.raw.decode()


def test_an_event_at_rest_is_parsed_again_and_a_rewritten_one_says_the_new_body() -> None:
    (event,) = read(encode(A))
    first = event.json
    event.rest()
    event.rest()
    assert event.json == first
    assert event.json is not first
    event.rewrite({"a": 2})
    event.rest()
    assert (event.json, event.raw) == ({"a": 2}, b'data: {"a":2}\n\n')
