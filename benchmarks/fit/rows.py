"""Texts and their rows: what the monitor `novelty` measured at each place where it judged, and where the gates fired.

A text of loopbench has a hand label. A text of another collection has none; it counts as healthy output whose cuts are
to be read, unless it ends inside a repetition: then nobody knows whether it would have stopped (`dead`).
"""

from __future__ import annotations

import gzip
import hashlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rules.detect import packs
from rules.detect.monitors.novelty import Novelty
from rules.detect.monitors.novelty.gates import Surroundings
from rules.detect.monitors.novelty.params import NoveltyParams
from rules.detect.requested.repetition import Wishes, wishes
from rules.detect.ruleset import RuleSet
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit

SETTLED = 200
"""Characters after the onset that are neither loop nor healthy: the first copies are no loop yet."""
DEAD = 400
"""A text without a label that ends with so many characters of nothing new has perhaps died in a loop."""
GATES = ("calm", "default")
"""The packs whose gates are run beside the score."""
FAMILIES = re.findall(
    r"\S+",
    "qwen guanaco vicuna tulu mistral zephyr wizard falcon alpaca openbuddy gpt claude yi- llama infinity deita phi "
    "ghost baichuan minichat nous openchat ein- causal evo ultra starling platolm recycled openhermes dolphin xwin "
    "oasst davinci cohere gemma reka",
)


class Text(NamedTuple):
    """One text and its label."""

    name: str
    source: str
    label: str
    """loop, ended (a loop that the text left by itself), healthy, legit (repeats, but rightly), file, unsure,
    unlabelled or dead."""
    family: str
    """The model family; the kind of a file."""
    kind: str
    onset: float
    """Where the second copy of the loop begins; infinity where there is no loop."""
    size: int
    period: float = 0.0
    """Characters of one copy of the loop, where it has one."""
    soft: bool = False
    """The request wants verses, a plan, a drawing or filler: the engine then asks for a higher score."""


class Data(NamedTuple):
    """All rows, and the texts that they belong to."""

    texts: list[Text]
    of: np.ndarray
    """Each row's text, by its place in `texts`."""
    place: np.ndarray
    """Characters read at the row."""
    x: np.ndarray
    """Measures, as `odds.NAMES` lists them."""
    y: np.ndarray
    """1 loop, 0 no loop, -1 neither."""
    span: np.ndarray
    """Characters without anything new."""
    counts: np.ndarray
    """Numbers count on in the row, so that the engine does not ask the score."""
    gates: np.ndarray
    """Where the gates of each of GATES fired on each text; infinity where they did not."""


class Rows(Novelty):
    """The monitor, which convicts nothing and writes down what it measures."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        super().__init__(NoveltyParams(), Brief())
        self.rows: list[list[float]] = []

    def _block(self, block: str, channel: Channel) -> Hit | None:
        super()._block(block, channel)
        self.doubted = 0.0  # judge wherever a score could convict
        return None

    def _judge(self, here: Surroundings, channel: Channel) -> Hit | None:
        measures = self.measures(here)
        counts = self.progress(here, max(1, round(2 ** measures[4] - 1)))
        self.rows.append([self.fed, max(self.clean, self.calm), counts, *measures])
        return None


def family(model: str) -> str:
    """The family that a model's name tells; else the first part of the name."""
    name = model.lower()
    return next((one for one in FAMILIES if one in name), name.split("-")[0])


def gates_only(pack: str) -> RuleSet:
    """A pack whose score never convicts."""
    return packs.assemble([pack], risk={"text": 0.0, "reasoning": 0.0, "arguments": 0.0})


def fired(rules: RuleSet, text: str, instruction: str) -> float:
    """The character at which a pack cuts a text; infinity where it does not."""
    watch = rules.watch(Brief(instruction))
    for at in range(0, len(text), 256):  # a verdict comes at the same character whatever the pieces are
        if found := watch.feed(0, Channel.TEXT, "0", text[at : at + 256]):
            return found[0].hit.at
    return np.inf


def texts(path: Path, source: str) -> Iterator[tuple[Text, str, str]]:
    """The texts of one file: label, what it says, what it was asked."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            label = row.get("label", "unlabelled")
            if label == "loop" and row.get("ended"):
                label = "ended"
            onset = row["onset"] if label == "loop" else np.inf
            asked = row.get("instruction") or ""
            wish = wishes(Brief(asked).asked) if label in ("loop", "legit", "ended") else Wishes()
            soft = wish.verse or wish.roster or wish.drawing or wish.filler
            group = family(row.get("model") or row.get("kind") or source)
            said = row["text"]
            yield (
                Text(
                    row["id"],
                    source,
                    label,
                    group,
                    row.get("kind") or "",
                    onset,
                    len(said),
                    row.get("period") or 0,
                    soft,
                ),
                said,
                asked,
            )


def measured(path: Path, source: str, cache: Path) -> tuple[list[Text], np.ndarray, np.ndarray]:
    """(texts, rows of [text's place, characters, span, counts, measures], gates) of one file. Rows and gates are kept
    by the code that they depend on, and the file."""
    content = path.read_bytes()
    code = [path.read_bytes() for path in sorted(Path(inspect.getfile(Novelty)).parent.glob("*.py"))]
    kept = cache / f"{source}-rows-{_digest(content, *code)}.npz"
    gated = cache / f"{source}-gates-{_digest(content, *_engine())}.npy"
    cache.mkdir(parents=True, exist_ok=True)
    read = list(texts(path, source))
    if not kept.exists():
        rows, dead = [], []
        for number, (text, said, _) in enumerate(read):
            looking = Rows()
            for at in range(0, len(said), 4096):
                looking.feed(said[at : at + 4096], Channel.TEXT)
            dead.append(text.label == "unlabelled" and looking.calm >= DEAD)
            rows += [[number, *row] for row in looking.rows]
        np.savez_compressed(kept, rows=np.array(rows, np.float32), dead=np.array(dead))
    if not gated.exists():
        judged = [gates_only(name) for name in GATES]
        np.save(gated, np.array([[fired(one, said, asked) for one in judged] for _, said, asked in read]))
    found = np.load(kept)
    known = [one._replace(label="dead") if died else one for (one, *_), died in zip(read, found["dead"], strict=True)]
    return known, found["rows"], np.load(gated)


def _digest(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _engine() -> Iterator[bytes]:
    """All that decides where gates fire."""
    folder = Path(inspect.getfile(packs)).parents[1]
    for path in sorted([*folder.glob("monitors/**/*.py"), *folder.glob("requested/*.py")]):
        yield path.read_bytes()
    for name in GATES:
        yield repr([rule.model_dump(exclude={"params": {"doubt", "asked"}}) for rule in gates_only(name)]).encode()


def gathered(files: list[tuple[Path, str]], cache: Path) -> Data:
    """All files' rows together."""
    known: list[Text] = []
    parts, gates = [], []
    for path, source in files:
        more, rows, fires = measured(path, source, cache)
        rows = rows.astype(np.float64)
        rows[:, 0] += len(known)
        known += more
        parts.append(rows)
        gates.append(fires)
    rows = np.concatenate(parts)
    of, place, span, counts, x = rows[:, 0].astype(int), rows[:, 1], rows[:, 2], rows[:, 3] > 0, rows[:, 4:]
    onset = np.array([text.onset for text in known])[of]
    label = np.array([text.label for text in known])[of]
    y = np.where(label == "loop", np.where(place > onset + SETTLED, 1, np.where(place > onset, -1, 0)), 0)
    y[(label == "unsure") | (label == "dead")] = -1
    return Data(known, of, place, x, y, span, counts, np.concatenate(gates))
