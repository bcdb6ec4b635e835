"""The report as one local page, with the text around each finding. Opt-in: it alone shows what a recording says.

Every text is escaped, and the page's own policy forbids it to load or contact anything.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..explanation import evidence, in_short
from ..judge import JudgedRecording, RecordedFinding, ReplayReport
from .comparison import Difference
from .table import summary


class Card(NamedTuple):
    """One finding on the page."""

    seen: JudgedRecording
    found: RecordedFinding
    by: str = ""
    """In a comparison: whose finding it is."""


def report_page(report: ReplayReport) -> str:
    """The page of a replay."""
    return _render([Card(seen, found) for seen in report.fired for found in seen.found], summary(report))


def diff_page(told: Difference) -> str:
    """The page of a comparison: what differs."""
    cards = [Card(pair.seen[0], pair.a, "only A") for pair in told.only_a if pair.a]
    cards += [Card(pair.seen[1], pair.b, "only B") for pair in told.only_b if pair.b]
    for pair in told.both:
        if not pair.same and pair.a and pair.b:
            cards += [Card(pair.seen[0], pair.a, "A"), Card(pair.seen[1], pair.b, "B")]
    return _render(
        cards,
        f"{told.recordings:,} recordings: only A finds {len(told.only_a):,}, only B {len(told.only_b):,}, "
        f"both {len(told.both):,}",
    )


def possible(path: Path) -> None:
    """Can a page be written there? Asked before hours of work, not behind them. Raises OSError."""
    if path.is_dir():
        wrong = errno.EISDIR
    elif not path.parent.is_dir():
        wrong = errno.ENOENT
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        wrong = errno.EACCES
    else:
        return
    raise OSError(wrong, os.strerror(wrong), str(path))


def write(page: str, path: Path) -> None:
    """Write it for the user alone: it holds what models were told and said. Raises OSError."""
    path.touch(mode=0o600)
    if path.is_file():  # an older page, readable by others, stays so otherwise
        path.chmod(0o600)
    path.write_text(page, encoding="utf-8", errors="replace")


def _render(cards: Sequence[Card], said: str) -> str:
    environment = Environment(
        loader=PackageLoader("proxy.replay.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["evidence"] = evidence
    environment.filters["in_short"] = in_short
    return environment.get_template("page.html.j2").render(cards=cards, summary=said)
