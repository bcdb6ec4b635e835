"""Input and expected output of the seed systems' behaviours, recovered from their sources, one JSON line each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def vectors(name: str, area: str) -> list[Any]:
    """The rows of `NAME.jsonl` whose id begins with `area/`, each with id, in and out."""
    lines = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if row["id"].startswith(area + "/")]
