"""One file a way an agent goes in circles from step to step. The table names them all."""

from __future__ import annotations

from ..step_detector import DetectorKind, DetectorParams, StepDetector
from . import (
    call_cycle,
    doom_loop,
    narration,
    no_news,
    repeated_action,
    same_answer,
    same_error,
    same_reading,
    stalled,
    text_loop,
    text_return,
)

HABITS: tuple[DetectorKind, ...] = (
    repeated_action.HABIT,
    doom_loop.HABIT,
    call_cycle.HABIT,
    no_news.HABIT,
    same_reading.HABIT,
    same_error.HABIT,
    text_loop.HABIT,
    text_return.HABIT,
    narration.HABIT,
    same_answer.HABIT,
    stalled.HABIT,
)
"""In the order in which findings of one request are told; among equals the first is acted on."""


def get(name: str) -> DetectorKind:
    """The habit of that name.

    Raises:
        KeyError: there is none; the message lists those there are.
    """
    for kind in HABITS:
        if kind.name == name:
            return kind
    raise KeyError(f"no habit {name!r}; there are: {', '.join(kind.name for kind in HABITS)}")


__all__ = ["HABITS", "DetectorKind", "DetectorParams", "StepDetector", "get"]
