"""The breaker: what opens it, who goes through as a probe, what closes it."""

from __future__ import annotations

from rules import Breaker


def test_failures_of_different_requests_in_a_row_open_it():
    breaker = Breaker(3, 10.0)
    assert not breaker.failed("a", 0) and not breaker.failed("b", 1)
    assert breaker.wait(1) == 0
    assert breaker.failed("c", 2) and breaker.open
    assert breaker.wait(3) == 9


def test_one_request_that_always_fails_never_opens_it():
    breaker = Breaker(2, 10.0)
    assert not any(breaker.failed("a", at) for at in range(50))
    assert breaker.wait(50) == 0


def test_an_answer_between_them_begins_the_count_anew():
    breaker = Breaker(2, 10.0)
    breaker.failed("a", 0)
    assert not breaker.answered()
    assert not breaker.failed("b", 1) and not breaker.open


def test_what_failed_long_ago_does_not_count():
    breaker = Breaker(2, 10.0)
    breaker.failed("a", 0)
    assert not breaker.failed("b", 100)


def test_one_probe_a_pause_and_an_answer_closes_it():
    breaker = Breaker(1, 10.0)
    breaker.failed("a", 0)
    assert breaker.wait(5) == 5
    assert breaker.wait(10) == 0
    breaker.take(10)
    assert breaker.wait(10) == 10 and breaker.wait(19) == 1, "all others wait for what the probe finds"
    assert not breaker.failed("probe", 12), "it was open already"
    assert breaker.wait(20) == 2, "a pause after the failure"
    assert breaker.wait(22) == 0
    assert breaker.answered() and not breaker.open
    breaker.take(22)
    assert breaker.wait(22) == 0
    assert not breaker.answered(), "told once"


def test_a_probe_that_never_comes_back_does_not_keep_it_shut():
    breaker = Breaker(1, 10.0)
    breaker.trip(0, 10.0)
    breaker.take(10)
    assert breaker.wait(19) == 1 and breaker.wait(20) == 0


def test_a_probe_whose_client_left_is_given_back():
    breaker = Breaker(1, 10.0)
    breaker.trip(0, 10.0)
    breaker.take(10)
    breaker.give_back(11)
    assert breaker.wait(11) == 0
    breaker.answered()
    breaker.give_back(11)
    assert breaker.wait(11) == 0 and not breaker.open


def test_what_nobody_asked_for_a_while_is_forgotten():
    breaker = Breaker(1, 10.0)
    assert not breaker.forgets(1000) and breaker.calm
    breaker.failed("a", 1000)
    assert not breaker.forgets(1070) and not breaker.calm
    assert breaker.forgets(1071) and not breaker.open and breaker.calm
    breaker.trip(2000, 10.0)
    assert not breaker.forgets(2070) and breaker.forgets(2071)
