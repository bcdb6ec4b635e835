"""Rows that differ in blanks only."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rules.detect.monitors.exact_repetition import ExactRepetition, ExactRepetitionParams
from rules.detect.monitors.spaced_repetition import MONITOR, SpacedRepetition, SpacedRepetitionParams, place
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit

LEAD = "Here is the staircase that you asked about, one step after the other, seen from the side:\n"


def run(text: str, **params: float) -> Hit | None:
    return SpacedRepetition(SpacedRepetitionParams.model_validate(params), Brief()).feed(text, Channel.TEXT)


def test_indentation_that_only_grows() -> None:
    text = LEAD + "".join(" " * (2 * i) + "list.tail :: list.head :: list.tail <|>\n" for i in range(60))
    assert ExactRepetition(ExactRepetitionParams(), Brief()).feed(text, Channel.TEXT) is None
    hit = run(text)
    assert hit is not None
    assert len(LEAD) < hit.at < len(text)
    assert hit.period is not None and hit.period >= 40
    assert 0 <= hit.since < hit.at


def test_closing_brackets_of_deep_code_stay_quiet() -> None:
    assert run(LEAD + "".join(" " * (4 * i) + "}\n" for i in range(40, 0, -1))) is None


def test_a_stroke_that_moves_may_fill_a_page_and_no_more() -> None:
    stroke = ["/" + " " * (4 + row) + "\\ \\\n" for row in range(120)]
    assert run("".join(stroke[:50])) is None
    assert run("".join(stroke)) is not None


def test_words_that_differ_are_no_loop() -> None:
    assert run("".join(" " * i + f"step {i * i} of the way is {i * 7919 % 997} long\n" for i in range(80))) is None


@settings(max_examples=40)
@given(st.lists(st.integers(1, 70), min_size=1, max_size=20))
def test_the_same_verdict_at_the_same_character_for_every_cutting(sizes: list[int]) -> None:
    text = LEAD + "".join(" " * (i % 40) + "/ \\_/ \\_ go on\n" for i in range(150))
    whole = run(text)
    assert whole is not None
    monitor, at, turn, hit = SpacedRepetition(SpacedRepetitionParams(), Brief()), 0, 0, None
    while at < len(text) and hit is None:
        size = sizes[turn % len(sizes)]
        hit = monitor.feed(text[at : at + size], Channel.TEXT)
        at += size
        turn += 1
    assert hit == whole


def test_it_tells_its_suspicion() -> None:
    monitor = MONITOR.start(MONITOR.params(), Brief())
    assert monitor.feed(LEAD, Channel.TEXT) is None
    assert monitor.suspicion() == 0.0
    assert monitor.feed("".join(" " * i + "go on\n" for i in range(40)), Channel.TEXT) is None
    assert monitor.suspicion() > 0.2


@given(st.text("ab \t\n", max_size=80), st.integers(1, 90))
def test_the_place_of_a_character_is_found_among_blanks(text: str, count: int) -> None:
    places = [at for at, sign in enumerate(text, 1) if sign not in " \t"]
    assert place(text, count) == (places[count - 1] if count <= len(places) else len(text))
