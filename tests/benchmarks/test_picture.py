"""The picture in the docs is the curve of the score in the packs."""

from __future__ import annotations

from pathlib import Path

from benchmarks.fit.picture import picture


def test_the_picture_is_drawn_from_the_score_that_is_in_the_packs() -> None:
    assert Path("docs/detection.svg").read_text(encoding="utf-8") == picture(), "make fit, or --picture, draws it anew"
