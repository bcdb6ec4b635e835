"""What a score catches and costs: alone and beside the gates of a pack, always by fits that had not seen the family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .rows import GATES, Data

UNKNOWN = ("unsure", "dead")
SPANS = (256, 512, 1024, 2048)
"""Characters of nothing new by which the curve is told apart."""


def labels(data: Data) -> np.ndarray:
    """Each text's label."""
    return np.array([text.label for text in data.texts])


def _hits(data: Data, score: np.ndarray, line: float) -> np.ndarray:
    """Where the score first reaches a line in each text; infinity where it does not."""
    first = np.full(len(data.texts), np.inf)
    hits = score >= line
    np.minimum.at(first, data.of[hits], data.place[hits])
    return first


def figures(data: Data, score: np.ndarray, line: float, gates: str = "") -> dict[str, Any]:
    """A score from `line` on, beside the gates of a pack where one is named; `line` may be infinite."""
    first = _hits(data, score, line)
    if gates:
        first = np.minimum(first, data.gates[:, GATES.index(gates)])
    label = labels(data)
    onset = np.array([text.onset for text in data.texts])
    kind = np.array([text.kind for text in data.texts])
    size = np.array([text.size for text in data.texts])
    loop = label == "loop"
    period = np.array([text.period for text in data.texts])
    early = loop & (first < onset - np.maximum(8, period))
    caught = loop & np.isfinite(first) & ~early
    delay = np.maximum(0.0, first[caught] - onset[caught])
    after = (size - onset)[loop].sum()
    shown = (np.where(caught, np.maximum(first, onset), size)[loop] - onset[loop]).sum()
    false = {str(one): int(np.isfinite(first[label == one]).sum()) for one in np.unique(label) if one != "loop"}
    ended = false.pop("ended", 0)
    return {
        "caught": round(float(caught.sum() / max(1, loop.sum())), 4),
        "kinds": {
            str(one): f"{int(caught[kind == one].sum())}/{int((loop & (kind == one)).sum())}"
            for one in np.unique(kind[loop])
        },
        "delay": [int(np.quantile(delay, q)) for q in (0.5, 0.9)] if len(delay) else None,
        "looping_characters": round(float(shown / max(1.0, after)), 4),
        "false": {**{name: n for name, n in false.items() if name not in UNKNOWN}, "early": int(early.sum())},
        "ended": ended,
    }


def curve(data: Data, score: np.ndarray, lines: Sequence[float]) -> list[dict[str, Any]]:
    """For each line: how many labelled texts reached it while they had an outcome, and how many of them stopped. A loop
    that reaches it before its onset stopped as well: it still said something new."""
    label = labels(data)
    onset = np.array([text.onset for text in data.texts])[data.of]
    known = ~np.isin(label, (*UNKNOWN, "unlabelled"))[data.of]
    looping = (label == "loop")[data.of] & (data.place >= onset - 8)
    told = []
    for line in lines:
        reached = known & (score >= line)
        spans = {}
        for span in (0, *SPANS):
            here = reached & (data.span >= span)
            died, stopped = set(data.of[here & looping]), set(data.of[here & ~looping])
            spans[span] = (len(died | stopped), len(stopped))
        texts, stopped_all = spans.pop(0)
        told.append({"score": line, "texts": texts, "stopped": stopped_all, "spans": spans})
    return told
