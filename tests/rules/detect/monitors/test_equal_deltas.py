"""Identical deltas in a row: the one monitor that is about events."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from .play import monitor, play


@pytest.mark.parametrize(
    ("deltas", "fires"),
    [
        (["x"] * 59, False),
        (["x"] * 60, True),
        (["ok", " ok\n"] * 30, True),
        ([" ", "\n"] * 30, True),
        (["x"] * 59 + ["y"] + ["x"] * 59, False),
        (["x" * 10_000] * 60, True),
        (["x" * 10_000] * 59 + ["x" * 10_001], False),
        (["x" * 300, " " + "x" * 300] * 30, True),
        (["\x1c", "\x1d"] * 60, False),  # white space to Python, but not to the seed
    ],
)
def test_run_of_sixty(deltas: list[str], fires: bool) -> None:
    assert (play(monitor("equal_deltas"), deltas) is not None) == fires


def test_it_says_where_the_run_began_and_how_long_it_is() -> None:
    hit = play(monitor("equal_deltas", run=3), ["hello", "ok", "ok ", " ok"])
    assert hit is not None
    assert (hit.at, hit.since, hit.span, hit.copies) == (13, 5, 8, 3.0)
    assert (hit.evidence, hit.bars) == ({"run": 3.0}, {"run": 3.0})
    assert play(monitor("equal_deltas", run=4), ["hello", "ok", "ok ", " ok"]) is None


def test_it_grows_suspicious_before_it_is_sure() -> None:
    looking = monitor("equal_deltas")
    assert play(looking, ["x"]) is None
    assert looking.suspicion() == 0.0
    assert play(looking, ["x"] * 44) is None
    assert looking.suspicion() == 0.75


@pytest.mark.parametrize("run", [1, 0, -1])
def test_a_run_of_less_than_two_is_refused(run: int) -> None:
    with pytest.raises(ValidationError):
        monitor("equal_deltas", run=run)
