"""What a request asks for."""

from __future__ import annotations

import re

import pytest

from rules.brief import Brief
from rules.wanted import _HEADS, _IDEOGRAPHS, Wanted, wishes


@pytest.mark.parametrize(
    ("prompt", "copies"),
    [
        ("write this line 50 times", 50),
        ("give me a 40x40 grid of zeros", 1600),
        ("a table of 12 rows, then 3 copies", 12),
        ("写50遍", 50),
        ("an essay of 1000 words about 20 boats", 0),
        ("version 2.5 times out", 0),
        ("", 0),
    ],
)
def test_counts(prompt: str, copies: int) -> None:
    assert Wanted(Brief(prompt)).look().copies == copies


@pytest.mark.parametrize(
    ("prompt", "items"),
    [
        ("Give me the list of top 100 tech categories", 100),
        ("list 50 names, then the next 200", 200),
        ("the top 10 books", 0),
        ("the first 100% of it", 0),
        ("top 100.5 and version 2", 0),
        ("", 0),
    ],
)
def test_long_lists(prompt: str, items: int) -> None:
    assert Wanted(Brief(prompt)).look().items == items


@pytest.mark.parametrize(
    ("prompt", "entries"),
    [
        ("Write 200 test cases for our API", 200),
        ("give me 100 creative startup names", 100),
        ("10 hashtags", 0),
        ("in 500 words", 0),
        ("a price of $120 for items", 0),
    ],
)
def test_entries_of_a_named_kind(prompt: str, entries: int) -> None:
    assert Wanted(Brief(prompt)).look().entries == entries


@pytest.mark.parametrize(
    ("prompt", "roster"),
    [
        ("my weekly schedule as a table", True),
        ("a 30 day meal plan", True),
        ("Classify the reviews", True),
        ("the truth table of A and B", True),
        ("Schedule the meetings", False),
        ("Make a plan, then fix the bug", False),
    ],
)
def test_plans_and_verdicts(prompt: str, roster: bool) -> None:
    assert Wanted(Brief(prompt)).look().roster is roster


def test_songs_and_drawings() -> None:
    assert Wanted(Brief("Write me a rap about tea")).look().verse
    assert Wanted(Brief("Draw a cat in ASCII")).look().drawing
    plain = Wanted(Brief("Fix the wrapper around the parser")).look()
    assert not plain.verse and not plain.drawing


def test_echo_is_a_share() -> None:
    line = "2024-01-01 WARN pool exhausted, waiting for a connection. "
    wanted = Wanted(Brief("Here is my log: " + line * 3))
    assert wanted.echo(line) == 1.0
    assert wanted.echo("something else entirely that nobody wrote before") == 0.0
    assert 0.2 < wanted.echo(line + "something else entirely that nobody wrote before, no") < 0.8
    assert Wanted(Brief()).echo(line) == 0.0


def test_the_prompt_is_read_once_and_only_when_asked() -> None:
    asked: list[int] = []

    def supply() -> str:
        asked.append(1)
        return "9 times"

    brief = Brief(supply)
    wanted = Wanted(brief)
    assert not asked
    assert wanted.look().copies == 9 and Wanted(brief).look() is wanted.look()
    assert len(asked) == 1


def test_a_long_prompt_is_read_from_its_end() -> None:
    assert Wanted(Brief("x" * 100_000 + " 7 times")).look().copies == 7
    assert Wanted(Brief("7 times " + "x" * 100_000)).look().copies == 0


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
                assert getattr(wishes(text), {0: "verse", 1: "roster", 2: "drawing"}[list(_HEADS).index(form)])
    assert matched > 5
    assert not any(form.search(sign) and sign not in _IDEOGRAPHS[form] for sign in "诗歌詞词图表")


@pytest.mark.parametrize(
    "text", ["A song", "SHEET MUSIC", "stage play", "HexDump", "hex dump", "a Truth Table", "写诗", "画图"]
)
def test_case_and_phrases(text: str) -> None:
    found = wishes(text)
    assert found.verse or found.drawing or found.roster
