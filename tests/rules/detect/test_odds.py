"""The fitted score: well-formed data, a sum that can be followed by hand, and a curve that says what a price means."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from rules.detect.odds import LOGS, NAMES, SHARES, CurvePoint, Odds, bound, load, read, told


def test_the_sum_of_the_trees_is_the_score() -> None:
    odds = Odds(((0, 5.0, -1.0, (1, 2.0, 0.5, 2.0)), 0.25), 1.0, ())
    assert odds.score([5.0, 9.0]) == 1.0 - 1.0 + 0.25
    assert odds.score([6.0, 2.0]) == 1.0 + 0.5 + 0.25
    assert odds.score([6.0, 3.0]) == 1.0 + 2.0 + 0.25


def test_trees_are_read_by_the_names_of_their_measures() -> None:
    odds = read({"base": 0.5, "trees": [["calm", 3.0, -1.0, 1.0]], "curve": []})
    measures = told([0.0] * len(LOGS), [0.0] * len(SHARES))
    assert odds.score(measures) == -0.5
    measures[NAMES.index("calm")] = 3.5
    assert odds.score(measures) == 1.5


CURVE = (
    CurvePoint(4.0, 98, 0, {256: (90, 0), 512: (60, 0)}),
    CurvePoint(3.0, 198, 4, {256: (150, 3), 512: (80, 1)}),
    CurvePoint(2.0, 300, 32, {256: (260, 20), 512: (120, 6)}),
)


def test_a_price_becomes_the_lowest_score_whose_texts_stopped_as_rarely() -> None:
    odds = Odds((), 0.0, CURVE)
    step = odds.step(0.01)
    assert step is not None and step.score == 4.0, "none of 98 counts as one of 100"
    step = odds.step(0.03)
    assert step is not None and step.score == 3.0
    step = odds.step(1.0)
    assert step is not None and step.score == 2.0, "nothing below the curve"
    assert odds.step(0.0) is None
    assert odds.step(0.009) is None, "98 texts cannot tell a share so small"


def test_the_past_is_told_by_score_and_by_length() -> None:
    odds = Odds((), 0.0, CURVE)
    assert odds.past(3.7, 700) == (80, 512, 1)
    assert odds.past(3.0, 300) == (150, 256, 3)
    assert odds.past(9.0, 12) == (98, 0, 0)
    assert odds.past(1.9, 700) is None


def test_the_data_that_comes_with_it_is_small_and_its_curve_falls() -> None:
    odds = load()

    def numbers(node: object) -> int:
        return 2 + numbers(node[2]) + numbers(node[3]) if isinstance(node, tuple) else 1

    assert 100 <= sum(map(numbers, odds.trees)) <= 600
    texts = [step.texts for step in odds.curve]
    assert texts == sorted(texts), "the lower the score, the more texts reached it"
    assert all(0 <= step.stopped <= step.texts for step in odds.curve)
    assert all(long <= step.texts for step in odds.curve for long, _ in step.spans.values())


def test_a_higher_price_never_convicts_later() -> None:
    bounds = [bound(risk / 200) for risk in range(201)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] == inf
    assert bounds[-1] == load().curve[-1].score


@given(st.lists(st.floats(0, 1e6), min_size=len(LOGS), max_size=len(LOGS)))
def test_any_measures_have_a_score(counts: list[float]) -> None:
    assert abs(load().score(told(counts, [0.5] * len(SHARES)))) < 100
