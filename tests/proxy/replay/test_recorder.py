"""What the rules heard is what was said, and can be said again; the excerpt shows what repeats, copy by copy."""

from __future__ import annotations

import pytest

from proxy.calibration.explain import unit
from proxy.replay import JudgingConfig, Recording, judge
from proxy.replay.judge import listen
from proxy.replay.recorder import AROUND, MOST, Called, HeardText, play
from rules.detect import packs
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.values.delta import Channel

from .answers import CALM, LOOP, text

RULES = packs.assemble(["seeds"])


def test_an_excerpt_holds_whole_copies_and_what_stands_around_them() -> None:
    (found,) = judge(text(unit(400) + LOOP * 20), JudgingConfig(RULES), excerpts=True).found
    told = found.excerpt
    assert told is not None
    hit = found.finding.hit
    assert len(told.before) == AROUND
    assert {len(copy) for copy in told.copies[:-1]} == {hit.period}
    assert "".join(told.copies) == (unit(400) + LOOP * 20)[hit.since : hit.at]
    assert (told.left_out, len(told.after)) == (0, AROUND)


def test_a_long_one_shows_its_beginning_and_its_end() -> None:
    rules = RuleSet([Rule(name="it", monitor="cycle", params={"span": 6000})])
    (found,) = judge(text(LOOP * 200), JudgingConfig(rules), excerpts=True).found
    told = found.excerpt
    assert told is not None
    assert sum(map(len, told.copies)) == MOST
    assert told.left_out == found.finding.hit.span - MOST
    whole = [copy for copy in told.copies if len(copy) == len(LOOP)]
    assert len(set(whole)) == 1, "both halves are cut at the same place of the unit"


def test_no_excerpt_is_kept_unasked() -> None:
    (found,) = judge(text(LOOP * 20), JudgingConfig(RULES)).found
    assert found.excerpt is None


def test_a_tool_call_shows_its_own_arguments_only() -> None:
    rules = RuleSet([Rule(name="it", monitor="cycle", channels=["tool"])])
    pieces = ((Channel.TOOL, "call 0", (CALM,)), (Channel.TOOL, "call 1", ("ha " * 300,)))
    (found,) = judge(Recording("x", pieces=pieces), JudgingConfig(rules), excerpts=True).found
    assert found.excerpt is not None
    assert (found.excerpt.before, set("".join(found.excerpt.copies))) == ("", set("ha "))


def test_a_rule_of_a_whole_choice_counts_reasoning_and_text_as_one() -> None:
    block = "one two three four five "
    pieces = ((Channel.REASONING, "0", (block * 15,)), (Channel.TEXT, "1", (block * 15,)))
    (found,) = judge(Recording("x", pieces=pieces), JudgingConfig(RULES.without(["text-cycle"])), excerpts=True).found
    assert (found.finding.rule, found.finding.channel) == ("repeated-block", Channel.TEXT)
    assert found.finding.hit.at > len(block) * 15 > found.finding.hit.since, "it began in the reasoning"
    assert found.excerpt is not None and "".join(found.excerpt.copies).startswith(block)


@pytest.mark.parametrize("sizes", [(1,), (7,), (3, 11)])
def test_what_was_heard_can_be_played_again(sizes: tuple[int, ...]) -> None:
    whole = LOOP * 20
    deltas = [whole[at : at + sizes[0]] for at in range(0, len(whole), sizes[0])]
    recording = Recording("x", pieces=((Channel.TEXT, "0", tuple(deltas)),), calls=(("ls", "{}"),), instruction="go")
    _, heard = listen(recording, JudgingConfig(RULES))
    assert heard.said[-1] == Called(0, "ls", "{}")
    assert "".join(said.text for said in heard.said if isinstance(said, HeardText)) == whole
    assert (heard.total, heard.instruction) == (len(whole), "go")
    assert [f.hit for f in play(heard, RULES)] == [told.finding.hit for told in heard.told]
