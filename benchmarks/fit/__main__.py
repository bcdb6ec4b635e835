"""`make fit LOOPBENCH=folder`: fit the score anew and write it, with its sources and its curve, into the packs.

    python -m benchmarks.fit LOOPBENCH [--more NAME=FILE.jsonl.gz …] [--out rules/detect/packs/odds.json]
    python -m benchmarks.fit LOOPBENCH --check rules/detect/packs/odds.json
    python -m benchmarks.fit --picture docs/detection.svg

Every text is read by the engine's own monitor; wherever it judges, its measures become a row. A row is positive where a
hand label says that the text loops from there to its end, and negative in healthy, legitimate and file texts, before a
loop's onset, and where a text left its repetition by itself. All figures come from fits that had not seen the text's
model family (six folds), and for files also from a fit without any file. `--more` adds a collection without labels (one
JSON object a line: id, model, text): it is fitted as healthy, which made the score worse with the collections tried,
so the packs were fitted without.

The same texts and the same code give the same bytes; `--check` fits and fails where a file has others.

numpy and scikit-learn (`pip install streamfuse[fit]`) are needed here only.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rules.detect.odds import read

from .figures import UNKNOWN, curve, figures
from .model import fitted, left_out, left_out_collections, plain, spared
from .picture import picture
from .rows import Data, gathered

LINES = [round(0.2 * step, 2) for step in range(26, 4, -1)]
"""Scores at which the curve is told: 5.2 down to 1."""
POINTS = {
    "calm": ("calm", 0.0),
    "default": ("default", 0.066),
    "early": ("default", 0.15),
}
"""The named points: the pack whose gates are used, and the price of a false cut."""


def sources(data: Data) -> dict[str, dict[str, int]]:
    """What each collection consists of."""
    told = {}
    for source in dict.fromkeys(text.source for text in data.texts):
        mine = [text for text in data.texts if text.source == source]
        told[source] = {
            "texts": len(mine),
            "characters": sum(text.size for text in mine),
            "families": len({text.family for text in mine}),
            "loops": sum(text.label == "loop" for text in mine),
            "left aside": sum(text.label in UNKNOWN for text in mine),
        }
    return told


def main() -> None:
    """Fit, tell the figures, write the data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loopbench", type=Path, nargs="?")
    parser.add_argument("--more", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--cache", type=Path, default=Path(".cache/fit"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--check", type=Path, help="write nothing, fail where this file has other bytes")
    parser.add_argument("--picture", type=Path, help="draw the curve of the score that is in the packs")
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--depth", type=int, default=2)
    given = parser.parse_args()
    if given.loopbench is not None:
        files = [
            (given.loopbench / "outputs.dev.jsonl.gz", "loopbench"),
            (given.loopbench / "files.dev.jsonl.gz", "files"),
        ]
        files += [(Path(file), name) for name, _, file in (one.partition("=") for one in given.more)]
        with threadpool_limits(limits=1):  # one order of all sums; threads only cost time on so few rows
            told = fit(gathered(files, given.cache), given.trees, given.depth)
        if given.out is not None:
            given.out.write_text(told, encoding="utf-8")
        if given.check is not None and given.check.read_text(encoding="utf-8") != told:
            raise SystemExit(f"{given.check} is not what these texts and this code give")
    if given.picture is not None:
        given.picture.write_text(picture(), encoding="utf-8")


def fit(data: Data, trees: int, depth: int) -> str:
    """Print all figures; return what odds.json should say."""
    family = left_out(data, trees, depth)
    collection = left_out_collections(data, family, trees, depth)
    steps = curve(data, spared(data, family), LINES)
    odds = read({"trees": [], "base": 0.0, "curve": steps})
    points: dict[str, Any] = {}
    for name, (gates, risk) in POINTS.items():
        step = odds.step(risk)
        line = np.inf if step is None else step.score
        points[name] = {"gates": gates, "risk": risk, "score": None if line == np.inf else line}
        few = name == "early"
        points[name]["left_out_families"] = figures(data, spared(data, family, few), line, gates)
        points[name]["left_out_collections"] = figures(data, spared(data, collection, few), line, gates)
    beside = {
        gates or "score alone": [{"score": line, **figures(data, spared(data, family), line, gates)} for line in LINES]
        for gates in ("default", "")
    }
    made, base = plain(fitted(data, np.ones(len(data.y), bool), trees, depth))
    told = {"sources": sources(data), "points": points, "curve": steps, "beside": beside, "base": base, "trees": made}
    print(json.dumps({name: told[name] for name in ("sources", "points", "curve")}, indent=1))
    return _lines(told)


def _lines(told: dict[str, Any]) -> str:
    """JSON that people can read and compare: an entry a line."""
    parts = []
    for name, value in told.items():
        if isinstance(value, list):
            inside = ",\n".join(f"  {json.dumps(one)}" for one in value)
            parts.append(f" {json.dumps(name)}: [\n{inside}\n ]")
        elif isinstance(value, dict):
            inside = ",\n".join(f"  {json.dumps(key)}: {json.dumps(one)}" for key, one in value.items())
            parts.append(f" {json.dumps(name)}: {{\n{inside}\n }}")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
