"""The greeting of `serve`: where to point an agent, where the page is, and what is risky in this config."""

from __future__ import annotations

import io
import sys
from typing import Any

from rich.console import Console

from ..settings.cautions import cautions
from ..settings.load import Settings
from .console import caution, err, ours


class Greeter:
    """Says where to point an agent, once the port is open; on a terminal only, the journal says it anyway."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def hear(self, report: Any) -> None:
        """Greet when the process has started."""
        from ..observers.reports import Stage

        if isinstance(report, Stage) and report.name == "started":
            greet(self.settings, int(report.facts["port"]))


def greet(settings: Settings, port: int | None = None) -> None:
    """Say it without waiting for a terminal that is stopped, or a pipe that nobody reads."""
    from ..observers.writer import LineWriter

    # Not `err.capture()`: when it ends it writes an empty string to the terminal, and waits where that is stopped.
    page = Console(file=io.StringIO(), force_terminal=err.is_terminal, width=err.width, highlight=False, soft_wrap=True)
    _write(settings, port, page)
    assert isinstance(page.file, io.StringIO)
    if text := page.file.getvalue().rstrip("\n"):
        writer = LineWriter(sys.stderr)
        writer.put(text)
        writer.close(0)


def _write(settings: Settings, port: int | None, to: Console) -> None:
    caution(*cautions(settings), to=to)
    if not to.is_terminal:
        return
    at = f"http://{settings.listen.host}:{port or settings.listen.port}"
    to.print(f"[bold]{ours()}[/bold] on {at}")
    for name, provider in settings.providers.items():
        path = "/v1" if name == settings.default_provider else f"/{name}/v1"
        to.print(f"  {at}{path} → {provider.address}", markup=False)
    to.print(f"  what your agents do: {_page(settings, port)}", markup=False)


def _page(settings: Settings, port: int | None) -> str:
    """The address of the page."""
    at = settings.ops if settings.ops is not None else settings.listen
    return f"http://{at.host}:{(settings.ops is None and port) or at.port}/-/"
