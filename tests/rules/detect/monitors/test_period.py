"""Blocks of tokens against their definition, judged at every character."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rules.detect.monitors.period import PeriodParams
from rules.detect.text import tokens
from rules.values.delta import Channel

from .play import cut, monitor, play


def fires(seen: list[str], params: PeriodParams) -> bool:
    """The seed's rule on a list of tokens: a stretch of `copies` blocks at the very end."""
    for period in range(params.tokens, params.window // params.copies + 1):
        stretch = seen[-period * params.copies :]
        if (
            len(stretch) == period * params.copies
            and stretch[period:] == stretch[:-period]
            and len(set(stretch[-period:])) >= params.distinct
        ):
            return True
    return False


def defined(text: str, params: PeriodParams) -> int | None:
    return next((at for at in range(1, len(text) + 1) if fires(tokens(text[:at]), params)), None)


@st.composite
def numbers(draw: st.DrawFn) -> PeriodParams:
    shortest, copies = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    window = shortest * copies + draw(st.integers(0, 30))
    return PeriodParams(tokens=shortest, copies=copies, window=window, distinct=draw(st.integers(1, 3)))


atoms = ["a", "ab", "b ", " ", "c, ", "好", "。", "\n", "A ", "\u00a0", "\u0085"]
words = st.lists(st.sampled_from(atoms), max_size=8).map("".join)
looping = st.builds(lambda head, unit, n, tail: head + unit * n + tail, words, words, st.integers(1, 8), words)


@settings(max_examples=200, deadline=None)
@given(text=looping, params=numbers(), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4))
@example(text="a a", params=PeriodParams(tokens=1, copies=2, window=2, distinct=1), sizes=[1])
@example(text="ab ab abc", params=PeriodParams(tokens=1, copies=3, window=3, distinct=1), sizes=[9])
def test_it_fires_where_the_definition_says(text: str, params: PeriodParams, sizes: list[int]) -> None:
    hit = play(monitor("period", **params.model_dump()), cut(text, sizes))
    assert (hit.at if hit else None) == defined(text, params)
    if hit:
        assert 0 <= hit.since < hit.at == hit.since + hit.span
        assert fires(tokens(text[hit.since : hit.at]), params)


def test_reasoning_and_text_are_one_text() -> None:
    looking = monitor("period")
    assert play(looking, ["now go fix it "] * 10, Channel.REASONING) is None
    assert play(looking, ["now go fix it "] * 10, Channel.TEXT) is not None


def test_a_block_of_25_fires_and_one_of_26_never() -> None:
    def block(size: int) -> str:
        return " ".join(f"w{n}" for n in range(size)) + " "

    assert play(monitor("period"), [block(26) * 60]) is None
    hit = play(monitor("period"), [block(25) * 60])
    assert hit is not None
    assert hit.at == len(block(25)) * 20 - 1


def test_words_of_any_length_are_told_apart_by_all_their_letters() -> None:
    long = "x" * 5000
    same = f"{long} b c d "
    assert play(monitor("period"), cut(same * 20, [7, 300, 1])) is not None
    assert play(monitor("period"), cut("".join(f"{long}{n} b c d " for n in range(40)), [7, 300, 1])) is None
    assert play(monitor("period"), cut("".join(f"{n:03}{long} b c d " for n in range(40)), [7, 300, 1])) is None


def test_it_says_what_would_have_kept_it_quiet() -> None:
    hit = play(monitor("period"), ["let me try again "] * 20)
    assert hit is not None
    assert set(hit.bars) == set(hit.evidence)
    assert (hit.period, hit.copies) == (17, 20.0)
    for name, value in hit.evidence.items():
        raised = {name: int(value) + 1, "window": 500 if name != "tokens" else 1000}
        assert play(monitor("period", **raised), ["let me try again "] * 20) is None, name


def test_it_grows_suspicious_before_it_is_sure() -> None:
    looking = monitor("period")
    assert looking.suspicion() == 0.0
    assert play(looking, ["let me try again "] * 15) is None
    assert 0.5 < looking.suspicion() < 1.0
    assert play(looking, ["something else came up "]) is None
    assert looking.suspicion() == 0.0


@pytest.mark.parametrize(
    "wrong", [{"tokens": 0}, {"copies": 1}, {"window": 79}, {"distinct": 0}, {"tokens": 26}, {"threshold": 20}]
)
def test_numbers_that_could_never_fire_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        monitor("period", **wrong)
