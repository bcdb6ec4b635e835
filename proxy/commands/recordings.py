"""What the commands that read recordings share: the rules of a config, and errors in paths and names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .console import caution, fail, read

if TYPE_CHECKING:
    from rules import Wire

    from ..replay import JudgingConfig


def judging(config: Path | None) -> JudgingConfig:
    from ..replay.judging import guard

    notes: list[str] = []
    settings = read(config, {}, need_provider=False, notes=notes)
    caution(*notes)
    return guard(settings)


@contextmanager
def told(wire: str | None) -> Iterator[None]:
    """Wrong paths and names as one sentence and exit 2."""
    from ..replay import Unreadable

    if wire is not None and wire not in (names := [w.name for w in _wires() if w.reads]):
        fail(f"there is no wire called {wire}; there are {', '.join(names)}", 2)
    try:
        yield
    except Unreadable as wrong:
        fail(str(wrong), 2)
    except OSError as wrong:
        fail(f"{wrong.filename}: {wrong.strerror}", 2)
    except KeyboardInterrupt:
        fail("stopped", 130)


def _wires() -> Sequence[Wire]:
    from rules import wires

    return wires.WIRES
