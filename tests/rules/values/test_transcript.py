"""What the client can no longer un-see, by what went out."""

from __future__ import annotations

from rules.values.delta import Channel, Finish, Head, Piece
from rules.values.transcript import Shown, Transcript


def test_the_end_of_one_choice_of_several_is_seen_whatever_it_said() -> None:
    """Asked again unseen, its answer would end twice."""
    shown = Transcript()
    shown.expected = 2
    shown.note(Head({"id": "1"}))
    assert shown.shown is Shown.NOTHING
    shown.note(Finish(0, "content_filter"))
    assert shown.shown is Shown.TEXT
    shown.note(Finish(1, "stop"))
    assert shown.shown is Shown.FINISHED


def test_choices_that_nobody_asked_for_count_when_they_came() -> None:
    shown = Transcript()
    shown.note(Piece((1, "0"), Channel.REASONING, "hm"))
    shown.note(Finish(0, "stop"))
    assert (shown.shown, shown.unfinished) == (Shown.TEXT, [1])


def test_a_shown_call_stays_a_shown_call() -> None:
    shown = Transcript()
    shown.expected = 2
    shown.note(Piece((1, "0"), Channel.TOOL, "{}"))
    shown.note(Finish(0, "stop"))
    assert shown.shown is Shown.TOOL
