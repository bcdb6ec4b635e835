"""The words for an agent that goes in circles. They are fixed, so that the same history gives the same request.

Each step detector has one sentence that says what repeats; the rung says what to do about it. English and Chinese.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from ..values.notices import marked
from ..values.verdict import Finding

Language = Literal["en", "zh"]


class Rung(StrEnum):
    """The steps of the ladder."""

    REMIND = "remind"
    REPLAN = "replan"
    REFUSE = "refuse"


WHAT: dict[str, dict[str, str]] = {
    "en": {
        "repeated_action": "You made the same tool call with the same arguments {n} times; the result did not change.",
        "doom_loop": "Your last answer held the same tool call {n} times.",
        "call_cycle": "You are going round in a cycle of tool calls ({n} calls); their results did not change.",
        "no_news": "Your last {n} tool calls all repeat earlier ones with unchanged results.",
        "same_reading": "You read the same file {n} times in other pieces; no line was new.",
        "same_error": "The last {n} calls of the same tool failed in the same words, whatever the arguments.",
        "text_loop": "You wrote the same text {n} times in a row.",
        "text_return": "You wrote the same text {n} times within the last few steps.",
        "narration": "For {n} steps you wrote the same sentence, and your calls brought nothing new but numbers.",
        "same_answer": "You gave the same answer {n} times to the same message.",
        "stalled": "Your last {n} steps only thought the same things over again.",
    },
    "zh": {
        "repeated_action": "你已连续 {n} 次用相同参数调用同一个工具，结果没有变化。",
        "doom_loop": "你在上一次回答中把同一个工具调用了 {n} 次。",
        "call_cycle": "你在反复执行同一组工具调用（{n} 次），结果没有变化。",
        "no_news": "你最近的 {n} 次工具调用都与之前的相同，结果也没有变化。",
        "same_reading": "你用不同的范围把同一个文件读了 {n} 次，没有任何新内容。",
        "same_error": "同一个工具最近 {n} 次调用都以相同的方式失败，与参数无关。",
        "text_loop": "你已连续 {n} 次写出相同的内容。",
        "text_return": "你在最近几步中 {n} 次写出相同的内容。",
        "narration": "你连续 {n} 步写了同一句话，你的调用除了数字没有带来任何新内容。",
        "same_answer": "你对同一条消息给出了 {n} 次相同的回答。",
        "stalled": "你最近 {n} 步只是在重复同样的思考。",
    },
}
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
_OTHER = {"en": "You are repeating yourself ({n} times).", "zh": "你在重复自己（{n} 次）。"}


def reminder(finding: Finding, rung: Rung, language: Language = "en") -> str:
    """The reminder to add to the request, with our mark."""
    what = WHAT[language].get(finding.rule, _OTHER[language]).format(n=finding.hit.span)
    return marked(f"{what} {TODO[language][rung]}".strip())


def refusal(finding: Finding, language: Language = "en") -> str:
    """What the client is told when the request is not sent upstream: why, and how to go on. In English, for the people
    and agents that read errors; what the model did, in the language it is reminded in."""
    what = WHAT[language].get(finding.rule, _OTHER[language]).format(n=finding.hit.span)
    return (
        f"streamfuse stopped this run: the agent goes round in circles (rule {finding.rule}). {what} "
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
