"""One mark tells our words from everybody else's (the rest is tested where notices are written and taken out)."""

from __future__ import annotations

from rules.notices import marked, strip_notices


def test_several_notices_come_out_and_the_rest_stays() -> None:
    text = f"One.\n\n{marked('a')}\n\nTwo.\n\n{marked('b')}"
    assert strip_notices(text) == "One.\n\nTwo."


def test_a_notice_in_front_leaves_what_follows() -> None:
    assert strip_notices(f"{marked('a')}\n\nTwo.") == "\n\nTwo."
