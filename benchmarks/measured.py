"""What was measured before: a file a detector and state of its code, a line an answer, written as they come.

A line that was cut off by a kill, or is something else, is passed over: its answer is measured again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

STATES = 4
"""States of a detector's code that are kept: some branches are compared again and again."""


class Measured(NamedTuple):
    """What a detector made of one answer: fired at this character or not, characters fed, seconds of processor time,
    seconds of the longest feed, and its own words."""

    fired: int | None
    used: int
    cpu: float
    worst: float
    why: str


def digest(row: dict[str, Any]) -> str:
    """Of all that a verdict comes from: the id seeds how the text is cut into pieces."""
    said = json.dumps([row["id"], row.get("instruction"), row["text"]]).encode()
    return hashlib.blake2b(said, digest_size=8).hexdigest()


class ResultBook:
    """What one detector, in one state of its code, said of which answers."""

    def __init__(self, file: TextIO, known: dict[str, Measured]) -> None:
        self._file = file
        self._known = known

    def __contains__(self, row: dict[str, Any]) -> bool:
        return digest(row) in self._known

    def __getitem__(self, row: dict[str, Any]) -> Measured:
        return self._known[digest(row)]

    def add(self, row: dict[str, Any], got: Measured) -> None:
        key = digest(row)
        self._known[key] = got
        self._file.write(json.dumps([key, *got], ensure_ascii=False) + "\n")
        self._file.flush()


class ResultCache:
    """A folder of books. It may be removed at any time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def book(self, name: str, code: str, *, again: bool = False) -> Iterator[ResultBook]:
        """The book of a detector, to read and to write."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}@{code}.jsonl"
        if again:
            path.unlink(missing_ok=True)
        known = dict(_lines(path)) if path.exists() else {}
        broken = path.exists() and not path.read_bytes().endswith(b"\n")
        with path.open("a", encoding="utf-8") as file:
            if broken:
                file.write("\n")
            yield ResultBook(file, known)
        path.touch()
        for old in sorted(self.folder.glob(f"{name}@*.jsonl"), key=lambda p: -p.stat().st_mtime)[STATES:]:
            old.unlink(missing_ok=True)


def _lines(path: Path) -> Iterator[tuple[str, Measured]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            key, fired, used, cpu, worst, why = json.loads(line)
            yield (
                str(key),
                Measured(None if fired is None else int(fired), int(used), float(cpu), float(worst), str(why)),
            )
        except (ValueError, TypeError):
            continue
