"""Every step detector has words in every language: marked, deterministic, without words that make models give up."""

from __future__ import annotations

import pytest

from rules.before.reminders import Language, Rung, refusal, reminder, what
from rules.before.step_detectors import STEP_DETECTORS
from rules.values.delta import Channel
from rules.values.notices import MARK, has_notice, marked, strip_notices
from rules.values.verdict import Action, Finding, Hit, Mode


def finding(rule: str) -> Finding:
    return Finding(rule, Action.ADVISE, Mode.ON, Channel.STEPS, 0, Hit(5, 2, 3, 1, 3))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("rule", [kind.name for kind in STEP_DETECTORS])
def test_words_for_every_habit(rule: str, language: Language) -> None:
    assert what(finding(rule), language) != what(finding("theirs"), language)
    for rung in (Rung.REMIND, Rung.REPLAN):
        text = reminder(finding(rule), rung, language)
        assert text.startswith(MARK) and "3" in text and "\n\n" not in text
        assert not any(word in text.lower() for word in ("conclude", "conclusion", "final answer", "总结"))
        assert strip_notices(f"Result.\n\n{text}") == "Result."


def test_a_strangers_habit_still_says_something() -> None:
    assert "3" in reminder(finding("theirs"), Rung.REMIND)


def test_a_refusal_names_the_rule_and_the_way_on() -> None:
    text = refusal(finding("call_cycle"))
    assert "call_cycle" in text and "new user message" in text and what(finding("call_cycle")) in text
    assert what(finding("call_cycle"), "zh") in refusal(finding("call_cycle"), "zh")
    assert "reminder" not in text, "a ladder may refuse at once, and a fuse may be put in while a run goes round"


def test_marked_text_is_one_paragraph() -> None:
    assert marked("a\n\nb") == f"{MARK} a\nb" and has_notice(marked("x")) and not has_notice("x")
