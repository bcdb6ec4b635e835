"""What was measured, for people: one line a row, and one a client."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from .row import Row, Verdict


def _both(direct: object, through: object) -> str:
    return f"{direct} → {through}"


def _calls(calls: int | None) -> str:
    return "?" if calls is None else f"{calls:,}"


def _rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.1f}"


def _extra(row: Row) -> str:
    """Calls over 1.2 times the direct ones, and for how many agents that die without streamfuse: only these excuse
    them."""
    return f"{row.extra:,} for {row.saved}" if row.extra else "–"


def _style(verdict: Verdict) -> str:
    return "red" if verdict.failed else "green" if verdict is Verdict.SAVED else ""


def rows(measured: Sequence[Row]) -> Table:
    """Every row. Arrows: directly → through streamfuse."""
    grid = Table(box=box.SIMPLE_HEAD, header_style="bold", title="directly → through streamfuse", title_justify="left")
    for name in ("client", "scenario"):
        grid.add_column(name, no_wrap=True)
    for name in ("outage", "agents", "survived", "calls", "for saved", "seconds", "calls/s after 3 s"):
        grid.add_column(name, justify="right", no_wrap=True)
    grid.add_column("verdict", no_wrap=True)
    for row in measured:
        direct, through = row.direct, row.through
        grid.add_row(
            row.client,
            row.scenario,
            f"{row.down:g} s",
            str(row.agents),
            _both(direct.survived, through.survived),
            _both(_calls(direct.calls), _calls(through.calls)),
            _extra(row),
            _both(f"{direct.seconds:.0f}", f"{through.seconds:.0f}"),
            _both(_rate(direct.rate), _rate(through.rate)),
            row.verdict.value,
            style=_style(row.verdict),
        )
    return grid


def clients(measured: Sequence[Row]) -> Table:
    """Sums by client, and of all."""
    grid = Table(box=box.SIMPLE_HEAD, header_style="bold")
    grid.add_column("client", no_wrap=True)
    for name in ("rows", "FAIL", "saved", "agents", "survived", "calls", "of rows without saved", "for saved"):
        grid.add_column(name, justify="right", no_wrap=True)
    names = list(dict.fromkeys(row.client for row in measured))
    for name in [*names, ""]:
        mine = [row for row in measured if not name or row.client == name]
        counted = [row for row in mine if row.direct.calls is not None and row.through.calls is not None]
        even = [row for row in counted if not row.saved]
        grid.add_row(
            name or "all",
            str(len(mine)),
            str(sum(row.verdict.failed for row in mine)),
            str(sum(row.verdict is Verdict.SAVED for row in mine)),
            f"{sum(row.agents for row in mine):,}",
            _both(f"{sum(row.direct.survived for row in mine):,}", f"{sum(row.through.survived for row in mine):,}"),
            _both(
                f"{sum(row.direct.calls or 0 for row in counted):,}",
                f"{sum(row.through.calls or 0 for row in counted):,}",
            ),
            _both(
                f"{sum(row.direct.calls or 0 for row in even):,}", f"{sum(row.through.calls or 0 for row in even):,}"
            ),
            f"{sum(row.extra or 0 for row in counted if row.saved):,} for {sum(row.saved for row in counted):,}",
            style="bold" if not name else "",
        )
    return grid
