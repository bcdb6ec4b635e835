"""One assistant step of a conversation, on any wire, and its kind.

Steps exist only while a request is reviewed; only digests and counts are kept afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from . import record


class StepKind(StrEnum):
    """What a finished step was (MiMo-Code's classes, and `truncated` for finish length)."""

    CONTINUE = "continue"
    FINAL = "final"
    DEGRADED = "degraded"
    FILTERED = "filtered"
    FAILED = "failed"
    TEXT_TOOL_CALL = "text_tool_call"
    THINK_ONLY = "think_only"
    INVALID = "invalid"
    TRUNCATED = "truncated"


@record(frozen=True, slots=True)
class ToolCall:
    """One call, and its result where the history has it. Arguments and results are text as sent."""

    id: str
    name: str
    arguments: str
    result: str | None = None
    failed: bool | None = None
    """The wire's own word on failure (is_error); None where it has none."""


@record(frozen=True, slots=True)
class Step:
    """One assistant turn of the history, with the results of its calls. `at`: positions of all its messages or
    items."""

    at: tuple[int, ...] = ()
    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
    nudge: str | None = None
    """The user text right before this step, where there was one."""
    cut: bool = False
    """It holds our notice: the answer was cut by us, so it is not judged as the model's own."""


FINISH_WORDS = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "completed", "pause_turn", "STOP"), "stop"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call", "tool-calls"), "tool-calls"),
    **dict.fromkeys(
        ("content_filter", "content-filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST"), "content-filter"
    ),
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "MAX_TOKENS"), "length"
    ),
    **dict.fromkeys(("error", "failed", "abort", "insufficient_system_resource"), "error"),
}
"""The wires' own finish reasons in MiMo-Code's words; anything else is `other`."""

_TOOL_MARKUP = re.compile(r"<invoke name=|<parameter name=|</invoke>|<function_calls>")
_GPT = re.compile(r"(?:^|/)gpt-\d", re.IGNORECASE)


def finish_word(reason: str | None) -> str | None:
    """A wire's finish reason in MiMo-Code's words; None stays None."""
    return None if reason is None else FINISH_WORDS.get(reason, "other")


def classify(
    *,
    finish: str | None,
    text: str = "",
    reasoning: str = "",
    client_calls: int = 0,
    any_calls: int = 0,
    error: str | None = None,
    structured: bool = False,
    stale: bool = False,
    model: str = "",
) -> StepKind:
    """MiMo-Code's table, first matching row wins. `finish` in its words (`finish_word`).

    `client_calls`: calls the client runs that are not in error; `any_calls`: tool parts of any kind; `structured`:
    structured output or a summary is present; `stale`: the reply is older than the question. Finish `length` without
    a call, error or structured output is TRUNCATED: MiMo-Code's loop handles it before it asks the table.
    """
    if client_calls:
        return StepKind.CONTINUE
    if finish is None:
        return StepKind.CONTINUE
    if finish == "tool-calls":
        written = error is None and not stale and any_calls == 0 and _TOOL_MARKUP.search(text)
        return StepKind.TEXT_TOOL_CALL if written else StepKind.CONTINUE
    if stale:
        return StepKind.CONTINUE
    if error is not None:
        return StepKind.FAILED
    if structured:
        return StepKind.FINAL
    if finish == "content-filter":
        return StepKind.FILTERED
    if finish == "error":
        return StepKind.FAILED
    if finish == "length":
        return StepKind.TRUNCATED
    good = StepKind.DEGRADED if finish == "other" else StepKind.FINAL
    if text.strip():
        return good
    if reasoning.strip():
        return good if _GPT.search(model) else StepKind.THINK_ONLY
    return StepKind.INVALID


@dataclass(frozen=True, slots=True)
class Run:
    """The steps since the last real user message, oldest first, at most the newest 64."""

    steps: tuple[Step, ...] = ()
    earlier: tuple[Step, ...] = ()
    """Steps before that message: only for step detectors that look at a whole session."""
    asked: str | None = None
    """The text of that user message."""
    nudged: bool = False
    """The run holds user messages that the agent itself seems to send: the same message follows the results of every
    step."""


RUN_LIMIT = 64
"""A review reads at most this many of the newest steps, so that its cost does not grow with the history."""
