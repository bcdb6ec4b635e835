"""A recorded request's history through the first door, turn by turn: which habits would have spoken up, and when.

Every assistant turn was once a request; each prefix of the history is reviewed as that request was, or would have been.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from rules import RUN_LIMIT, Finding, facts, histories, review

from .judging import JudgingConfig
from .recordings import Recording


def findings(recording: Recording, guard: JudgingConfig) -> Iterator[Finding]:
    """What the review says over the session, a rule once at each strength; nothing behind a refusal."""
    wire = histories.of_body(recording.request)
    history = histories.get(wire) if wire else None
    if history is None:
        return
    said = history.items(recording.request)
    seen: set[tuple[str, int]] = set()
    # Each prefix holds the steps of the one before: their facts are worked out once.
    read = lru_cache(2 * RUN_LIMIT)(facts)
    ends = [n for n, turn in enumerate(said) if n and _asks(history, said[n - 1], turn)]
    for end in [*ends, len(said)]:
        run = history.run({**recording.request, history.member: said[:end]})
        looked = review(
            run, guard.watchers, guard.ladder, guard.history, read=lambda steps: [read(step) for step in steps]
        )
        for finding in looked.findings:
            if (finding.rule, finding.action) not in seen:
                seen.add((finding.rule, finding.action))
                yield finding
        if looked.rung is not None and looked.reminder is None:
            return


def _asks(history: histories.History, before: Any, turn: Any) -> bool:
    """Was a request sent between these two? It was where the model speaks after someone else."""
    return history.is_step(turn) and not history.is_step(before)
