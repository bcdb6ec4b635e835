"""What an answer is, is decided by its bytes before its Content-Type."""

from __future__ import annotations

import pytest

from proxy.exchange.attempt.looks import Looks, is_events, looks


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b'data: {"a": 1}\n\n', Looks.SSE),
        (b"\xef\xbb\xbf\r\n: comment\n\n", Looks.SSE),
        (b"EVENT: message_start\n", Looks.SSE),
        (b'  \n{"id": 1}', Looks.JSON),
        (b"[{", Looks.JSON),
        (b"<!DOCTYPE html>", Looks.PAGE),
    ],
)
@pytest.mark.parametrize("media_type", ["", "text/plain", "text/event-stream", "application/json"])
def test_the_first_bytes_say_what_an_answer_is(start: bytes, kind: Looks, media_type: str) -> None:
    assert looks(media_type, start) is kind


@pytest.mark.parametrize("start", [b"", b"\n\n", b"upstream connect error", b"dat"])
@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("text/event-stream", Looks.SSE),
        ("application/json", Looks.JSON),
        ("application/problem+json", Looks.JSON),
        ("text/plain", Looks.OTHER),
        ("", Looks.OTHER),
    ],
)
def test_where_they_say_nothing_the_media_type_does(start: bytes, media_type: str, kind: Looks) -> None:
    assert looks(media_type, start) is kind


def test_events_show_themselves_behind_a_damaged_first_one() -> None:
    assert is_events(b'ta: {"half": 1}\n\ndata: {"whole": 1}\n\n')
    assert is_events(b"{}\revent: ping\r\r")


def test_no_json_shows_events() -> None:
    assert not is_events(b'{"text": "\\ndata: x"}')
    assert not is_events(b"data: the first line alone")
