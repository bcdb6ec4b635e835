"""Recorded answers through the rules, offline: what would have fired, where, and what it would have saved.

Nothing is asked, nothing is sent. A recording is judged by the same Stream and Watch that a live answer meets.
"""

from .judge import JudgedRecording, RecordedFinding, ReplayReport, judge, run
from .judging import JudgingConfig
from .recordings import Recording, Unreadable, recordings
from .report.table import as_json, as_table

__all__ = [
    "JudgedRecording",
    "JudgingConfig",
    "RecordedFinding",
    "Recording",
    "ReplayReport",
    "Unreadable",
    "as_json",
    "as_table",
    "judge",
    "recordings",
    "run",
]
