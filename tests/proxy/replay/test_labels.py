"""Labelled recordings are summed up as a bench would."""

from __future__ import annotations

import json
from pathlib import Path

from proxy.replay import JudgingConfig, as_json, run
from proxy.replay.labels import tally
from rules.detect import packs

from .answers import CALM, LOOP

GUARD = JudgingConfig(packs.assemble(["seeds"]))


def test_loops_healthy_texts_and_false_cuts(tmp_path: Path) -> None:
    start = len(CALM + LOOP)
    rows = [
        {"id": "l1", "label": "loop", "onset": start, "text": CALM + LOOP * 30, "instruction": "go"},
        {"id": "l2", "label": "loop", "onset": 700, "text": LOOP * 20},
        {"id": "l5", "label": "loop", "onset": 300, "period": len(LOOP), "text": LOOP * 20},
        {"id": "l3", "label": "loop", "onset": 10, "text": CALM},
        {"id": "l4", "label": "loop", "onset": 10, "ended": True, "text": CALM},
        {"id": "h1", "label": "healthy", "text": CALM},
        {"id": "h2", "label": "healthy", "text": LOOP * 9},
        {"text": CALM},
    ]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = run([tmp_path], GUARD)
    told = tally(report.seen)
    assert list(told) == ["loop", "healthy", "loop (ended)"]
    loop, healthy = told["loop"], told["healthy"]
    assert (loop.recordings, loop.acted, loop.early) == (4, 3, 1), "a copy before the onset is near enough"
    at = next(s for s in report.seen if s.name.endswith("l1")).acting
    assert at is not None
    assert loop.delays == [at.finding.hit.at - start, 0]
    assert (loop.delay(0.0), loop.delay(0.9)) == (0, at.finding.hit.at - start)
    l3, l1 = len(CALM) - 10, at.finding.hit.at - start
    assert loop.delivered == l1 + l3, "cuts before the onset let nothing through"
    assert (healthy.recordings, healthy.fired, healthy.passed, healthy.delay(0.5)) == (2, 1, None, None)
    assert as_json(report)["labels"]["loop"]["acted"] == 3
