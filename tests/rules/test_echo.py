"""Text that a continuing upstream says again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.echo import Echo

SHOWN = "Once upon a time there was"


def new(shown: str, *texts: str) -> str:
    echo = Echo(shown)
    return "".join(echo.feed(text) for text in texts) + echo.rest()


@pytest.mark.parametrize(
    ("texts", "left"),
    [
        ((SHOWN + " a fuse",), " a fuse"),
        ((SHOWN, " a fuse"), " a fuse"),
        (("Once", " upon a time", " there was a ", "fuse"), " a fuse"),
        ((" a fuse",), " a fuse"),
        (("Once more",), "Once more"),
        (("Once", " more"), "Once more"),
        (("Once",), "Once"),
        ((), ""),
    ],
)
def test_only_what_is_new_comes_out(texts: tuple[str, ...], left: str) -> None:
    assert new(SHOWN, *texts) == left


def test_a_short_beginning_is_no_echo() -> None:
    assert new("ha ", "ha ", "ha") == "ha ha"


def test_nothing_waits_once_it_is_decided() -> None:
    echo = Echo(SHOWN)
    assert echo.waiting and echo.feed("Once") == "" and echo.waiting
    assert echo.feed("!") == "Once!" and not echo.waiting
    assert echo.feed(SHOWN) == SHOWN


@given(st.text(max_size=30), st.lists(st.text(max_size=6), max_size=10), st.booleans())
def test_no_character_is_lost_and_cutting_does_not_matter(shown: str, texts: list[str], echoes: bool) -> None:
    whole = (shown if echoes else "") + "".join(texts)
    expected = whole[len(shown) :] if len(shown) >= 8 and whole.startswith(shown) else whole
    assert new(shown, *whole) == new(shown, whole) == expected
