"""The monitor that measures whether a text still says something new: words, what is measured, its numbers, its bars."""

from __future__ import annotations

from .monitor import MONITOR, Novelty

__all__ = ["MONITOR", "Novelty"]
