"""Recorded answers through the rules, offline: what would have fired, where, and what it would have saved.

Nothing is asked, nothing is sent. A recording is judged by the same Stream and Watch that a live answer meets.
"""

from .command import calibrate, replay, show_rules
from .guard import Guard
from .judge import Found, Report, Seen, judge, run
from .recordings import Recording, Unreadable, recordings
from .table import as_json, as_table

__all__ = [
    "Found",
    "Guard",
    "Recording",
    "Report",
    "Seen",
    "Unreadable",
    "as_json",
    "as_table",
    "calibrate",
    "judge",
    "recordings",
    "replay",
    "run",
    "show_rules",
]
