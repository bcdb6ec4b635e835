"""One assistant step of a conversation, whatever wire it came by. Keys are digests: no text leaves the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StepKind(StrEnum):
    """What a finished step was (the seed's classification, seeds §1.3)."""

    CONTINUE = "continue"
    FINAL = "final"
    DEGRADED = "degraded"
    FILTERED = "filtered"
    FAILED = "failed"
    TEXT_TOOL_CALL = "text_tool_call"
    THINK_ONLY = "think_only"
    INVALID = "invalid"
    TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call and, where the history holds it, its result. Arguments and results are text as sent."""

    id: str
    name: str
    arguments: str
    result: str | None = None
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One assistant turn of the history. `at` is its position in the request's list of messages or items."""

    at: int
    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
