"""One file for each way in which an agent goes in circles from step to step. The table below lists them all."""

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

STEP_DETECTORS: tuple[DetectorKind, ...] = (
    repeated_action.DETECTOR,
    doom_loop.DETECTOR,
    call_cycle.DETECTOR,
    no_news.DETECTOR,
    same_reading.DETECTOR,
    same_error.DETECTOR,
    text_loop.DETECTOR,
    text_return.DETECTOR,
    narration.DETECTOR,
    same_answer.DETECTOR,
    stalled.DETECTOR,
)
"""In the order in which the findings of one request are reported. Among equal findings the first is acted on."""


def get(name: str) -> DetectorKind:
    """Return the step detector of that name.

    Raises:
        KeyError: there is none; the message lists those that exist.
    """
    for kind in STEP_DETECTORS:
        if kind.name == name:
            return kind
    raise KeyError(f"no step detector {name!r}; there are: {', '.join(kind.name for kind in STEP_DETECTORS)}")


__all__ = ["STEP_DETECTORS", "DetectorKind", "DetectorParams", "StepDetector", "get"]
