"""What a row says: deaths first, then calls, then the rate of a crowd."""

import pytest

from benchmarks.outage.row import Met, Row, Verdict, met


def row(direct, through, *, scenario="500", down=10.0, agents=10):
    return Row(scenario, down, "any", agents, direct, through)


@pytest.mark.parametrize(
    ("direct", "through", "verdict"),
    [
        (Met(10, 60, 14), Met(10, 60, 14), Verdict.EVEN),
        (Met(10, 60, 14), Met(10, 72, 14), Verdict.EVEN),
        (Met(10, 60, 14), Met(10, 73, 14), Verdict.EVEN),
        (Met(10, 60, 14), Met(10, 74, 14), Verdict.CALLS),
        (Met(10, 60, 14), Met(9, 20, 14), Verdict.DIED),
        (Met(0, 30, 2), Met(10, 146, 14), Verdict.SAVED),
        (Met(0, 30, 2), Met(10, 148, 14), Verdict.CALLS),
        (Met(0, 1, 2), Met(0, 2, 14), Verdict.EVEN),
        (Met(0, 10, 2), Met(0, 14, 14), Verdict.CALLS),
        (Met(10, None, 14), Met(10, None, 90), Verdict.EVEN),
        (Met(10, None, 14), Met(9, None, 90), Verdict.DIED),
    ],
)
def test_the_verdict(direct, through, verdict):
    assert row(direct, through).verdict is verdict


def test_calls_for_those_that_are_saved_stand_apart():
    assert row(Met(0, 30, 2), Met(10, 146, 14)).extra == 109 and row(Met(0, 30, 2), Met(10, 146, 14)).saved == 10
    assert row(Met(10, 60, 14), Met(10, 72, 14)).extra == 0
    assert row(Met(10, None, 14), Met(10, None, 14)).extra is None
    told = row(Met(0, 1, 1), Met(1, 9, 14)).as_json()
    assert (told["saved"], told["extra_calls"]) == (1, 7)


def test_a_crowd_leaves_a_dead_provider_alone():
    calm, busy = Met(50, 100, 40, 2.0), Met(50, 100, 40, 2.1)
    assert row(calm, busy, agents=50, down=30).verdict is Verdict.RATE
    assert row(busy, calm, agents=50, down=30).verdict is Verdict.EVEN
    # Not asked of few agents, of a short outage, or of a provider that answers.
    assert row(calm, busy, agents=10, down=30).verdict is Verdict.EVEN
    assert row(calm, busy, agents=50, down=10).verdict is Verdict.EVEN
    assert row(calm, busy, agents=50, down=30, scenario="slow").verdict is Verdict.EVEN


def test_the_rate_counts_from_the_third_second_to_the_end_of_the_outage():
    assert met(1, [0, 1, 2.9, 3.0, 5.0, 9.9, 10.0, 12], 12, 10).rate == 3 / 7
    assert met(1, [0, 1, 3.5], 4, 3).rate is None
    assert met(1, None, 4, 10) == Met(1, None, 4)
