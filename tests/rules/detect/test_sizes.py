"""Which numbers of a request are wishes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.detect.sizes import MOST, SIZES, sizes


@pytest.mark.parametrize(
    ("said", "kind", "count"),
    [
        ("write this line 50 times", "times", 50),
        ("Write 'I shall be good.' 50 times", "times", 50),
        ("escribe 30 veces hola", "times", 30),
        ("Schreibe das 20 mal", "times", 20),
        ("写50遍", "times", 50),
        ("اكتب الجملة 50 مرة", "times", 50),
        ("Cümleyi 50 kez yaz", "times", 50),
        ("Skriv meningen 50 gånger", "times", 50),
        ("Viết câu này 50 lần", "times", 50),
        ("列出100个名字", "items", 100),
        ("Give me the list of top 100 tech categories", "items", 100),
        ("100 facts about cats", "items", 100),
        ("a hundred haikus about tea", "items", 100),
        ("Seed 60 seats.", "items", 60),
        ("Write the api table in C, 60 slots.", "items", 60),
        ("Prepare minutes for six meetings.", "parts", 6),
        ("Make a diary for 14 days", "parts", 14),
        ("a breathing script, 10 rounds", "times", 10),
        ("Create a form with 14 empty rows", "lines", 14),
        ("Show me the orders by region. All 40 rows.", "lines", 40),
        ("generate 10,000 rows", "lines", 10_000),
        ("write two dozen lines", "lines", 24),
        ("Make a zero 384-dimensional vector", "cells", 384),
        ("give me a 40x40 grid of zeros", "cells", 1600),
        ("draw a 10 by 10 board", "cells", 100),
        ("print a 1024-character long string", "characters", 1024),
    ],
)
def test_a_wish(said: str, kind: str, count: int) -> None:
    assert [size[:2] for size in sizes(said)] == [(kind, count)]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Fix the failing test.\n[File: /repo/src/parser.py (2368 lines total)]",
        "Make the picture 1920x1080",
        "Run it 100 times",
        "Write a script that runs the test 100 times",
        "an essay of 1000 words",
        "Summarise it in 500 words",
        "Write about the last 30 days",
        "Explain what happens on line 120",
        "version 2.5 times out",
        "Write a song about a teenager in the 1980s britain",
        "I have 20 apples and 300 pears, and that is enough for all of us, I suppose",
        "The price is $120 a piece, make an offer",
        "show me page 50",
        "read lines 1-250 and tell me",
        "It has 99999999999999 rows; write it",
    ],
)
def test_no_wish(said: str) -> None:
    assert sizes(said) == ()


@given(st.text(alphabet="write 0123456789x, rows.times写次\n", max_size=400))
def test_any_text_is_read_and_bounded(said: str) -> None:
    found = sizes(said)
    assert len(found) <= SIZES
    assert all(2 <= size.many <= MOST for size in found)
