"""The words for an agent that goes in circles. They are fixed, so that the same history gives the same request.

A reminder begins with the sentence of its step detector (`DetectorKind.words`), which says what repeats. The rung of
the ladder says what to do about it. English and Chinese.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from ..values.notices import marked
from ..values.verdict import Finding
from .step_detector import Words
from .step_detectors import STEP_DETECTORS

Language = Literal["en", "zh"]


class Rung(StrEnum):
    """The steps of the ladder."""

    REMIND = "remind"
    REPLAN = "replan"
    REFUSE = "refuse"


TODO: dict[str, dict[Rung, str]] = {
    "en": {
        Rung.REMIND: "Do not do it again: use what you already have, try other arguments or another tool, "
        "or say what blocks you.",
        Rung.REPLAN: "This approach does not work: drop it. Write a short new plan that says what failed and what you "
        "will do differently, and follow it; if nothing is left to try, ask the user.",
    },
    "zh": {
        Rung.REMIND: "不要再重复：请利用已有的信息，换用其他参数或其他工具，或者说明是什么阻碍了你。",
        Rung.REPLAN: "这个方法行不通，请放弃它。写一个简短的新计划，说明什么失败了、接下来会有什么不同，"
        "并照此执行；如果已无计可施，请询问用户。",
    },
}
_OTHER = Words(en="You are repeating yourself ({n} times).", zh="你在重复自己（{n} 次）。")
_WORDS = {kind.name: kind.words for kind in STEP_DETECTORS}


def what(finding: Finding, language: Language = "en") -> str:
    """One sentence: what the agent repeats, and how many times."""
    words = _WORDS.get(finding.rule, _OTHER)
    return (words.zh if language == "zh" else words.en).format(n=finding.hit.span)


def reminder(finding: Finding, rung: Rung, language: Language = "en") -> str:
    """The reminder to add to the request, with our mark."""
    return marked(f"{what(finding, language)} {TODO[language][rung]}".strip())


def refusal(finding: Finding, language: Language = "en") -> str:
    """The error message for a request that is not sent upstream: why, and how to go on. It is English, because people
    and agents read errors; only the sentence about the model's steps is in the language of the reminders."""
    said = what(finding, language)
    return (
        f"streamfuse stopped this run: the agent goes round in circles (rule {finding.rule}). {said} "
        "Nothing was sent upstream this time. Send a new user message to go on, or set x-streamfuse-mode: off for a "
        "request that is meant to repeat."
    )


CORRECTION: dict[str, str] = {
    "en": "Your last answer began to repeat itself and was stopped there. Do not repeat it: go on with the task.",
    "zh": "你上一次的回答开始重复，已被中断。请不要再重复，继续完成任务。",
}
"""Told once, in the request right after an answer that was cut for good."""


def correction(language: Language) -> str:
    """The words for a model whose last answer was cut as a loop."""
    return marked(CORRECTION[language])
