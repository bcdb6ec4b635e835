"""Much that comes at once is looked at in turns, with the verdict and the bytes of one go."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rules.during.lookahead
import rules.during.reader
import rules.during.stream
from rules import wires
from rules.detect.packs import assemble
from rules.detect.ruleset import RuleSet
from rules.during.cut import Limits
from rules.during.lookahead import Lookahead
from rules.during.output import Forward, Halt, Noted, Output
from rules.during.reader import EVENT, LONG, TURN
from rules.during.stream import Stream
from rules.values.brief import Brief
from rules.values.delta import Channel, Piece
from rules.values.verdict import Action, Finding, Mode

from ..fakes import DONE, WordRules, WordWatch, finish, role, says, tool

TEXT = Channel.TEXT
WIRE = wires.get("openai_chat")
ASK = WIRE.ask({"model": "m", "stream": True, "messages": []})
LOOP = "Let me check the file once more to be sure. " * 60


class Counting(WordRules):
    """Remembers how many characters each call of the watch was shown."""

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> WordWatch:
        rules = self

        class Watch(WordWatch):
            def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
                rules.shown.append(len(text))
                return super().feed(choice, channel, key, text)

        return Watch(self, mode)

    shown: list[int]


def counting(word: str = "LOOP") -> Counting:
    rules = Counting(word)
    rules.shown = []
    return rules


def through(stream: Stream, chunks: Sequence[bytes]) -> list[Output]:
    """All chunks and the end, every turn taken."""
    outs: list[Output] = []
    for chunk in chunks:
        outs += stream.feed(chunk, 1.0)
        while stream.busy:
            outs += stream.more(1.0)
    outs += stream.eof(2.0)
    while stream.busy:
        outs += stream.more(2.0)
    return outs


def summary(outs: Sequence[Output]) -> tuple[bytes, list[object]]:
    told: list[object] = []
    for out in outs:
        if isinstance(out, Noted):
            told.append((out.finding.rule, out.finding.hit.at))
        elif isinstance(out, Halt):
            told.append((out.cause.rule, out.cause.hit.at) if isinstance(out.cause, Finding) else out.cause)
    return b"".join(out.raw for out in outs if isinstance(out, Forward)), told


def test_a_long_text_waits_until_all_of_it_has_been_looked_at() -> None:
    rules = counting()
    stream = Stream(WIRE, ASK, rules)
    event = says("x" * 5 * TURN)
    turns = [stream.feed(role() + event, 1.0)]
    while stream.busy:
        before = sum(rules.shown)
        turns.append(stream.more(2.0))
        assert sum(rules.shown) - before <= TURN
    assert [summary(outs)[0] for outs in turns if outs] == [role(), event]
    assert sum(rules.shown) == 5 * TURN and len(turns) >= 5
    assert stream.last_data == 2.0
    assert stream.transcript.shapes[0, "text"].chars == 5 * TURN


def test_many_events_of_one_read_are_taken_in_turns() -> None:
    rules = counting()
    stream = Stream(WIRE, ASK, rules)
    events = [says("x" * EVENT) for _ in range(TURN)]
    sizes = []
    outs = stream.feed(b"".join(events), 1.0)
    while stream.busy:
        sizes.append(len(outs))
        assert len(summary(outs)[0]) <= (TURN // (2 * EVENT) + 3) * len(events[0])
        outs = stream.more(1.0)
    assert sizes == [1] * (len(sizes)) and len(sizes) > 5
    assert stream.events == TURN


def test_wide_text_weighs_more() -> None:
    rules = counting()
    stream = Stream(WIRE, ASK, rules)
    stream.feed(says("好" * 5 * TURN), 1.0)
    assert stream.busy and sum(rules.shown) < TURN


def test_the_last_event_leaves_nothing_to_do() -> None:
    stream = Stream(WIRE, ASK, counting())
    stream.feed(says("x" * LONG) + says("x" * LONG), 1.0)
    assert not stream.busy
    assert stream.more(1.0) == []


def test_what_comes_meanwhile_waits_behind_it() -> None:
    stream = Stream(WIRE, ASK, counting())
    long, short = says("x" * 3 * TURN), says("y")
    outs = stream.feed(long, 1.0)
    assert stream.busy and not outs
    outs += stream.feed(short, 2.0)
    outs += stream.feed(finish() + DONE, 3.0)
    while stream.busy:
        outs += stream.more(4.0)
    assert summary(outs) == (long + short + finish() + DONE, [])
    assert stream.finished


def test_the_end_waits_for_what_is_still_to_be_looked_at() -> None:
    stream = Stream(WIRE, ASK, counting())
    long = says("x" * 3 * TURN + "LOOP")
    assert stream.feed(long, 1.0) == [] and stream.busy
    outs = stream.eof(2.0)
    while stream.busy:
        outs += stream.more(2.0)
    before, halt = outs
    assert isinstance(halt, Halt) and isinstance(halt.cause, Finding)
    assert isinstance(before, Forward) and before.raw == says("x" * 3 * TURN + "LO")


def test_an_event_too_large_is_told_after_what_came_before_it() -> None:
    stream = Stream(WIRE, ASK, counting(), limits=Limits(event=4 * TURN))
    long = says("x" * 3 * TURN)
    outs = stream.feed(long + says("y" * 5 * TURN), 1.0)
    while stream.busy:
        outs += stream.more(1.0)
    raw, (failure,) = summary(outs)
    assert raw == long
    assert failure.code == "streamfuse_event_too_large"  # type: ignore[attr-defined]
    assert stream.more(1.0) == []


def test_a_loop_inside_a_long_event_is_cut_where_it_would_be_in_one_go() -> None:
    stream = Stream(WIRE, ASK, assemble(["default"]))
    *before, halt = through(stream, [says(LOOP)])
    assert isinstance(halt, Halt) and isinstance(halt.cause, Finding)
    (whole, *_) = assemble(["default"]).watch().feed(0, TEXT, "t", LOOP)
    assert (halt.cause.rule, halt.cause.hit.at) == (whole.rule, whole.hit.at)
    assert not stream.busy and stream.more(1.0) == []
    shown = "".join(out.raw.decode() for out in before if isinstance(out, Forward))
    assert (shown == "") is (halt.cause.hit.since + (halt.cause.hit.period or 0) == 0)


def test_nothing_behind_a_loop_in_a_long_event_passes() -> None:
    stream = Stream(WIRE, ASK, counting())
    outs = through(stream, [says("x" * 3 * TURN + "LOOP") + says("more") + finish() + DONE])
    assert [type(out) for out in outs] == [Forward, Halt]
    assert [shape.chars for shape in stream.transcript.shapes.values()] == [3 * TURN + len("LO")]


def test_a_read_of_a_megabyte_is_decoded_in_turns() -> None:
    stream = Stream(WIRE, ASK, counting())
    events = [says("x" * 200) for _ in range(2000)]
    outs = stream.feed(b"".join(events), 1.0)
    turns = 1
    while stream.busy:
        assert stream.events <= turns * (TURN // 200 + 1)
        outs += stream.more(1.0)
        turns += 1
    assert summary(outs)[0] == b"".join(events)


def test_rules_about_pieces_get_them_whole() -> None:
    pack = assemble(["seeds"]).rules
    echo = RuleSet(rule for rule in pack if rule.kind.by_piece)
    event = says("=" * 100 * rules.during.lookahead.STEP)
    assert summary(through(Stream(WIRE, ASK, echo), [role(), event, finish(), DONE])) == (
        role() + event + finish() + DONE,
        [],
    )


def test_texts_behind_a_finding_are_not_looked_at_before_their_turn() -> None:
    looks = counting()
    watch = looks.watch()
    first, second = Piece((0, "a"), TEXT, "LOOP"), Piece((0, "b"), TEXT, "more")
    ahead = Lookahead(watch, [first, second])
    assert sum(ahead.steps) == 0
    assert looks.shown == [4]
    assert [f.rule for f in ahead.feed(0, TEXT, "a", first.text)] == ["word"]
    assert ahead.feed(0, TEXT, "b", second.text) == ()
    assert looks.shown == [4, 4]


def test_choices_that_have_ended_are_not_looked_at() -> None:
    looks = counting()
    ahead = Lookahead(looks.watch(), [Piece((0, "a"), TEXT, "x" * 9), Piece((1, "a"), TEXT, "y")], {0})
    assert sum(ahead.steps) == 1 and looks.shown == [1]


pieces = st.one_of(
    st.builds(says, st.sampled_from(["a ", "LOOP", "x" * 90, "LOO", "P"]), st.integers(0, 1)),
    st.builds(lambda r: says(reasoning_content=r), st.sampled_from(["hm ", "y" * 70])),
    st.builds(tool, st.integers(0, 1), st.sampled_from(['{"a":', "1}", '{"b": "LOOP"}', '"' + "z" * 80]), st.just("f")),
    st.just(finish()),
    st.just(b": ping\n"),
)


@pytest.mark.parametrize("action", [Action.CUT, Action.NOTE])
@settings(max_examples=150, deadline=None)
@given(events=st.lists(pieces, max_size=12), size=st.integers(1, 2000), turn=st.integers(1, 40), step=st.integers(1, 9))
def test_the_turns_change_nothing(action: Action, events: list[bytes], size: int, turn: int, step: int) -> None:
    whole = b"".join(events)
    ask = WIRE.ask({"model": "m", "stream": True, "n": 2, "messages": []})
    chunks = [whole[at : at + size] for at in range(0, len(whole), size)]
    one_go = Stream(WIRE, ask, WordRules(action=action, calls=True))
    with patch.object(rules.during.reader, "TURN", 1 << 30), patch.object(rules.during.reader, "LONG", 1 << 30):
        expected = summary(through(one_go, chunks))
    in_turns = Stream(WIRE, ask, WordRules(action=action, calls=True))
    with (
        patch.object(rules.during.reader, "READ", size // 2 + 1),
        patch.object(rules.during.reader, "TURN", turn),
        patch.object(rules.during.reader, "LONG", 0),
        patch.object(rules.during.stream, "LONG", 0),
        patch.object(rules.during.lookahead, "STEP", step),
    ):
        got = summary(through(in_turns, chunks))
    assert got == expected
    assert in_turns.closing() == one_go.closing()
    assert (in_turns.events, in_turns.malformed) == (one_go.events, one_go.malformed)
