"""One mark tells our words from everybody else's (the rest is tested where notices are written and taken out)."""

from __future__ import annotations

import pytest

from rules.notices import has_notice, marked, strip_notices


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
