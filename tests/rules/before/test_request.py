"""The first door: what is untouched is the very same object, what is changed is changed for a reason that is told."""

from __future__ import annotations

from typing import Any

import pytest

from rules import wires
from rules.before.hygiene import Crop, key_of
from rules.before.request import REFUSED, Before, HistoryPolicy, before, known_keys
from rules.before.review import DetectorRule, bind
from rules.histories import HISTORIES
from rules.values.notices import HALF, MARK, marked
from rules.values.verdict import Action, Mode

from ...conversations import FORMS, Line

SPOKEN = [wire.name for wire in wires.WIRES if wire.name in FORMS]
WIRES = pytest.mark.parametrize("wire", SPOKEN)
LOOPING: list[Line] = [("user", "Go."), *[("call", "read", '{"f":"a"}', "x")] * 3]
LONG = "The sea is wide. " * 40


def go(wire: str, lines: list[Line], mode: Mode = Mode.ON, **more: Any) -> tuple[dict[str, Any], Before]:
    body = FORMS[wire](lines)
    policy = more.pop("policy", HistoryPolicy())
    return body, before(wires.get(wire), HISTORIES[wire], body, policy, mode, **more)


@WIRES
def test_a_request_that_no_rule_acts_on_is_not_touched(wire: str) -> None:
    _, out = go(wire, [("user", "Go."), ("say", "I look."), ("call", "read", "{}", "x"), ("user", "And?")])
    assert out == Before()


@WIRES
def test_a_reminder_is_added_and_nothing_else_changes(wire: str) -> None:
    body, out = go(wire, LOOPING)
    assert out.body is not None and out.review.action is Action.ADVISE
    assert str(out.body).count(MARK) == 1 and MARK not in str(body)
    member = HISTORIES[wire].member
    old, new = body[member], out.body[member]
    assert new[: len(old) - 1] == old[: len(old) - 1]
    assert {k: v for k, v in out.body.items() if k != member} == {k: v for k, v in body.items() if k != member}
    assert go(wire, LOOPING)[1].body == out.body


@WIRES
def test_the_third_finding_refuses_with_an_error_that_is_not_retried(wire: str) -> None:
    _, out = go(wire, [*LOOPING, *LOOPING[1:] * 4])
    assert out.body is None and out.refusal is not None
    assert (out.refusal.code, out.refusal.status, out.refusal.should_retry) == (REFUSED, 400, False)
    assert "repeated_action" in out.refusal.message and "x-streamfuse-mode" in out.refusal.message
    status, told = wires.get(wire).error(out.refusal)
    assert status == 400 and REFUSED.encode() in told
    assert b'"type"' not in told or b"invalid_request_error" in told, "where the wire's errors have a type"


@WIRES
@pytest.mark.parametrize("mode", [Mode.OFF, Mode.WATCH])
def test_off_and_watch_touch_nothing(wire: str, mode: Mode) -> None:
    _, out = go(wire, [*LOOPING, *LOOPING[1:]], mode)
    assert out.body is None and out.refusal is None
    assert bool(out.review.findings) == (mode is Mode.WATCH)


@WIRES
def test_a_known_cut_is_shortened(wire: str) -> None:
    lines: list[Line] = [("user", "Go."), ("say", LONG), ("user", "And?")]
    body = FORMS[wire](lines)
    found = known_keys(HISTORIES[wire], body, HistoryPolicy(), Mode.ON)
    assert list(found.values()) == [key_of(LONG)]
    _, out = go(wire, lines, found=found, cuts={key_of(LONG): 16})
    assert out.tidied and out.body is not None and LONG not in str(out.body) and "The sea is wide." in str(out.body)
    assert known_keys(HISTORIES[wire], body, HistoryPolicy(hygiene=False), Mode.ON) == {}
    assert known_keys(HISTORIES[wire], body, HistoryPolicy(), Mode.WATCH) == {}


@WIRES
@pytest.mark.parametrize("notice", [False, True], ids=["text", "notice"])
def test_after_a_cut_the_next_request_carries_a_correction_once(wire: str, notice: bool) -> None:
    said = marked("A repetition of 400 characters in the reasoning was cut here.") if notice else LONG
    known = {} if notice else {key_of(LONG): 17}
    lines: list[Line] = [("user", "Go."), ("say", said), ("user", "And?")]

    def next_(lines: list[Line], **more: Any) -> str:
        body = FORMS[wire](lines)
        found = known_keys(HISTORIES[wire], body, HistoryPolicy(), Mode.ON)
        out = go(wire, lines, found=found, cuts=known, **more)[1]
        return str(out.body if out.body is not None else body)

    assert next_(lines).count("began to repeat itself") == 1
    assert next_(lines) == next_(lines), "the same history is always the same request"
    assert "began to repeat" not in next_([*lines, ("say", "I go on."), ("user", "Good.")]), "once"
    assert "began to repeat" not in next_(lines[:2])
    assert "began to repeat" not in next_([*lines[:2], ("call", "read", "{}", "x")])
    assert "began to repeat" not in next_(lines, mode=Mode.WATCH)
    assert "began to repeat" not in next_(lines, policy=HistoryPolicy(hygiene=False))
    half: list[Line] = [lines[0], ("say", marked(HALF)), lines[2]]
    assert "began to repeat" not in next_(half), "that was no loop"


@WIRES
def test_a_crop_is_told(wire: str) -> None:
    policy = HistoryPolicy(crop=Crop(enabled=True), watchers=bind([DetectorRule(detector="stalled")]))
    lines: list[Line] = [("user", "Go."), *[("think", "Same plan."), ("call", "read", "{}", "x")] * 3]
    _, out = go(wire, lines, policy=policy)
    assert out.cropped == 3 and not out.cache_risk and "Same plan." not in str(out.body)


def test_a_wire_without_history_passes() -> None:
    assert before(wires.get("opaque"), None, {"x": 1}, HistoryPolicy(), Mode.ON) == Before()
