"""The line pool against its definition, judged at every newline."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rules.detect.monitors.lines import LinesParams
from rules.detect.text import SPACE

from .play import cut, monitor, play


def defined(text: str, p: LinesParams) -> int | None:
    """Characters fed when the rule first holds: totals of the window counted anew at every newline."""
    window: list[str] = []
    at = 0
    for line in text.split("\n")[:-1]:
        at += len(line) + 1
        line = line.strip(SPACE)
        if len(line) < 2:
            continue
        window = [*window, line][-p.window :]
        while p.concentration > 1 and len(set(window)) > int(p.window / p.concentration):
            window = window[1:]
        counts = Counter(window)
        repeated = sum(len(one) * n for one, n in counts.items() if n > 1)
        if (
            counts[line] > 1
            and repeated >= p.chars
            and repeated >= p.coverage * sum(map(len, window))
            and len(window) >= p.concentration * len(counts)
        ):
            return at
    return None


numbers = st.builds(
    LinesParams,
    chars=st.integers(1, 60),
    coverage=st.sampled_from([0.0, 0.3, 0.6, 1.0]),
    concentration=st.sampled_from([0.0, 1.0, 2.0, 2.5, 4.0]),
    window=st.integers(4, 20),
)
text = st.lists(
    st.sampled_from(["ab\n", " ab \n", "abc\n", "x\n", "\n", "first\n", "second\r\n", "third", "n1\n", "n2\n", "n3\n"]),
    max_size=60,
).map("".join)


@settings(max_examples=200, deadline=None)
@given(text=text, params=numbers, sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4))
def test_it_fires_where_the_definition_says(text: str, params: LinesParams, sizes: list[int]) -> None:
    hit = play(monitor("lines", **params.model_dump()), cut(text, sizes))
    assert (hit.at if hit else None) == defined(text, params)
    if hit:
        assert 0 <= hit.since < hit.at == hit.since + hit.span
        assert all(hit.evidence[name] >= bar for name, bar in hit.bars.items())


def test_a_pool_after_a_long_healthy_text_fires_though_it_does_not_outweigh_it() -> None:
    """The seed's totals of the whole answer would need 60 % of it."""
    healthy = "".join(f"Finding number {n} is unlike any other that came before it.\n" for n in range(2000))
    pool = "Reading the file now.\nWriting it back now.\nOne more look here.\nReading the file now.\n"
    hit = play(monitor("lines"), cut(healthy + pool * 200, [5, 3, 8]))
    assert hit is not None
    assert len(healthy) <= hit.since
    assert hit.at < len(healthy) + 9000


def test_code_quoted_before_and_after_an_edit_is_no_pool() -> None:
    code = "".join(f"    value_{n} = compute({n}, previous=value_{n - 1})\n" for n in range(1, 100))
    assert play(monitor("lines"), [code, "Here it is again with the change:\n", code]) is None
    assert play(monitor("lines", concentration=0), [code, "Here it is again with the change:\n", code]) is not None


@pytest.mark.parametrize(("size", "times", "fires"), [(512, 3, False), (512, 4, True), (1024, 2, False)])
def test_long_lines_need_as_many_sightings(size: int, times: int, fires: bool) -> None:
    line = "".join(f"{n:04}" for n in range(size // 4)) + "\n"
    assert (play(monitor("lines"), cut(line * times, [3, 700])) is not None) == fires


def test_two_copies_of_a_long_line_fire_only_without_concentration() -> None:
    line = "".join(f"{n:04}" for n in range(256)) + "\n"
    assert play(monitor("lines", concentration=0), cut(line * 2, [3])) is not None


def test_lines_of_any_length_are_told_apart_by_all_their_characters() -> None:
    same = "x" * 3000 + "\n"
    assert play(monitor("lines"), cut(same * 4, [7, 900])) is not None
    assert play(monitor("lines"), cut("".join(f"{'x' * 3000}{n}\n" for n in range(40)), [7, 900])) is None
    assert play(monitor("lines"), cut("".join(f"{n:02}{'x' * 3000}\n" for n in range(40)), [7, 900])) is None


def test_it_grows_suspicious_before_it_is_sure() -> None:
    looking = monitor("lines")
    assert looking.suspicion() == 0.0
    assert play(looking, ["Checking the status again.\n"] * 60) is None
    assert 0.5 < looking.suspicion() < 1.0
    assert play(looking, [f"A new line of text, the {n}th of them.\n" for n in range(200)]) is None
    assert looking.suspicion() == 0.0


@pytest.mark.parametrize(
    "wrong", [{"chars": 0}, {"coverage": 1.1}, {"coverage": -0.1}, {"concentration": -1}, {"window": 1}, {"window": 3}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        monitor("lines", **wrong)
