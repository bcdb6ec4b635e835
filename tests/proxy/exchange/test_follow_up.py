"""Whether answers are held and how often they are asked again (the exchange's tests show what the client sees)."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from proxy.exchange.attempt.answer import More
from proxy.exchange.follow_up import AskingAgain
from rules import wires
from rules.after.follow_ups import FollowUps
from rules.values.verdict import Mode


@dataclasses.dataclass
class FakeEngine:
    follow_ups: FollowUps


@dataclasses.dataclass
class FakeOrder:
    engine: FakeEngine
    wire: Any
    mode: Mode = Mode.ON


def again(wire: str = "openai_chat", mode: Mode = Mode.ON, **counts: int) -> AskingAgain:
    return AskingAgain(FakeOrder(FakeEngine(FollowUps(**counts)), wires.get(wire), mode))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "more"),
    [
        ({}, More()),
        ({"length": 1}, More(length=True, keep=True)),
        ({"think_only": 1}, More(hold=True, keep=True)),
        ({"json_schema": 1, "length": 2}, More(length=True, hold=True, keep=True)),
    ],
)
def test_what_is_held(counts: dict[str, Any], more: More) -> None:
    assert again(**counts).more() == more


@pytest.mark.parametrize(
    ("wire", "mode"), [("opaque", Mode.ON), ("openai_chat", Mode.WATCH), ("openai_chat", Mode.OFF)]
)
def test_nothing_is_held_where_nothing_can_be_asked(wire: str, mode: Mode) -> None:
    assert again(wire, mode, length=3, think_only=2).more() == More()
