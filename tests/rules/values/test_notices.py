"""One mark tells our words from everybody else's (the rest is tested where notices are written and taken out)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.values.notices import MARK, MOST, has_notice, marked, strip_notices


def test_notices_at_the_end_come_out() -> None:
    text = f"One.\n\n{marked('a')}\n\n{marked('b')}\n"
    assert strip_notices(text) == "One." and has_notice(text)
    assert strip_notices(marked("a")) == ""


@pytest.mark.parametrize(
    "text",
    [
        "The docs say that [streamfuse] marks notices.\n\nMore.",
        "The last word is [streamfuse]",
        "[streamfuse] is a name.\n\nIt begins this answer.",
        "",
    ],
)
def test_a_quoted_mark_stays(text: str) -> None:
    assert strip_notices(text) is text and not has_notice(text)


@pytest.mark.parametrize("blank", ["", " ", "\n", " \t\n", "\n" * 200, " " * 1000])
def test_white_space_of_any_length_before_a_notice(blank: str) -> None:
    assert strip_notices(f"One.{blank}\n\n{blank}{marked('a')}{blank}\n") == "One."
    assert strip_notices(f"{blank}\n{marked('a')}\n\n{marked('b')}{blank}") == ""


def test_no_more_notices_are_taken_off_than_an_answer_can_have() -> None:
    many = "One." + f"\n\n{marked('a')}" * (MOST + 50)
    assert strip_notices(many) == "One." + f"\n\n{marked('a')}" * 50


def slow(text: str) -> str:
    """The same, told more simply, in quadratic time."""
    while (start := text.rfind(MARK)) >= 0:
        if text[:start].rstrip(" \t")[-1:] not in ("", "\n") or "\n\n" in text[start:].rstrip():
            break
        text = text[:start].rstrip()
    return text


@given(
    st.lists(st.sampled_from([MARK, "\n", "\n\n", " ", "\t", "a", "\u00a0", f"\n\n{MARK} "]), max_size=40).map("".join)
)
def test_it_finds_what_the_simple_way_finds(text: str) -> None:
    assert strip_notices(text) == slow(text)
    assert has_notice(text) is (slow(text) is not text)
