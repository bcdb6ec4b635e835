"""A recorded request's history through the first door, turn by turn: which habits would have spoken up, and when.

Every assistant turn was once a request; each prefix of the history is reviewed as that request was, or would have been.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from rules import RUN_LIMIT, Finding, facts, histories, review

from .judging import JudgingConfig
from .recordings import Recording


def turns(body: Mapping[str, Any]) -> tuple[str, str] | None:
    """(wire, member that holds the turns) of a request body, None where it has no history."""
    if isinstance(body.get("input"), list):
        return "openai_responses", "input"
    if not isinstance(body.get("messages"), list):
        return None
    blocks = (
        block.get("type")
        for message in body["messages"]
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for block in message["content"]
        if isinstance(block, dict)
    )
    anthropic = "system" in body or any(kind in ("tool_use", "tool_result", "thinking") for kind in blocks)
    return ("anthropic_messages" if anthropic else "openai_chat"), "messages"


def findings(recording: Recording, guard: JudgingConfig) -> Iterator[Finding]:
    """What the review says over the session, a rule once at each strength; nothing behind a refusal."""
    spoken = turns(recording.request)
    history = histories.get(spoken[0]) if spoken else None
    if spoken is None or history is None:
        return
    said = recording.request[spoken[1]]
    seen: set[tuple[str, int]] = set()
    # Each prefix holds the steps of the one before: their facts are worked out once.
    read = lru_cache(2 * RUN_LIMIT)(facts)
    ends = [n for n, turn in enumerate(said) if n and _asks(said[n - 1], turn)]
    for end in [*ends, len(said)]:
        run = history.run({**recording.request, spoken[1]: said[:end]})
        looked = review(
            run, guard.watchers, guard.ladder, guard.history, read=lambda steps: [read(step) for step in steps]
        )
        for finding in looked.findings:
            if (finding.rule, finding.action) not in seen:
                seen.add((finding.rule, finding.action))
                yield finding
        if looked.rung is not None and looked.reminder is None:
            return


def _asks(before: Any, turn: Any) -> bool:
    """Was a request sent between these two? It was where the model speaks after someone else."""
    return _models(turn) and not _models(before)


def _models(turn: Any) -> bool:
    if not isinstance(turn, dict):
        return False
    return turn.get("role") == "assistant" or turn.get("type") in ("reasoning", "function_call", "custom_tool_call")
