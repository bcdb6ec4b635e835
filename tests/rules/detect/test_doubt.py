"""Text that waits while a rule is half convinced: nothing is lost, nothing is moved, and a cut shows less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.demo.voices import voice_for
from rules import wires
from rules.detect.doubt import CHARACTERS, MOST_WAITS, SECONDS, Doubt
from rules.detect.packs import assemble
from rules.during.cut import Cut
from rules.during.output import Forward, Halt, Output
from rules.during.stream import Stream, StreamState
from rules.framing.sse import Decoder
from rules.values.brief import Brief
from rules.values.delta import Channel, Piece
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Transcript
from rules.values.verdict import Mode
from tests.readers.openai_responses import read as strict

from ..fakes import DONE, WordRules, finish, role, says, tool

CHAT = wires.get("openai_chat")
BODY = {"model": "m-1", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
RULES = WordRules("LOOP", doubts=True)


def stream(rules: Any = RULES, **given: Any) -> Stream:
    body = {**BODY, **given.pop("body", {})}
    return Stream(CHAT, CHAT.ask(body), rules, transcript=Transcript(keep=True), **given)


def raw(out: list[Output]) -> bytes:
    return b"".join(o.raw for o in out if isinstance(o, Forward))


def text(sent: bytes) -> str:
    bodies = [event.json for event in Decoder().feed(sent) if event.data is not None and event.data != b"[DONE]"]
    return "".join(c["delta"].get("content") or "" for body in bodies for c in body.get("choices", ()))


def test_doubted_text_waits_and_comes_whole_when_nobody_doubts_any_more() -> None:
    one = stream()
    assert raw(one.feed(role(), 0.0)) == role()
    assert raw(one.feed(says("Hi "), 0.0)) == says("Hi ")
    assert one.feed(says("what? "), 0.1) == [] and one.state is StreamState.WAITING
    assert one.feed(says("and "), 0.2) == []
    assert raw(one.feed(says("so."), 0.3)) == says("what? ") + says("and ") + says("so.")
    assert one.state is StreamState.PASSING
    assert one.transcript.text() == "Hi what? and so."


def test_a_cut_drops_what_waited_and_its_transcript_is_what_the_client_has() -> None:
    one = stream()
    sent = raw(one.feed(role() + says("Hi "), 0.0))
    assert one.feed(says("what? "), 0.1) == []
    out = one.feed(says("LOOP"), 0.2)
    assert isinstance(out[-1], Halt)
    sent += raw(out) + one.closing()
    assert text(sent) == "Hi "
    assert one.transcript.text() == "Hi "


def test_text_that_waits_in_one_read_keeps_its_place() -> None:
    one = stream()
    answer = role() + says("a ") + says("b? ") + says("c ") + says("d.") + says("e ") + finish() + DONE
    assert raw(one.feed(answer, 0.0)) == answer


@pytest.mark.parametrize(
    "other", [says(reasoning_content="x"), finish(), tool(0, "{}", "f"), b": comment\n\n" + finish()], ids=repr
)
def test_any_other_event_lets_it_out_first(other: bytes) -> None:
    one = stream()
    sent = raw(one.feed(role() + says("b? "), 0.0))
    sent += raw(one.feed(other, 0.1)) + raw(one.feed(finish("tool_calls"), 0.1)) + raw(one.feed(DONE, 0.1))
    assert text(sent) == "b? "
    assert sent.index(says("b? ")) < sent.index(b'finish_reason":"')


def test_it_waits_for_so_many_characters_and_then_passes_until_the_doubt_is_over() -> None:
    one = stream()
    one.feed(role(), 0.0)
    assert one.feed(says("?"), 0.0) == []
    for _ in range(CHARACTERS // 128 - 1):
        assert one.feed(says("x" * 128), 0.0) == []
    assert text(raw(one.feed(says("y" * 128), 0.0))) == "?" + "x" * (CHARACTERS - 128) + "y" * 128
    assert raw(one.feed(says("z"), 0.0)) == says("z")
    assert raw(one.feed(says("."), 0.0)) == says(".")
    assert one.feed(says("?"), 0.0) == []


def test_it_waits_for_so_long() -> None:
    one = stream()
    one.feed(role(), 0.0)
    assert one.feed(says("a? "), 10.0) == []
    assert raw(one.feed(says("b "), 10.1 + SECONDS)) == says("a? ") + says("b ")


def test_time_runs_while_nothing_comes() -> None:
    one = stream()
    one.feed(role(), 0.0)
    assert one.feed(says("a? "), 10.0) == []
    assert one.overdue(10.0 + SECONDS) == b""
    assert one.overdue(10.1 + SECONDS) == says("a? ")
    assert one.overdue(99.0) == b"" and one.state is StreamState.PASSING
    assert raw(one.feed(says("b "), 99.0)) == says("b ")
    assert one.transcript.text() == "a? b "


def test_a_failure_shows_what_waited() -> None:
    failure = Failure(Phase.STREAM, Kind.STREAM, "broken")
    ends: list[Callable[[Stream], bytes]] = [
        lambda one: one.failing(failure),
        lambda one: one.closing(),
        lambda one: raw(one.eof(1.0)),
        lambda one: raw(one.rest()),
    ]
    for end in ends:
        one = stream()
        sent = raw(one.feed(role() + says("a? "), 0.0))
        assert text(sent) == ""
        sent += end(one)
        assert text(sent) == "a? "


def test_nothing_waits_where_it_is_off_or_nobody_would_act() -> None:
    for one in (stream(waits=False), stream(mode=Mode.OFF), stream(None)):
        one.feed(role(), 0.0)
        assert raw(one.feed(says("a? "), 0.0)) == says("a? ")


def test_of_two_choices_only_the_cut_one_loses_what_waited() -> None:
    one = stream(body={"n": 2})
    sent = raw(one.feed(role() + role(1) + says("a? ", 1), 0.0))
    sent += raw(one.feed(says("b LOOP", 0), 0.0))
    sent += raw(one.feed(says("c.", 1) + finish(index=1) + DONE, 0.0)) + one.closing()
    assert "a? " in text(sent) and "c." in text(sent)
    assert "LOOP" not in text(sent)


def test_numbers_of_events_have_no_gap_where_text_was_dropped() -> None:
    """The strict reader of another wire refuses one."""
    body = {"model": "m", "stream": True, "input": "hi"}
    speaking = voice_for("/responses")
    assert speaking is not None
    voice, wire = speaking(body, 1), wires.get("openai_responses")
    said = [voice.head(), voice.say("Hello there. "), *(voice.say("The same words come again. ") for _ in range(60))]
    one = Stream(wire, wire.ask(body), assemble(["default"]))
    sent, held = b"", 0
    for part in said:
        out = one.feed(part, 0.0)
        held += not out
        sent += raw(out)
        if out and isinstance(out[-1], Halt):
            break
    assert one.finding is not None and held > 3
    strict(sent + one.closing())


@given(st.lists(st.sampled_from(["a ", "b? ", "c. ", "d "]), max_size=30), st.integers(1, 400))
def test_what_is_not_cut_comes_byte_for_byte(said: list[str], size: int) -> None:
    answer = role() + b"".join(map(says, said)) + finish() + DONE
    one = stream()
    sent = b"".join(raw(one.feed(answer[at : at + size], at / 100)) for at in range(0, len(answer), size))
    assert sent == answer


def test_a_real_rule_shows_less_of_its_loop_with_it() -> None:
    loop = [f"word{n} here " for n in range(5)] + ["The harbour is closed until morning. "] * 60

    def shown(waits: bool) -> int:
        one = Stream(CHAT, CHAT.ask(BODY), assemble(["default"]), waits=waits, cut=Cut())
        sent = raw(one.feed(role(), 0.0))
        for piece in loop:
            out = one.feed(says(piece), 0.0)
            sent += raw(out)
            if out and isinstance(out[-1], Halt):
                return len(text(sent))
        raise AssertionError("never cut")

    assert shown(True) < 0.75 * shown(False)


def test_a_watch_that_only_watches_holds_nothing() -> None:
    watch = assemble(["observe-only"]).watch(Brief())
    for _ in range(8):
        watch.feed(0, Channel.TEXT, "0", "The harbour is closed until morning. ")
        assert not watch.doubt


def test_the_doubt_of_another_block_waits_for_nobody() -> None:
    doubt, piece = Doubt(), Piece((0, "text"), Channel.TEXT, "a")
    assert doubt.takes(b"1", piece, 0.0)
    assert not doubt.takes(b"2", Piece((0, "other"), Channel.TEXT, "b"), 0.0)
    assert [raw for raw, _ in doubt.taken()] == [b"1"]


def test_each_wait_is_remembered_with_what_became_of_it() -> None:
    one = stream()
    one.feed(role() + says("Hi "), 0.0)
    one.feed(says("what? "), 1.0)
    one.feed(says("so."), 1.5)
    one.feed(says("and? "), 3.0)
    one.feed(says("on "), 4.0)
    one.feed(says("LOOP"), 4.5)
    assert one.waits == [(0.5, False), (1.0, True)]
    doubt = Doubt()
    for _ in range(MOST_WAITS + 5):
        doubt.takes(b"", Piece((0, "0"), Channel.TEXT, "?"), 0.0)
        doubt.taken()
    assert len(doubt.waits) == MOST_WAITS
