"""The sentence that tells why."""

from __future__ import annotations

import pytest

from rules.detect.because import because
from rules.values.verdict import Hit


@pytest.mark.parametrize(
    ("hit", "sentence"),
    [
        (Hit(320, 2, 318, 47, 6.766, {"span": 318, "copies": 6.77}), "the same 47 characters, 6.77 times"),
        (
            Hit(1280, 300, 980, 245, 4.0, {"clean": 826, "copies": 3.9}),
            "nothing new was said for 826 characters, about 4 times the same",
        ),
        (
            Hit(2560, 0, 2240, 3, 700.0, {"poor": 2240}),
            "the newest 2,240 characters hold eight different words at most",
        ),
        (Hit(9000, 1, 8999, evidence={"known": 1844}), "1,844 characters of sentences that had been said twice before"),
        (Hit(9, 0, 9, None, 6.0), "the same again, 6 times"),
        (Hit(9, 0, 9), "9 characters of repetition"),
        (Hit(0, 0, 0), "a repetition"),
    ],
)
def test_each_kind_of_evidence_is_told(hit: Hit, sentence: str) -> None:
    assert because(hit) == sentence
