"""The limit of concurrent calls: fixed, or halved by refusals and grown by answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rules import ConcurrencyLimit


def test_a_fixed_limit_stays():
    limit = ConcurrencyLimit(4)
    limit.refused(0, 1)
    limit.exhausted(1, 60)
    assert (limit.now_allowed, limit.wait(1)) == (4, 0)


def test_a_burst_of_refusals_halves_it_once():
    limit = ConcurrencyLimit(16, adaptive=True)
    for began in (0, 1, 2):
        limit.refused(began, 3)
    assert limit.now_allowed == 8
    limit.refused(3, 4)
    assert limit.now_allowed == 4


def test_answers_bring_it_back_one_a_round():
    limit = ConcurrencyLimit(8, adaptive=True)
    limit.refused(0, 0)
    rounds = 0
    while limit.now_allowed < 8 and rounds < 100:
        for _ in range(limit.now_allowed):
            limit.answered()
        rounds += 1
    assert 4 <= rounds <= 8


def test_no_call_while_nothing_is_left():
    limit = ConcurrencyLimit(8, adaptive=True)
    limit.exhausted(10, 5)
    limit.exhausted(11, 1)
    assert (limit.wait(11), limit.wait(16)) == (4, 0)


def test_another_config_brings_another_limit():
    limit = ConcurrencyLimit(8, adaptive=True)
    limit.renew(3, True)
    assert limit.now_allowed == 3
    limit.renew(6, True)
    assert limit.now_allowed == 6
    limit.refused(0, 0)
    limit.renew(100, True)
    assert limit.now_allowed == 3, "what a refusal has taught stays"
    limit.renew(100, False)
    assert limit.now_allowed == 100


@given(st.integers(1, 50), st.lists(st.sampled_from(["answered", "refused"]), max_size=200))
def test_it_stays_between_one_and_the_most(most, happened):
    limit = ConcurrencyLimit(most, adaptive=True)
    for now, what in enumerate(happened):
        limit.answered() if what == "answered" else limit.refused(now, now)
        assert 1 <= limit.now_allowed <= most
