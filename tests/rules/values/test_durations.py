"""Durations as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from rules.values.durations import seconds


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("50ms", 0.05),
        ("10s", 10),
        ("2m", 120),
        ("1h", 3600),
        ("1d", 86400),
        ("1.5 s", 1.5),
        ("7", 7),
        (3, 3),
        (0.2, 0.2),
    ],
)
def test_written(written: Any, meant: float) -> None:
    assert seconds(written) == pytest.approx(meant)


@pytest.mark.parametrize("written", ["", "s", "-1s", "1 week", "1m30s", "1e3", "٣s", True, None, -1, float("inf"), [1]])
def test_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="a duration"):
        seconds(written)
