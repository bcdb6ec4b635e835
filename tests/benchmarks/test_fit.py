"""The same rows make the same score, to the last digit. (`make fit ARGS="--check FILE"` asks that of whole files.)"""

from __future__ import annotations

from typing import Any

import pytest

from rules.detect.odds import NAMES

WHY = "the fit's own packages (streamfuse[fit], 150 MB) are not installed here"
np = pytest.importorskip("numpy", reason=WHY)
pytest.importorskip("sklearn", reason=WHY)


def rows() -> Any:
    """Twelve texts of seven families with made-up measures; every third one is a loop."""
    from benchmarks.fit.rows import Data, Text

    draw = np.random.default_rng(5)
    texts = [
        Text(str(n), "made-up", "loop" if n % 3 == 0 else "healthy", f"family{n % 7}", "", 0.0, 6400) for n in range(12)
    ]
    of = np.repeat(np.arange(12), 100)
    loop = (of % 3 == 0).astype(int)
    x = draw.normal(size=(1200, len(NAMES))) + loop[:, None] * draw.random(len(NAMES))
    nothing = np.zeros(1200)
    return Data(texts, of, nothing, x, loop, nothing, nothing > 0, np.full((12, 3), np.inf))


def test_the_same_rows_make_the_same_trees() -> None:
    from threadpoolctl import threadpool_limits

    from benchmarks.fit.model import fitted, left_out, plain

    made = []
    with threadpool_limits(limits=1):  # as the fit itself does
        for _ in range(2):
            data = rows()
            made.append((plain(fitted(data, np.ones(1200, bool), 4, 2)), left_out(data, 2, 2).tolist()))
    assert made[0] == made[1]
    trees, _ = made[0][0]
    assert len(trees) == 4 and all(tree[0] in NAMES for tree in trees)


def test_what_was_measured_is_measured_again_when_its_code_changes() -> None:
    from pathlib import Path

    from benchmarks.fit.rows import _engine

    detect = Path(__file__).parents[2] / "rules" / "detect"
    code = set(_engine())
    for name in ("monitors/novelty/monitor.py", "monitors/exact_repetition.py", "requested/sizes.py"):
        assert (detect / name).read_bytes() in code
