"""How much of one text occurs again in another: shared windows of four characters, as in dsh-loop-guard."""

from __future__ import annotations

WINDOW = 4
"""Characters a window (dsh-loop-guard)."""
_PROBES = 64


def windows(text: str) -> set[str]:
    """All distinct windows of the text; a text shorter than a window is its own only window."""
    if len(text) < WINDOW:
        return {text} if text else set()
    return {text[i : i + WINDOW] for i in range(len(text) - WINDOW + 1)}


def containment(a: str, b: str) -> float:
    """Shared distinct windows divided by the smaller set: 0..1, 0 where either is empty."""
    left, right = windows(a), windows(b)
    if not left or not right:
        return 0.0
    return len(left & right) / min(len(left), len(right))


def restates(newer: str, older: str, threshold: float) -> bool:
    """Is containment ≥ threshold? A probe of 64 windows first, since the full sets cost milliseconds on long thinking.

    The probe can only say no, and only far below the threshold: windows of the smaller text are looked up in the
    larger, and a share under two thirds of the threshold is taken as progress.
    """
    small, large = (newer, older) if len(newer) <= len(older) else (older, newer)
    if len(small) > 4 * _PROBES:
        stride = (len(small) - WINDOW) // _PROBES
        found = sum(small[i * stride : i * stride + WINDOW] in large for i in range(_PROBES))
        if found < _PROBES * threshold * 2 / 3:
            return False
    return containment(newer, older) >= threshold
