"""The exact tail: what it convicts of, what it lets pass, and that pieces do not matter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.detect import packs
from rules.detect.monitors.exact_repetition import MONITOR, ExactRepetition, ExactRepetitionParams, kind, stretch
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit

PROSE = (
    "The harbour was quiet that morning. Two boats had left before dawn, and a third was still being loaded with "
    "crates of oranges, rope and an old piano that nobody could explain. Marta counted the crates twice, wrote the "
    "number on her sleeve, and went to look for the captain, who was asleep under a heap of nets behind the office. "
)


def run(text: str, prompt: str = "", channel: Channel = Channel.TEXT, **params: float) -> Hit | None:
    return ExactRepetition(ExactRepetitionParams.model_validate(params), Brief(prompt)).feed(text, channel)


def test_a_sentence_again_and_again() -> None:
    unit = "I will now make the edit to the file. "
    hit = run(PROSE + unit * 40)
    assert hit is not None
    assert hit.period == len(unit)
    assert abs(hit.since - len(PROSE)) <= 8
    assert len(PROSE) < hit.at < len(PROSE) + 450
    assert hit.evidence["span"] >= hit.bars["span"]


def test_the_period_is_the_smallest_one() -> None:
    hit = run(PROSE + "!?" * 400)
    assert hit is not None
    assert hit.period == 2


def test_a_long_block_needs_little_more_than_two_copies() -> None:
    block = "".join(f"    if value == {i * 7919 % 1000}: return {i * 104729 % 997}\n" for i in range(50))
    hit = run(block * 4)
    assert hit is not None
    assert hit.copies is not None
    assert hit.copies < 2.7


def test_two_copies_of_a_program_are_no_loop() -> None:
    block = "".join(f"    if value == {i * 7919 % 1000}: return {i * 104729 % 997}\n" for i in range(50))
    assert run(PROSE + block + PROSE + block) is None


@pytest.mark.parametrize(
    ("row", "block"), [("|   |   |  |  |  |\n", 1), ("+---+---+\n|   |   |\n", 2), (". . . . . .\n", 1)]
)
def test_empty_rows_for_a_month_pass_and_twice_as_many_do_not(row: str, block: int) -> None:
    assert run(PROSE + row * (32 // block)) is None
    assert run(PROSE + row * (70 // block)) is not None


def test_wide_empty_rows_need_no_month() -> None:
    row = "|" + "          |" * 9 + "\n"
    assert run(PROSE + row * 11) is None
    assert run(PROSE + row * 14) is not None


def test_padding_of_a_table_is_no_flood() -> None:
    row = "| name " + " " * 900 + "| value " + " " * 900 + "|\n"
    assert run(row + "|" + "-" * 907 + "|" + "-" * 908 + "|\n" + row.replace("name", "size")) is None
    assert run(PROSE + '{"key": ' + " " * 900) is not None


def test_the_request_may_ask_for_it() -> None:
    line = "I shall not talk in class any more.\n"
    assert run(line * 50, prompt="Write 'I shall not talk in class any more.' 50 times") is None
    assert run(line * 50) is not None
    assert run(line * 90, prompt="Write the punishment line 50 times") is not None


def test_what_the_request_says_itself_is_echo() -> None:
    line = "2024-01-01 00:00:00 WARN pool exhausted, waiting for a connection\n"
    assert run(line * 12, prompt="Why do I see this?\n" + line * 3) is None
    assert run(line * 40, prompt="Why do I see this?\n" + line * 3) is not None


def test_white_space_in_tool_arguments_is_cut_sooner() -> None:
    text = '{"path": "a.md",' + " " * 320
    assert run(text, channel=Channel.TOOL) is not None
    assert run(text) is None


def test_suspicion_grows_before_conviction() -> None:
    monitor = ExactRepetition(ExactRepetitionParams(), Brief())
    assert monitor.feed(PROSE, Channel.TEXT) is None
    assert monitor.suspicion() == 0.0
    assert monitor.feed("over and over. " * 11, Channel.TEXT) is None
    assert 0.4 < monitor.suspicion() < 1.0


def test_units_by_what_they_are_made_of() -> None:
    kinds = {"  ": "blank", "\n ": "newline", "-": "rule", "😀": "symbol", "0": "digit", "a": "digit", "a1": "digit",
             "商店": "word", "court ": "word", "A | G | D | E | F | G | ": "drawing",
             "- item one\n": "word"}  # fmt: skip
    assert {unit: kind(unit) for unit in kinds} == kinds


@given(st.text("ab", min_size=1, max_size=9), st.integers(2, 60), st.text("abc", max_size=30))
def test_stretch_counts_what_agrees(unit: str, copies: int, before: str) -> None:
    text, period = before + unit * copies, len(unit)
    size = stretch(text, period, 0)
    assert text[len(text) - size :] == text[len(text) - size - period : len(text) - period]
    assert size >= period * (copies - 1)
    more = len(text) - size - period
    assert more == 0 or text[more - 1] != text[more - 1 + period]


@settings(max_examples=60)
@given(
    st.sampled_from(["court ", "I am done. ", "\n", "?!", "0", "- Kite\n- Bite\n", "你好。", "😀"]),
    st.integers(0, 700),
    st.lists(st.integers(1, 90), min_size=1, max_size=40),
)
def test_the_same_verdict_at_the_same_character_for_every_cutting(unit: str, lead: int, sizes: list[int]) -> None:
    text = PROSE[:lead] + unit * (1600 // len(unit))
    whole = run(text)
    monitor, at, turn, hit = ExactRepetition(ExactRepetitionParams(), Brief()), 0, 0, None
    while at < len(text) and hit is None:
        size = sizes[turn % len(sizes)]
        hit = monitor.feed(text[at : at + size], Channel.TEXT)
        at += size
        turn += 1
    assert hit == whole


def test_it_keeps_a_bounded_tail() -> None:
    monitor = ExactRepetition(ExactRepetitionParams(factor=1000), Brief())
    for sign in ("x", "é", "😀"):
        for _ in range(300):
            monitor.feed(sign * 97, Channel.TEXT)
        assert len(monitor.tail) <= 2240
        assert len(monitor.part) < 32


def test_the_monitor_names_itself() -> None:
    assert MONITOR.name == "exact_repetition"
    assert isinstance(MONITOR.start(MONITOR.params(), Brief()), ExactRepetition)


def test_the_peak_stays_when_the_text_goes_on() -> None:
    monitor = ExactRepetition(ExactRepetitionParams(), Brief())
    assert monitor.feed(PROSE + "over and over. " * 11, Channel.TEXT) is None
    high = monitor.suspicion()
    assert monitor.peak() == high >= 0.5
    assert (
        monitor.feed("That is enough of it; now for something else, said the waiter to the Vikings.", Channel.TEXT)
        is None
    )
    assert monitor.suspicion() < 0.5 <= monitor.peak() < 1
    assert monitor.feed("No two of these words, as it happens, stand in one order twice over.", Channel.TEXT) is None
    assert monitor.peak() >= high - 0.2


def test_the_figures_that_are_told_are_the_bars() -> None:
    """`streamfuse rules` prints the description of the pack, and docs/detection.md the table."""
    p = ExactRepetitionParams()
    words = [chars for period, chars, _ in p.word if period <= 160]
    description = " ".join(packs.load("default").rules[0].description.split())
    for told in (
        f"{p.symbol[0][1]} characters for emoji",
        f"{min(words)} to {max(words)} for words up to 160 characters",
        f"{p.digit[0][1]:,} for zeros",
        f"{p.padding[0][1]:,} for the padding of table cells",
    ):
        assert told in description, f"the description of the rule says otherwise than: {told}"
    rows = dict(re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", Path("docs/detection.md").read_text(), re.MULTILINE))
    bar = {period: (f"{chars:,}", copies) for period, chars, copies in p.word}
    assert rows["blanks outside tables / in table cells"] == f"{p.blank[0][1]} / {p.padding[0][1]:,}"
    assert rows["newlines, emoji and other signs"] == f"{p.newline[0][1]}, {p.symbol[0][1]}"
    assert rows["digits, period 1 / 5–64"] == f"{p.digit[0][1]:,} / {p.digit[2][1]}"
    assert rows["words, period ≤ 16 / ≤ 64 / ≤ 128 / ≤ 256"] == (
        f"{bar[16][0]} / {bar[64][0]} / {bar[128][0]} / {bar[256][0]} and {bar[256][1]} copies"
    )
    assert rows["words, period ≤ 512"] == f"{bar[400][0]} to {bar[512][0]} and {bar[512][1]} copies"
    assert rows["words, period over 1,024"] == f"{bar[4096][0]} and {bar[4096][1]} copies"


def test_zeros_in_a_blob_are_no_loop() -> None:
    """Base64 writes zero bytes as AAAA…: an image of one colour holds 2,000 and more of them."""
    blob = "The icon: data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAfQ" + "A" * 3000 + "BJRU5ErkJggg=="
    assert run(blob) is None
    assert run("The icon: data:image/png;base64,iVBORw0KGgo" + "A" * 5000) is not None
