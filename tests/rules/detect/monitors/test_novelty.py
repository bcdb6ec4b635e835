"""Nothing new: loops without a period, and repetition that is none."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.detect.monitors.novelty import MONITOR, Novelty
from rules.detect.monitors.novelty.params import NoveltyParams
from rules.detect.monitors.novelty.words import TOKEN
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit

from .play import cut

LEAD = (
    "Every harbour keeps a ledger of small mistakes. Ours was bound in green cloth and smelled of tar, and the clerk "
    "who wrote in it had a hand so fine that visitors took it for print. He noted late boats, broken lamps, one goat.\n"
)


PLAIN = re.compile(
    r"[A-Z]?[a-z]{1,32}|[A-Z]{1,32}(?![a-z])|[A-Z]|[0-9]{1,18}|[^\W0-9A-Za-z_]{1,3}|(?:[^\w\s]|_){1,4}|\n"
)
"""What a token is."""


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(st.sampled_from("abAB_.,'$-—9é日あ😀 \t\n\r\u00a0"), max_size=90))
def test_the_quick_expression_finds_the_plain_ones_tokens(text: str) -> None:
    assert TOKEN.findall(text) == PLAIN.findall(text)


def run(text: str, prompt: str = "", **params: object) -> Hit | None:
    return Novelty(NoveltyParams.model_validate(params), Brief(prompt)).feed(text, Channel.TEXT)


def sentences(seed: int, count: int) -> list[str]:
    rnd = random.Random(seed)
    sylls = ["ka", "lo", "mi", "ren", "tas", "vu", "del", "por", "ish", "an", "qui", "ber"]

    def word() -> str:
        return "".join(rnd.choices(sylls, k=rnd.randint(1, 4)))

    return [" ".join(word() for _ in range(rnd.randint(6, 14))).capitalize() + "." for _ in range(count)]


def test_a_numbered_list_that_goes_round() -> None:
    names = ["Cloud computing", "Big data", "Robotics", "Machine learning", "Data mining", "Edge networks", "Sensors"]
    text = LEAD + "".join(f"{i + 1}. {names[i % 7]}\n" for i in range(160))
    hit = run(text)
    assert hit is not None
    assert len(LEAD) + 140 < hit.at < len(text)
    assert "copies" in hit.evidence and hit.bars["copies"] <= hit.evidence["copies"]


def test_a_long_list_on_one_short_template_is_allowed_as_long_as_it_was_asked_for() -> None:
    words = ["Storage", "Backup", "Hosting", "Security", "Analytics", "Robotics", "Networking", "Design", "Privacy"]
    words += ["Commerce", "Mobile", "Gaming", "Video", "Music", "Health", "Finance", "Travel", "Sports", "Fashion"]
    words += ["Energy", "Media", "Search", "Payments", "Logistics", "Education"]
    lines = [f"{'Cloud-based ' * depth}{word}" for depth in range(1, 9) for word in words]
    text = "".join(f"{number}. {line}\n" for number, line in enumerate(lines, 1))
    unasked, asked = run(text), run(text, "Give me the list of top 100 tech categories")
    assert unasked is not None and asked is not None
    assert text[: unasked.at].count("\n") < 60
    assert 90 < text[: asked.at].count("\n") < 130


def test_sentences_in_changing_order() -> None:
    rnd, pool = random.Random(3), sentences(1, 8)
    text = LEAD + " ".join(rnd.choice(pool) for _ in range(90))
    assert run(text) is not None


def test_fresh_sentences_stay_quiet() -> None:
    assert run(" ".join(sentences(2, 400))) is None


def test_numbers_that_say_something_are_news() -> None:
    rnd = random.Random(4)
    rows = "".join(
        f"{rnd.randint(10, 99)} degrees at {rnd.randint(100, 999)} metres, wind {rnd.randint(1, 60)}\n"
        for _ in range(90)
    )
    assert run(rows) is None


def test_a_whole_paragraph_twice_is_no_loop() -> None:
    paragraph = " ".join(sentences(5, 12))
    assert run(LEAD + paragraph + "\n\n" + paragraph) is None
    assert run(LEAD + (paragraph + "\n\n") * 5) is not None


def test_a_song_has_more_room() -> None:
    chorus = " ".join(sentences(6, 3)) + "\n"
    text = chorus * 7
    assert run(text, prompt="Write a song with a long chorus") is None
    assert run(text) is not None


def test_factor_moves_every_gate() -> None:
    names = ["Cloud computing", "Big data", "Robotics", "Machine learning", "Data mining", "Edge networks", "Sensors"]
    text = LEAD + "".join(f"{i + 1}. {names[i % 7]}\n" for i in range(160))
    soon, usual, late = run(text, factor=0.6), run(text), run(text, factor=1.5)
    assert soon is not None and usual is not None and late is not None
    assert soon.at < usual.at < late.at


COUNTS: dict[str, Callable[[int], str]] = {
    "sentences": lambda n: f"Check number {n} is fine. ",
    "lines": lambda n: f"Check number {n} is fine.\n",
    "bare numbers": lambda n: f"{n}\n",
    "numbers and commas": lambda n: f"{n}, ",
    "even numbers": lambda n: f"{2 * n} is even.\n",
    "a countdown": lambda n: f"{1000 - n} seconds left\n",
    "dates": lambda n: f"{date(2024, 1, 1) + timedelta(n)}\n",
    "dates with weekdays": lambda n: (date(2024, 1, 1) + timedelta(n)).strftime("%A, %d %B %Y\n"),
    "hexadecimal": lambda n: f"0x{n:04x}\n",
    "tests": lambda n: f"test_{n} ... ok\n",
    "tests with names": lambda n: f"tests/test_api.py::test_{n} PASSED\n",
    "objects": lambda n: f'{{"n": {n}, "sq": {n * n}}}\n',
    "objects in an array": lambda n: f'{{"n":{n},"sq":{n * n}}},',
    "statements": lambda n: f"INSERT INTO t VALUES ({n}, 'a');\n",
    "multiples": lambda n: f"{n} x 7 = {n * 7}\n",
    "percent": lambda n: f"Downloading {n // 2}% done\n",
    "a list of files": lambda n: f"- file_{n}.txt\n",
}


@pytest.mark.parametrize("made", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("channel", list(Channel))
def test_a_count_of_two_hundred_is_progress(made: Callable[[int], str], channel: Channel) -> None:
    text = LEAD + "".join(made(n) for n in range(1, 201))
    assert Novelty(NoveltyParams(), Brief()).feed(text, channel) is None


def test_a_count_has_an_end() -> None:
    assert run(LEAD + "".join(f"Check number {n} is fine. " for n in range(1, 600))) is not None


def test_sentences_that_only_count_are_no_count() -> None:
    said = "In {0}-ball, the player who breaks has to sink every ball but the {0}-ball, and then the {0}-ball.\n\n"
    assert run(LEAD + "".join(said.format(n) for n in range(1, 40))) is not None


def moments(count: int) -> list[str]:
    """Times that move on, by steps that change."""
    rnd, at, told = random.Random(3), 0, []
    for _ in range(count):
        at += rnd.randint(1, 9)
        told.append(f"{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d},{rnd.randint(0, 999):03d}")
    return told


@pytest.mark.parametrize(
    "line", ["Thank you for watching.", "Untertitel des ZDF für funk", "感谢您的观看。", "(music goes on)"]
)
def test_one_line_of_subtitles_under_times_that_move_on(line: str) -> None:
    times = moments(400)
    shown = [f"{n}\n{times[n]} --> {times[n + 1]}\n{line}\n\n" for n in range(1, 300)]
    assert run(LEAD + "".join(shown[:80])) is None
    assert run(LEAD + "".join(shown)) is not None


@pytest.mark.parametrize(
    "row",
    [
        "{time} INFO worker-{few} heartbeat ok\n",
        "{time};{many};sensor north;{many}.{few};ok\n",
        "{time}  Departs from Central Station platform {few}\n",
        "| {time} | {many} | 4.{few} | good |\n",
        "{many} × {few} = \n",
    ],
)
def test_logs_rows_and_timetables_in_which_numbers_move_stay_quiet(row: str) -> None:
    rnd = random.Random(2)
    rows = (row.format(time=time, few=rnd.randint(0, 9), many=rnd.randint(0, 9999)) for time in moments(250))
    assert run(LEAD + "".join(rows)) is None


def test_subtitles_that_say_a_second_thing_now_and_then_stay_quiet() -> None:
    times = moments(300)
    shown = (f"{n}\n{times[n]} --> {times[n + 1]}\n{'[wind]' if n % 4 else '[a door closes]'}\n\n" for n in range(250))
    assert run(LEAD + "".join(shown)) is None


def test_escapes_in_arguments_are_read_as_what_they_mean() -> None:
    rnd = random.Random(8)
    lines = [f"    {rnd.choice(('start', 'stop', 'keep'))}({rnd.choice(('one', 'two'))})" for _ in range(120)]
    monitor = Novelty(NoveltyParams(), Brief())
    assert monitor.feed('{"content": "' + "\\n".join(lines), Channel.TOOL) is None
    assert "\n" in monitor.view
    odd = Novelty(NoveltyParams(), Brief())
    for sign in "x" * 63 + "\\n" + "y" * 63:
        odd.feed(sign, Channel.TOOL)
    assert odd.view == "x" * 63 + " \n" + "y" * 63


@pytest.mark.parametrize("size", [1, 7, 64, 5000])
def test_letters_written_as_escapes_are_read_as_words(size: int) -> None:
    prose = " ".join(f"Каждое {rnd_word} приносит новое." for rnd_word in sentences(3, 40)).replace('"', "")
    monitor = Novelty(NoveltyParams(), Brief())
    text = json.dumps({"content": prose + " 😀"})[:-2]
    for at in range(0, len(text), size):
        assert monitor.feed(text[at : at + size], Channel.TOOL) is None
    assert "Каждое" in monitor.view and "u041a" not in monitor.view


def test_number_words_are_numbers_that_count() -> None:
    tens = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")
    ones = re.findall(r"\w+", "one two three four five six seven eight nine")
    counted = ", ".join(f"{ten}-{one}" for ten in tens for one in ones)
    monitor = Novelty(NoveltyParams.model_validate({"risk": PRICE}), Brief())
    assert monitor.feed(counted + ", " + counted, Channel.TEXT) is None


def test_suspicion_before_conviction() -> None:
    monitor, pool = Novelty(NoveltyParams(), Brief()), sentences(1, 6)
    levels = []
    for i in range(40):
        if monitor.feed(pool[i % 6] + " ", Channel.TEXT):
            break
        levels.append(monitor.suspicion())
    assert levels[0] == 0.0
    assert max(levels) > 0.5


@settings(max_examples=50)
@given(st.integers(0, 200), st.lists(st.integers(1, 150), min_size=1, max_size=30))
def test_the_same_verdict_at_the_same_character_for_every_cutting(seed: int, sizes: list[int]) -> None:
    rnd, pool = random.Random(seed), [*sentences(seed, 5), "12. Über 300 Äpfel", "再见，世界。", "CamelCaseWord_x"]
    text = LEAD + "\n".join(rnd.choice(pool) for _ in range(60))
    whole = run(text)
    monitor, at, turn, hit = Novelty(NoveltyParams(), Brief()), 0, 0, None
    while at < len(text) and hit is None:
        size = sizes[turn % len(sizes)]
        hit = monitor.feed(text[at : at + size], Channel.TEXT)
        at += size
        turn += 1
    assert hit == whole


@given(st.text(max_size=400))
def test_words_cover_everything_but_blanks(text: str) -> None:
    left = TOKEN.sub("", text)
    assert not any(sign.isascii() and (sign.isalnum() or sign == "\n") for sign in left)


def test_nothing_grows() -> None:
    monitor = Novelty(NoveltyParams(factor=1000), Brief())
    for sign in ("a", "A b", "0", "-", "é", "你", "\n", "😀", "x_"):
        for _ in range(120):
            monitor.feed(sign * 61, Channel.TEXT)
    assert len(monitor.view) <= 640 and len(monitor.carry) <= 64 and len(monitor.part) < 64
    assert len(monitor.runs) == len(monitor.when) == 4096


def test_the_monitor_names_itself() -> None:
    assert MONITOR.name == "novelty"
    assert isinstance(MONITOR.start(MONITOR.params(), Brief()), Novelty)


def going_round(count: int) -> str:
    names = ["Anna", "Bruno", "Carla", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Karla", "Leo"]
    places = [
        "harbour",
        "mill",
        "market",
        "station",
        "library",
        "garden",
        "bridge",
        "museum",
        "school",
        "square",
        "church",
        "theatre",
    ]
    return "".join(
        f"In the morning {names[at * 5 % 12]} walked to the {places[at * 7 % 12]} and said hello to everybody there.\n"
        for at in range(count)
    )


PRICE = {"text": 0.2, "reasoning": 0.2}


@pytest.mark.parametrize("sizes", [[1], [7], [64], [300], [3, 250, 64], [9000]])
def test_the_score_convicts_at_the_same_character_however_the_text_is_cut(sizes: list[int]) -> None:
    text = LEAD + going_round(60)
    whole = Novelty(NoveltyParams.model_validate({"risk": PRICE}), Brief()).feed(text, Channel.TEXT)
    assert whole is not None and "odds" in whole.evidence
    rules = RuleSet([Rule(name="n", monitor="novelty", params={"risk": PRICE})])
    watch = rules.watch(Brief())
    found = next(found for piece in cut(text, sizes) if (found := watch.feed(0, Channel.TEXT, "0", piece)))
    assert found[0].hit == whole, "nor does a watch keep text to itself for too long"


def test_a_price_of_none_leaves_it_to_the_gates() -> None:
    text = LEAD + going_round(60)
    hit = run(text)
    assert hit is not None and "clean" in hit.evidence
    early = Novelty(NoveltyParams.model_validate({"risk": PRICE}), Brief()).feed(text, Channel.TEXT)
    assert early is not None and early.at < hit.at


def test_the_score_says_nothing_of_tool_arguments_unless_they_have_a_price() -> None:
    text = LEAD + going_round(60)
    plain = Novelty(NoveltyParams.model_validate({"risk": PRICE}), Brief()).feed(text, Channel.TOOL)
    assert plain is None or "odds" not in plain.evidence
    priced = Novelty(NoveltyParams.model_validate({"risk": {"arguments": 0.2}}), Brief()).feed(text, Channel.TOOL)
    assert priced is not None and "odds" in priced.evidence


def test_numbers_that_count_on_are_not_the_scores_business_until_they_have_counted_far() -> None:
    def rows(count: int) -> Hit | None:
        text = "".join(
            f"{at}: the file number {at} was copied to the disk and its sum was good.\n" for at in range(count)
        )
        return run(text, factor=9.0, risk={"text": 1.0})

    assert rows(12) is None
    hit = rows(60)
    assert hit is not None and "odds" in hit.evidence


def test_text_of_few_words_is_the_scores_business_only_where_that_is_said() -> None:
    rnd = random.Random(1)
    text = "".join(rnd.choice(("Positive\n", "Negative\n", "Neutral\n")) for _ in range(190))
    quiet = {"risk": {"text": 0.05}, "factor": 9.0}
    assert Novelty(NoveltyParams.model_validate(quiet), Brief()).feed(text, Channel.TEXT) is None
    hit = Novelty(NoveltyParams.model_validate({**quiet, "few": True}), Brief()).feed(text, Channel.TEXT)
    assert hit is not None and "odds" in hit.evidence


@pytest.mark.parametrize("few", [False, True])
def test_columns_and_indented_code_are_not_the_scores_business(few: bool) -> None:
    text = LEAD + "".join(line.replace(" ", "   ") for line in going_round(90).splitlines(True))
    hit = run(text, factor=9.0, risk={"text": 0.2}, few=few)
    assert (hit is not None) is few


def test_numbers_alone_are_not_the_scores_business() -> None:
    rnd = random.Random(4)
    text = "".join(
        f"row {rnd.randint(1, 9)}{rnd.randint(1, 9)}{rnd.randint(1, 9)} {rnd.choice('ab')}\n" for _ in range(900)
    )
    assert run(text, factor=9.0, risk={"text": 1.0}, few=True) is None
