"""The ring of the newest exchanges."""

from __future__ import annotations

import json

from proxy.observers.recent import RecentObserver
from proxy.observers.reports import RequestInfo

from . import EXCHANGE, PROMPT, SECRET, ended


def ring(size: int, count: int) -> RecentObserver:
    clock = iter(range(1000))
    recent = RecentObserver(size, lambda: float(next(clock)))
    for at in range(count):
        recent.hear(ended(call=RequestInfo(f"r{at}", "openai", "openai_chat")))
    return recent


def test_newest_first_and_bounded():
    assert [row["request_id"] for row in ring(3, 10).newest()] == ["r9", "r8", "r7"]
    assert [row["request_id"] for row in ring(3, 10).newest(1)] == ["r9"]
    assert ring(0, 10).newest() == []


def test_rows_are_json_of_numbers_and_names():
    recent = RecentObserver(9, lambda: 0.0)
    for report in EXCHANGE:
        recent.hear(report)
    (row,) = json.loads(json.dumps(recent.newest()))
    assert row["outcome"] == "cut" and row["findings"][0]["period"] == 20
    assert SECRET not in str(row) and PROMPT not in str(row)
