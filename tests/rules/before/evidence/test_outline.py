"""Outlines spare most of the look at a history, and never a finding."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from rules.before import step_detectors
from rules.before.evidence import outline as file
from rules.before.evidence.facts import facts
from rules.before.evidence.outline import Outlines, outline
from rules.before.review import DEFAULT, DetectorRule, bind, finished, review, reviewing
from rules.before.step_detectors import STEP_DETECTORS
from rules.values.steps import Run, Step, ToolCall

STRICT = bind(
    [
        DetectorRule(detector="repeated_action", params={"equal": 2, "polls": 2}),
        DetectorRule(detector="doom_loop", params={"equal": 2}),
        DetectorRule(detector="call_cycle", params={"copies": 2, "polls": 2, "returns": 3}),
        DetectorRule(detector="no_news", params={"calls": 4, "polls": 4}),
        DetectorRule(detector="same_reading", params={"pieces": 3}),
        DetectorRule(detector="same_error", params={"equal": 3, "empties": 3}),
        DetectorRule(detector="text_loop", params={"equal": 2, "buffer": 2}),
        DetectorRule(detector="text_return", params={"equal": 2, "window": 3, "chars": 1}),
        DetectorRule(detector="narration", params={"equal": 3, "chars": 1}),
        DetectorRule(detector="same_answer", params={"equal": 2}),
        DetectorRule(detector="stalled", params={"steps": 2, "min_chars": 256}),
    ]
)
"""Every detector with the lowest bars it takes."""

CALLS = st.sampled_from(
    [
        ToolCall("1", "read", '{"path": "a", "offset": 10}', "the first line\nand another one of this file"),
        ToolCall("2", "read", '{"path": "a", "offset": 20}', "the first line\nand another one of this file"),
        ToolCall("3", "read", '{"offset":10,"path":"a"}', "the first line\nand another one of this file"),
        ToolCall("4", "bash", '{"command": "make", "title": "Build 1"}', "done in 1.5 s"),
        ToolCall("5", "bash", '{"command": "make", "title": "Build 2"}', "done in 2 s"),
        ToolCall("6", "bash", '{"command": "test"}', "Error: 3 failed"),
        ToolCall("7", "bash", '{"command": "test -v"}', "Error: 4 failed"),
        ToolCall("8", "bash", '{"command": "test"}', "request 01HZX00001K4Q7M9V2B8C3 failed"),
        ToolCall("9", "bash", '{"command": "test"}', "request 01HZX00002K4Q7M9V2B8C3 failed"),
        ToolCall("10", "poll", "{}", "still running"),
        ToolCall("11", "edit", '{"path": "a"}', "No changes were made"),
        ToolCall("12", "edit", '{"path": "b"}', "No changes were made"),
        ToolCall("13", "find", "{}", ""),
        ToolCall("14", "find", '{"q": 1}', None),
        ToolCall("15", "odd\nname", "no json", "x"),
    ]
)
STEPS = st.builds(
    Step,
    text=st.sampled_from(["", "Let me look at it.", "I look at part 1.", "I look at part 2.", "All done now."]),
    reasoning=st.sampled_from(["", "", "I think about it again. " * 12, "Something else comes to mind. " * 12]),
    calls=st.lists(CALLS, max_size=3).map(tuple),
    cut=st.sampled_from([False, False, False, True]),
)


@settings(max_examples=150)
@given(
    st.lists(STEPS, max_size=9).flatmap(
        lambda few: st.tuples(st.just(few), st.lists(st.sampled_from(few or [Step()]), max_size=9))
    )
)
def test_a_review_with_outlines_says_what_one_without_says(drawn: tuple[list[Step], list[Step]]) -> None:
    run = Run(tuple(drawn[0] + drawn[1]))
    known = Outlines()
    for watchers in (DEFAULT, STRICT):
        plain = review(run, watchers)
        assert finished(reviewing(run, watchers, known=known)) == plain
        assert finished(reviewing(run, watchers, known=known)) == plain, "and again, when all steps are known"


def test_every_detector_of_a_run_can_be_ruled_out() -> None:
    lacking = [kind.name for kind in STEP_DETECTORS if kind.plausible is None and not kind.session]
    assert not lacking, f"{lacking} walk over every request: give each a `plausible` that rules most of them out"
    assert step_detectors.get("stalled").may_hit is not None


def test_steps_that_come_again_are_not_looked_at_again(monkeypatch) -> None:
    looked: list[Step] = []
    monkeypatch.setattr(file, "facts", lambda step: looked.append(step) or facts(step))
    known = Outlines()
    steps = [Step(text=f"step {n}", calls=(ToolCall(str(n), "f", f'{{"n": {n}}}', "x" * n),)) for n in range(20)]
    finished(known.of(steps[:-1]))
    looked.clear()
    again = [Step(text=one.text, calls=tuple(ToolCall(*_parts(call)) for call in one.calls)) for one in steps]
    assert finished(known.of(again)) == [outline(facts(one)) for one in steps]
    assert looked == steps[-1:]


def _parts(call: ToolCall) -> tuple[str, str, str, str | None]:
    return call.id, call.name, call.arguments, call.result


def test_the_oldest_are_forgotten_and_what_comes_again_is_not_old() -> None:
    known = Outlines(most=3)
    steps = [Step(text=f"step {n}") for n in range(5)]
    for n in (0, 1, 2, 0, 3, 0, 4, 0):
        finished(known.of([steps[n]]))
    assert len(known) == 3


def test_an_outline_holds_numbers_and_no_text() -> None:
    secret = "a very private sentence, 4711"
    made = outline(facts(Step(text=secret, reasoning=secret, calls=(ToolCall(secret, secret, secret, secret),))))
    flat = [*made[:-1], *(value for call in made.calls for value in call)]
    assert all(isinstance(value, int) for value in flat)


def test_many_new_steps_are_looked_at_in_turns() -> None:
    chance = random.Random(1)
    steps = [Step(calls=(ToolCall("", "f", "{}", f"{chance.random()} " * 200),)) for _ in range(64)]
    turns = sum(1 for _ in Outlines().of(steps))
    assert 3 <= turns <= 16
    known = Outlines()
    finished(known.of(steps))
    assert sum(1 for _ in known.of(steps)) == 0
