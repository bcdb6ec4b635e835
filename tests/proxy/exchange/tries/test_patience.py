"""By when a client must have its status, and when its stream begins with nothing to say yet."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from proxy.exchange.tries.patience import Patience
from rules import LONG

HOLD, PATIENCE, BEGAN = 5.0, 45.0, 1000.0


def patience(*, started: bool = False, running: bool = False, opened: bool = False) -> Patience:
    replay = SimpleNamespace(hold_time=HOLD, patience=PATIENCE)
    made: Any = Patience(
        SimpleNamespace(settings=SimpleNamespace(replay=replay)),  # type: ignore[arg-type]
        SimpleNamespace(started=started),  # type: ignore[arg-type]
        SimpleNamespace(began=BEGAN),  # type: ignore[arg-type]
        SimpleNamespace(watchdog=object() if running else None),  # type: ignore[arg-type]
        SimpleNamespace(attempt=SimpleNamespace(opened=opened)),  # type: ignore[arg-type]
    )
    return made


def order(*, streaming: bool, **client: Any) -> Any:
    known = {"retries": True, "timeout": None, "silence": None, **client}
    return SimpleNamespace(ask=SimpleNamespace(streaming=streaming), client=SimpleNamespace(**known))


@pytest.mark.parametrize(
    ("client", "streaming", "until"),
    [
        ({}, True, BEGAN + PATIENCE),
        ({"silence": 10.0}, True, BEGAN + 10),
        ({"retries": False}, True, None),
        ({"retries": False}, False, BEGAN + HOLD),
        ({"retries": False, "timeout": 30.0}, False, BEGAN + PATIENCE),
    ],
)
def test_by_when_a_client_must_have_its_status(client: dict[str, Any], streaming: bool, until: float | None) -> None:
    assert patience().until(order(streaming=streaming, **client)) == until


def test_a_stream_that_has_begun_waits_with_heartbeats() -> None:
    assert patience(started=True).until(order(streaming=True)) is None


def test_a_whole_answer_that_has_begun_breaks_off_when_its_calls_have_failed_for_long() -> None:
    blank = patience(started=True)
    assert blank.until(order(streaming=False)) is None
    blank.failing_since = BEGAN + 7
    assert blank.until(order(streaming=False)) == BEGAN + 7 + PATIENCE


@pytest.mark.parametrize(
    ("state", "client", "after"),
    [
        ({"running": True, "opened": True}, {}, HOLD),
        ({}, {"retries": False}, HOLD),
        ({"running": True}, {}, PATIENCE),
        ({"running": True}, {"timeout": LONG}, PATIENCE),
        ({"running": True}, {"timeout": LONG - 1}, math.inf),
        ({}, {}, math.inf),
        ({"running": True}, {"silence": 2.0}, 2.0),
    ],
)
def test_when_a_stream_begins_with_nothing_to_say(state: dict[str, bool], client: dict[str, Any], after: float) -> None:
    assert patience(**state).begins_after(order(streaming=True, **client)) == after
