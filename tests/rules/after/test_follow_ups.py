"""Asking again: only for the kinds that are switched on, only as often as allowed, never touching the original."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from rules.after.follow_ups import FollowUps, follow_up
from rules.histories import HISTORIES
from rules.values.notices import MARK
from rules.values.steps import StepKind

from ...conversations import FORMS

WIRES = pytest.mark.parametrize("wire", list(FORMS))
ALL = FollowUps(length=3, think_only=2, text_tool_call=2, json_schema=2)


def ask(wire: str, kind: StepKind, **more: Any) -> Any:
    options: dict[str, Any] = {"text": "so far", "wants_json": False, "valid_json": False, "spent": {}, "settings": ALL}
    body = FORMS[wire]([("user", "Go.")])
    before = copy.deepcopy(body)
    found = follow_up(kind, history=HISTORIES[wire], body=body, **{**options, **more})
    assert body == before
    return found


@WIRES
@pytest.mark.parametrize(
    ("kind", "name", "items"),
    [
        (StepKind.TRUNCATED, "length", 3),
        (StepKind.THINK_ONLY, "think_only", 2),
        (StepKind.INVALID, "think_only", 2),
        (StepKind.TEXT_TOOL_CALL, "text_tool_call", 2),
    ],
)
def test_each_kind_asks_in_its_own_words(wire: str, kind: StepKind, name: str, items: int) -> None:
    found = ask(wire, kind)
    assert found.name == name
    history = HISTORIES[wire]
    assert len(history.items(found.body)) == items
    said = history.said(history.items(found.body)[-1])
    # Our own words beside results are no user's words on the Messages wire; alone they are a message like any other.
    assert said is None or said == "" or said.startswith(MARK)
    assert ask(wire, kind, spent={name: getattr(ALL, name)}) is None
    assert ask(wire, kind, settings=FollowUps()) is None


@WIRES
def test_an_answer_that_is_not_the_json_asked_for(wire: str) -> None:
    assert ask(wire, StepKind.FINAL, wants_json=True).name == "json_schema"
    assert ask(wire, StepKind.FINAL, wants_json=True, valid_json=True) is None
    assert ask(wire, StepKind.FINAL) is None


@pytest.mark.parametrize("kind", [StepKind.CONTINUE, StepKind.FILTERED, StepKind.FAILED, StepKind.FINAL])
def test_nothing_to_ask_after_a_good_or_a_failed_answer(kind: StepKind) -> None:
    assert ask("openai_chat", kind) is None


def test_a_plain_string_input_becomes_a_history() -> None:
    found = follow_up(
        StepKind.INVALID, history=HISTORIES["openai_responses"], body={"model": "m", "input": "Go."}, text="",
        wants_json=False, valid_json=False, spent={}, settings=ALL,
    )  # fmt: skip
    assert found is not None and [item["role"] for item in found.body["input"]] == ["user", "user"]


def test_counts_are_off_by_default_and_bounded() -> None:
    assert not FollowUps().any and ALL.any
    with pytest.raises(ValueError, match="length"):
        FollowUps(length=11)
