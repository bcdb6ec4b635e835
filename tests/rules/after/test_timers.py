"""The six timers of an attempt, told by a clock that only the test moves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.after.timers import Timeouts, Watchdog, is_slow
from rules.values.failures import Kind, Phase

LIMITS = Timeouts(connect=10, headers=60, first_event=100, first_event_alive=300, idle=50, idle_alive=120, total=1000)


def _rings(dog: Watchdog, at: float) -> str | None:
    assert dog.deadline() == pytest.approx(at)
    assert dog.expired(at - 0.001) is None
    failure = dog.expired(at)
    assert failure is not None
    return failure.code


def test_no_connection() -> None:
    dog = Watchdog(LIMITS, 5)
    assert _rings(dog, 15) == "streamfuse_timeout_connect"
    failure = dog.expired(15)
    assert failure is not None and (failure.phase, failure.kind) == (Phase.CONNECT, Kind.NETWORK)


def test_silent_before_headers() -> None:
    dog = Watchdog(LIMITS, 0)
    dog.connected(4)
    assert _rings(dog, 64) == "streamfuse_timeout_headers"
    failure = dog.expired(64)
    assert failure is not None and (failure.phase, failure.kind) == (Phase.HEADERS, Kind.STALL)
    assert "60 s" in failure.message


def test_headers_and_then_nothing() -> None:
    dog = Watchdog(LIMITS, 0)
    dog.opened(2)
    assert _rings(dog, 102) == "streamfuse_timeout_first_event"


def test_comments_stretch_the_wait_for_the_first_event_but_not_for_ever() -> None:
    dog = Watchdog(LIMITS, 0)
    dog.opened(0)
    for now in range(10, 301, 10):
        assert dog.expired(now - 0.001) is None
        dog.heard(now, data=False)
    assert _rings(dog, 300) == "streamfuse_timeout_first_event"


def test_comments_that_stop_end_the_stretch() -> None:
    dog = Watchdog(LIMITS, 0)
    dog.opened(0)
    dog.heard(90, data=False)
    assert _rings(dog, 190) == "streamfuse_timeout_first_event"


def test_after_the_first_event_comments_stretch_the_silence_but_not_for_ever() -> None:
    dog = Watchdog(LIMITS, 0)
    dog.opened(0)
    dog.heard(20, data=True)
    assert _rings(dog, 70) == "streamfuse_timeout_idle"
    dog.heard(60, data=False)
    assert _rings(dog, 110) == "streamfuse_timeout_idle"
    dog.heard(100, data=False)
    assert _rings(dog, 140) == "streamfuse_timeout_idle"
    dog.heard(139, data=True)
    assert _rings(dog, 189) == "streamfuse_timeout_idle"


def test_where_comments_are_to_prove_nothing_they_do_not() -> None:
    dog = Watchdog(LIMITS.model_copy(update={"idle_alive": 50}), 0)
    dog.opened(0)
    dog.heard(20, data=True)
    dog.heard(60, data=False)
    assert _rings(dog, 70) == "streamfuse_timeout_idle"


def test_a_silence_is_told_before_claude_code_gives_up() -> None:
    assert (Timeouts().idle or 0) < 299


def test_total_counts_from_the_start_whatever_comes() -> None:
    dog = Watchdog(LIMITS, 0)
    dog.opened(1)
    dog.heard(980, data=True)
    assert _rings(dog, 1000) == "streamfuse_timeout_total"
    early = Watchdog(Timeouts(total=3), 0)
    failure = early.expired(3)
    assert failure is not None and failure.phase is Phase.CONNECT
    early.connected(1)
    failure = early.expired(3)
    assert failure is not None and failure.phase is Phase.HEADERS


def test_no_limits_never_ring() -> None:
    dog = Watchdog(Timeouts(connect=None, headers=None, first_event=None, idle=None, total=None), 0)
    for step in (lambda: None, lambda: dog.connected(1), lambda: dog.opened(2), lambda: dog.heard(3, True)):
        step()
        assert dog.deadline() is None
        assert dog.expired(1e12) is None


def test_defaults_are_those_of_the_clients() -> None:
    limits = Timeouts()
    assert (limits.connect, limits.headers, limits.first_event, limits.idle, limits.total) == (10, 600, 600, 280, None)
    assert Timeouts.model_validate({"idle": "2m", "total": None}).idle == 120


@given(st.lists(st.tuples(st.sampled_from("coha"), st.floats(0, 5)), max_size=30))
@settings(max_examples=150)
def test_a_timer_rings_exactly_at_its_deadline(happens: list[tuple[str, float]]) -> None:
    dog, now = Watchdog(LIMITS, 0), 0.0
    for what, passed in happens:
        now += passed
        if what == "c":
            dog.connected(now)
        elif what == "o":
            dog.opened(now)
        else:
            dog.heard(now, data=what == "h")
        at = dog.deadline()
        assert at is not None
        assert dog.expired(at) is not None
        assert at <= now or dog.expired(now) is None


def test_an_answer_that_drips_is_slow_only_while_it_is_judged() -> None:
    for judging in (True, False):
        dog = Watchdog(LIMITS.model_copy(update={"slow": 5.0}), 0)
        dog.judging = judging
        dog.opened(1)
        assert _rings(dog, 101) == "streamfuse_timeout_first_event"  # it has not begun: another timer's
        for second in range(10, 14):
            dog.heard(second, True)
        assert _rings(dog, 15 if judging else 63) == f"streamfuse_timeout_{'slow' if judging else 'idle'}"
        assert is_slow(dog.expired(63)) is judging and not is_slow(None)
    dog.judging = False  # enough has come
    assert _rings(dog, 63) == "streamfuse_timeout_idle"
