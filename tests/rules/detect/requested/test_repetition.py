"""What a request asks for."""

from __future__ import annotations

import re

import pytest

from rules.detect import packs
from rules.detect.requested.repetition import _HEADS, _IDEOGRAPHS, FARTHEST, RequestedRepetition, wishes
from rules.values.brief import Brief
from rules.values.delta import Channel


def test_sizes_become_characters_of_what_was_asked_for() -> None:
    def span(prompt: str, period: int, unit: str = "x") -> int:
        return RequestedRepetition(Brief(prompt)).look().span(period, unit)

    assert span("write this line 50 times", 30) == 1500
    assert span("Prepare minutes for six meetings.", 300, "a\nb\n") == 1800
    assert span("Seed 60 seats.", 25, "('A', 1),\n") == 1500
    assert span("list 100 names", 90, "1. a\n2. b\n3. c\n") == 0  # names that go round are not what was asked for
    assert span("fill 100 rows", 90, "1\n2\n3\n") == 3000
    assert span("a 384-dimensional vector of zeros", 5, "0.0, ") == 1920
    assert span("Write a 40x40 grid of zeros", 2, "0 ") == 3200
    assert span("Write a 40x40 grid of zeros", 80, "0 " * 39 + "0\n") == 9600
    assert span("a string of 1024 characters", 27, "QmFzZTY0") == 1024
    assert span("a string of 1024 characters", 27, "two words") == 0
    assert span("write 90000 rows", 5000, "x\n") == FARTHEST  # never without end
    assert span("tell me a story", 40) == 0


@pytest.mark.parametrize(
    ("prompt", "roster"),
    [
        ("Give me a sample 5 day itinerary for a holiday", True),
        ("A seven-day plan, please", True),
        ("What happened five days ago?", False),
        ("my weekly schedule as a table", True),
        ("a 30 day meal plan", True),
        ("Classify the reviews", True),
        ("the truth table of A and B", True),
        ("Schedule the meetings", False),
        ("Make a plan, then fix the bug", False),
    ],
)
def test_plans_and_verdicts(prompt: str, roster: bool) -> None:
    assert RequestedRepetition(Brief(prompt)).look().roster is roster


def test_songs_and_drawings() -> None:
    assert RequestedRepetition(Brief("Write me a rap about tea")).look().verse
    assert RequestedRepetition(Brief("Draw a cat in ASCII")).look().drawing
    assert RequestedRepetition(Brief("Make a blank form")).look().filler
    plain = RequestedRepetition(Brief("Fix the wrapper around the parser")).look()
    assert not plain.verse and not plain.drawing


def test_a_quotation_is_counted() -> None:
    line = "2024-01-01 WARN pool exhausted, waiting for a connection. "
    wanted = RequestedRepetition(Brief("Here is my log: " + line * 3))
    assert wanted.quoted(line) == 3
    assert wanted.quoted("something else entirely that nobody wrote before") == 0
    mixed = line + "something else entirely that nobody wrote before, no"
    assert wanted.quoted(mixed) in (0, 3) and wanted.quoted(mixed, share=0.2) == 3
    assert RequestedRepetition(Brief()).quoted(line) == 0


def test_the_request_is_read_once_and_only_when_asked() -> None:
    calls: list[str] = []

    def prompt() -> str:
        calls.append("prompt")
        return "(2368 lines total)"

    def asked() -> str:
        calls.append("asked")
        return "write it 9 times"

    brief = Brief(prompt, asked)
    wanted = RequestedRepetition(brief)
    assert not calls
    assert wanted.look().span(10) == 90 and RequestedRepetition(brief).look() is wanted.look()
    assert calls == ["asked"]  # what tools gave back is no wish
    assert not wanted.quoted("nothing that stands in it, at all")
    assert calls == ["asked", "prompt"]


@pytest.mark.parametrize("form", _HEADS)
def test_an_expression_is_tried_where_its_first_words_are(form: re.Pattern[str]) -> None:
    """Whatever it finds begins with one of the words that it is tried for, or is an ideograph."""
    pattern, matched = form.pattern, 0
    for said in re.findall(r"[a-z\[\]]+(?=[?|)(\\ ]|$)", pattern.replace(r"\b", "").replace("s?", "")):
        for word in (said, said + "s", said.replace("[sz]", "s"), said.replace("[sz]", "z")):
            text = f"please {word} this"
            if form.search(text):
                matched += 1
                assert not _HEADS[form].isdisjoint(re.findall("[a-z]+", text))
                assert getattr(
                    wishes(text), {0: "verse", 1: "roster", 2: "drawing", 3: "filler"}[list(_HEADS).index(form)]
                )
    assert matched > 5
    assert not any(form.search(sign) and sign not in _IDEOGRAPHS[form] for sign in "诗歌詞词图表")


PHRASES = (
    "stage play", "abc notation", "sheet music", "guitar tabs", "truth table", "study plan", "score the", "grade the",
    "label the", "classify the", "categorize the", "categorise the", "hex dump", "mock-up", "sample data", "test data",
    "seed data", "example data", "fake data", "gray code", "permutations of", "combinations of", "subsets of",
    "5-day",
)  # fmt: skip
"""For words that count only beside another one."""


@pytest.mark.parametrize("form", _HEADS)
def test_an_expression_is_tried_for_no_word_that_it_cannot_match(form: re.Pattern[str]) -> None:
    for word in sorted(_HEADS[form]):
        said = [word, *(phrase for phrase in PHRASES if word in re.findall("[a-z]+", phrase))]
        assert any(map(form.search, said)), f"{word!r} costs a search that finds nothing"


@pytest.mark.parametrize(
    "text", ["A song", "SHEET MUSIC", "stage play", "HexDump", "hex dump", "a Truth Table", "写诗", "画图"]
)
def test_case_and_phrases(text: str) -> None:
    found = wishes(text)
    assert found.verse or found.drawing or found.roster


LINE = "I will always hand in my homework on time and never blame the dog again.\n"


@pytest.mark.parametrize(
    "prompt",
    [
        "Write 'I will always hand in my homework …' fifty times",
        "Repeat the sentence half a hundred times.",
        "say it x50",
        "इसे पचास बार लिखें",
        "请把这句话写五十次",
        "この文を五十回書いて",
        "이 문장을 오십 번 써 줘",
        "اكتب الجملة خمسين مرة",
        "напиши это пятьдесят раз",
        "napiš to 50krát",
        "Schreibe den Satz fünfzigmal",
        "escribe la frase cincuenta veces",
    ],
)
def test_what_was_asked_for_passes_and_twice_as_much_is_cut(prompt: str) -> None:
    watch = packs.assemble(["default"]).watch(Brief(prompt))
    assert not watch.feed(0, Channel.TEXT, "0", LINE * 59)
    assert watch.feed(0, Channel.TEXT, "0", LINE * 41)


@pytest.mark.parametrize("prompt", ["", "say r400 please", "show me the H264 settings", "Answer with code r400 first"])
def test_the_digits_of_a_name_ask_for_nothing(prompt: str) -> None:
    watch = packs.assemble(["default"]).watch(Brief(prompt))
    assert watch.feed(0, Channel.TEXT, "0", LINE * 12)
