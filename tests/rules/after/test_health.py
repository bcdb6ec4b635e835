"""Probe, then let through: a provider's health, told by a clock that only the test moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.after.health import FORGET, PACE, SICK, Health


def sick(now: float = 0.0) -> Health:
    health = Health()
    for _ in range(SICK):
        health.failed(now, now)
    return health


def test_a_few_failures_change_nothing():
    health = Health()
    for _ in range(SICK - 1):
        health.failed(0, 0)
    assert health.wait(0) == 0 and not health.calm


def test_an_answer_between_failures_begins_the_count_anew():
    health = Health()
    for now in range(20):
        health.failed(now, now)
        health.answered(now)
    assert health.wait(20) == 0 and health.calm


def test_a_sick_provider_is_asked_once_a_pace():
    health = sick()
    assert health.wait(0) == PACE
    now, calls = 0.0, 0
    while now < 30:
        now += health.wait(now)
        health.take(now)
        health.failed(now, now)
        calls += 1
    assert calls <= 30 * 2 and calls == pytest.approx(30 / PACE, abs=1)


def test_each_answer_doubles_the_pace_until_none_is_kept():
    health = sick()
    waits: list[float] = []
    now = 1.0
    while (wait := health.wait(now)) > 0 or not waits:
        now += wait
        health.take(now)
        health.answered(now)
        waits.append(health.wait(now))
    assert waits == pytest.approx([PACE / 2, PACE / 4, PACE / 8, PACE / 16, PACE / 32, 0.0])
    assert health.calm


def test_a_failure_while_it_recovers_slows_it_down_again():
    health = sick()
    health.answered(5.0)
    health.failed(6.0, 6.0)
    health.take(6.0)
    assert health.wait(6.0) == pytest.approx(PACE)


def test_a_call_that_began_before_an_answer_says_nothing_new():
    health = sick()
    for _ in range(6):
        health.answered(10.0)
    health.failed(2.0, 11.0)
    assert health.calm and health.wait(11.0) == 0


def test_where_answers_break_off_after_a_200_a_200_proves_nothing():
    health = Health()
    for now in range(SICK):
        health.opened(now)
        health.failed(now, now, streaming=True)
    health.opened(5.0)
    assert health.wait(2.0) > 0
    health.answered(6.0)
    assert health.wait(6.0) <= PACE / 2


def test_where_failures_are_statuses_a_200_is_an_answer():
    health = sick()
    health.opened(1.0)
    assert health.wait(1.0) <= PACE / 2


def test_it_forgets():
    assert sick().wait(FORGET + 1) == 0
    health = Health()
    health.failed(0, 0)
    health.failed(0, 0)
    health.failed(FORGET * 3, FORGET * 3)
    assert health.wait(FORGET * 3) == 0, "two failures of long ago and one of now are no streak"


@given(st.lists(st.tuples(st.sampled_from("foats"), st.floats(0, 20)), max_size=60))
def test_nobody_ever_waits_longer_than_a_pace(happens: list[tuple[str, float]]):
    health, now = Health(), 0.0
    for what, passed in happens:
        now += passed
        match what:
            case "f" | "s":
                health.failed(now - passed, now, streaming=what == "s")
            case "o":
                health.opened(now)
            case "a":
                health.answered(now)
            case _:
                health.take(now)
        assert 0 <= health.wait(now) <= PACE
