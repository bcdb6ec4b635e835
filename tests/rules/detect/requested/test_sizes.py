"""Which numbers of a request are wishes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.detect.requested.sizes import MOST, SIZES, sizes


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
    ("said", "kind", "count"),
    [
        ("लिखो 'मैं अच्छा हूँ' 50 बार", "times", 50),
        ("इसे ५० बार लिखें", "times", 50),
        ("इसे पचास बार दोहराओ", "times", 50),
        ("请把这句话写五十次", "times", 50),
        ("把它重复一百二十遍", "times", 120),
        ("列出一百个名字", "items", 100),
        ("写两百行", "items", 200),
        ("「ありがとう」を五十回書いて", "times", 50),
        ("５０回繰り返して", "times", 50),
        ("百個の名前を挙げて", "items", 100),
        ("50번 반복해", "times", 50),
        ("오십 번 써 줘", "times", 50),
        ("쉰 번 말해 줘", "times", 50),
        ("이름 백 개를 나열해", "items", 100),
        ("اكتب الجملة خمسين مرة", "times", 50),
        ("اكتبها ٥٠ مرة", "times", 50),
        ("напиши это пятьдесят раз", "times", 50),
        ("Напиши 50 раз «я буду хорошим»", "times", 50),
        ("napiš to 50krát", "times", 50),
        ("napiš to padesátkrát", "times", 50),
        ("write hello x50", "times", 50),
        ("write hello ×50", "times", 50),
        ("write hello 50x", "times", 50),
        ("write it 50 x please", "times", 50),
        ("repeat fifty times", "times", 50),
        ("repeat it fifty-two times", "times", 52),
        ("list a dozen names", "parts", 12),
        ("give me half a dozen tips", "parts", 6),
        ("write half a hundred lines", "lines", 50),
        ("repeat it a hundred and fifty times", "times", 150),
        ("write it two hundred and fifty times", "times", 250),
        ("Schreibe das fünfzig Mal", "times", 50),
        ("écris-le cinquante fois", "times", 50),
        ("escríbelo... escribe cincuenta veces hola", "times", 50),
        ("escreva cinquenta vezes", "times", 50),
        ("scrivi cinquanta volte", "times", 50),
        ("schrijf het vijftig keer", "times", 50),
        ("napisz to pięćdziesiąt razy", "times", 50),
        ("bunu elli kez yaz", "times", 50),
        ("viết câu này 50 lần", "times", 50),
        ("tulis ini 50 kali", "times", 50),
        ("เขียนว่าสวัสดี 50 ครั้ง", "times", 50),
        ("γράψε το 50 φορές", "times", 50),
        ("כתוב את זה 50 פעמים", "times", 50),
        ("напиши це 50 разів", "times", 50),
        ("scrie asta de 50 de ori", "times", 50),
        ("írd le ötvenszer", "times", 50),
        ("írd le 50-szer", "times", 50),
        ("kirjoita se 50 kertaa", "times", 50),
        ("skriv det femtio gånger", "times", 50),
        ("این را ۵۰ بار بنویس", "times", 50),
        ("এটা ৫০ বার লেখো", "times", 50),
        ("schreibe 1.000 Zeilen", "lines", 1000),
        ("write 1,000 lines", "lines", 1000),
        ("list the top-50 cities", "items", 50),
    ],
)
def test_a_wish_in_the_numerals_that_people_write(said: str, kind: str, count: int) -> None:
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
        "say r400 please",
        "write something with x86_64 and utf-8 text",
        "show me model RTX-4090 specs",
        "make a 1080p video",
        "list h264 codecs",
        "write x86 assembly",
        "make it 10x faster",
        "write a GPT-4 prompt",
        "make a x64 build and an arm one",
        "write SHA-256 hashes code",
        "写一个程序，运行100次",
        "一次写完",
        "第五次写",
        "열 번째 줄을 써",
        "Answer with code r400 first then text",
        "write about sector B12 zones",
    ],
)
def test_no_wish(said: str) -> None:
    assert sizes(said) == ()


@given(st.text(alphabet="write 0123456789x, rows.times写次五十百번쉰बार५r-_\n", max_size=400))
def test_any_text_is_read_and_bounded(said: str) -> None:
    found = sizes(said)
    assert len(found) <= SIZES
    assert all(2 <= size.many <= MOST for size in found)
