"""The exact cycle against its definition, judged at every character."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rules.detect.monitors.cycle import CycleParams

from .play import monitor, play


def defined(text: str, params: CycleParams) -> tuple[int, int] | None:
    """(characters, period) where the rule first holds, by the words of the rule."""
    for at in range(1, len(text) + 1):
        for period in range(1, params.period + 1):
            need = max(params.span, 2 * period)
            tail = text[at - need : at] if need <= at else ""
            if tail and tail[period:] == tail[:-period] and len(set(tail[-period:])) >= params.distinct:
                return at, period
    return None


small = st.builds(CycleParams, period=st.integers(1, 40), span=st.integers(2, 70), distinct=st.integers(1, 3))
looping = st.builds(
    lambda head, unit, times, tail: head + unit * times + tail,
    st.text("ab", max_size=40),
    st.text("abc", min_size=1, max_size=40),
    st.integers(1, 12),
    st.text("abc", max_size=20),
)
flooded = st.lists(st.sampled_from(["a" * 40, "b", "a", "c" * 35, "ab" * 20]), max_size=8).map("".join)


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(looping, flooded), params=small, size=st.integers(1, 50))
@example(text="a" * 40 + "b" + "a" * 40 + "b", params=CycleParams(period=40, span=4), size=1)
@example(text="abaaabbbaabbaabbabbaabbbbb", params=CycleParams(period=9, span=14), size=1)
@example(text="ababbbabbabbbabbabbbabbabbbabb", params=CycleParams(period=14, span=15, distinct=1), size=3)
@example(text="ab" * 13 + "b" + "ab" * 5 + "b" + "ab" * 5, params=CycleParams(period=19, span=26), size=1)
@example(text="aa", params=CycleParams(period=1, span=2, distinct=1), size=1)
def test_it_fires_where_the_definition_says(text: str, params: CycleParams, size: int) -> None:
    looking = monitor("cycle", **params.model_dump())
    hit = play(looking, [text[at : at + size] for at in range(0, len(text), size)])
    assert ((hit.at, hit.period) if hit else None) == defined(text, params)
    if hit:
        assert hit.since == hit.at - hit.span >= 0
        assert hit.period is not None
        assert text[hit.since + hit.period : hit.at] == text[hit.since : hit.at - hit.period]


def test_a_period_beyond_the_cap_is_missed_and_one_at_the_cap_is_not() -> None:
    unit = "".join(chr(0x4E00 + n) for n in range(513))
    assert play(monitor("cycle"), [unit * 4]) is None
    hit = play(monitor("cycle"), [unit[:512] * 4])
    assert hit is not None
    assert (hit.at, hit.period, hit.copies) == (1024, 512, 2.0)


def test_a_divider_is_no_cycle_until_asked_for() -> None:
    assert play(monitor("cycle"), ["=" * 5000]) is None
    assert play(monitor("cycle", distinct=1), ["=" * 5000]) is not None


def test_one_character_off_starts_again() -> None:
    text = "abcdefghij" * 25
    assert play(monitor("cycle"), [text, "X", text]) is None


def test_it_says_what_would_have_kept_it_quiet() -> None:
    text = "no change at all. " * 30
    hit = play(monitor("cycle"), [text])
    assert hit is not None
    assert set(hit.bars) == set(hit.evidence)
    assert all(hit.evidence[name] >= bar for name, bar in hit.bars.items())
    quiet = int(hit.evidence["distinct"]) + 1
    assert play(monitor("cycle", distinct=quiet), [text]) is None


def test_it_grows_suspicious_before_it_is_sure() -> None:
    looking = monitor("cycle")
    assert play(looking, ["Once upon a time there was a fuse. "]) is None
    assert looking.suspicion() == 0.0
    assert play(looking, ["and so on " * 20]) is None
    assert 0.5 < looking.suspicion() < 1.0
    assert play(looking, ["until it broke off and went on with its tale for ever after. " + "." * 32]) is None
    assert looking.suspicion() < 0.5


@pytest.mark.parametrize("wrong", [{"period": 0}, {"span": 1}, {"period": -1}, {"distinct": 0}, {"cap": 3}])
def test_numbers_below_the_legal_minimum_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        monitor("cycle", **wrong)
