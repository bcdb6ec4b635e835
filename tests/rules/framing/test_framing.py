"""The framings: how they are told apart, and that server-sent events can keep their line ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.framing.framing import JSON_ARRAY, NDJSON, SSE, SSE_AS_SENT, by_first_bytes


@pytest.mark.parametrize(
    ("start", "framing"),
    [(b"data: {}\n\n", SSE), (b": hi\n", SSE), (b"", SSE), (b'{"a":1}\n', NDJSON), (b"\r\n [{", JSON_ARRAY)],
)
def test_first_bytes(start: bytes, framing: object) -> None:
    assert by_first_bytes(start) is framing


def test_a_body_begins_as_its_framing_says() -> None:
    assert NDJSON.begins(b' {"a"') and not NDJSON.begins(b"[") and not SSE.begins(b"{")
    assert JSON_ARRAY.begins(b"\xef\xbb\xbf[") and (SSE.sse, NDJSON.sse, JSON_ARRAY.sse) == (True, False, False)


@given(st.lists(st.integers(0, 999), max_size=5), st.integers(1, 40), st.sampled_from([b"\n", b"\r\n"]))
def test_line_ends_stay_as_the_server_wrote_them(numbers: list[int], size: int, end: bytes) -> None:
    raw = b"".join(b": note" + end + b'data: {"n":%d}' % number + end + end for number in numbers)
    decoder = SSE_AS_SENT.decoder(1 << 20)
    events = [event for at in range(0, len(raw), size) for event in decoder.feed(raw[at : at + size])]
    events += decoder.eof()
    assert b"".join(event.raw for event in events) == raw
    assert [event.json["n"] for event in events if event.data is not None] == numbers


def test_bare_json_over_several_lines_is_one_event() -> None:
    """So Google writes an error into a stream."""
    for framing in (SSE, SSE_AS_SENT):
        for tail in (b"", b"\n\n"):
            decoder = framing.decoder(1 << 20)
            raw = b'data: {"a":1}\n\n{\n  "error": {\n    "code": 503\n  }\n}' + tail
            events = [*decoder.feed(raw), *decoder.eof()]
            assert [event.json for event in events] == [{"a": 1}, {"error": {"code": 503}}]
