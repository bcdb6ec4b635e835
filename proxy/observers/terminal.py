"""The journal for a person at a terminal: a short line an exchange, in words, with the reason where there is one.

    14:03:07  ok       openai  gpt-4o       2.1 s
    14:03:20  cut      openai  gpt-4o      12.0 s  cut: the same 47 characters, 6.77 times in the text  a1b2c3
    14:03:31  retry    openai  gpt-4o       try 2 in 1.2 s: 429: rate limit

The words are the page's (`proxy/wording`), made of names and numbers: never content, never a credential. Names and
ids lose what is not printable. The last column is the exchange's id where there is something to look up: /-/x/ID.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..wording import words
from .recent import RecentObserver
from .reports import (
    Attempted,
    BreakerChanged,
    BudgetExhausted,
    Ended,
    FellBack,
    FromMemory,
    LoopFound,
    Report,
    RequestInfo,
    Retrying,
    Stage,
    StateChanged,
)

DEBUG, INFO, WARNING, ERROR = 10, 20, 30, 40
COLOURS = {"good": "32", "care": "33", "bad": "31", "dim": "2"}
"""SGR parameters: green, yellow, red, faint."""

DONE = {"client_gone": "left"}
"""Outcomes whose name is long or ours."""

MOST = 200
"""Characters of a fact of the process: a config's mistake may be long."""


class TerminalLines:
    """Turns reports into (level, line); None where a report is no news for a person."""

    def __init__(self, *, colours: bool, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since the epoch; shown as local time."""
        self.colours = colours
        self._clock = clock
        self._last = RecentObserver(1, clock)
        """Gathers what happened to each exchange on its way, as for the page."""

    def line(self, report: Report) -> tuple[int, str] | None:
        """The line of one report."""
        self._last.hear(report)
        match report:
            case Ended():
                return self._ended(report)
            case Retrying():
                how = "goes on" if report.resume else f"try {report.number + 1}"
                said = f"{how} in {words.seconds(report.wait)}: {words.failure(report.failure)}"
                return INFO, self._about(report.call, "retry", "care", said)
            case Attempted() if report.failure is not None:
                said = (
                    f"try {report.number} failed after {words.seconds(report.seconds)}: {words.failure(report.failure)}"
                )
                return DEBUG, self._about(report.call, "try", "dim", said)
            case BudgetExhausted():
                return WARNING, self._about(report.call, "spent", "care", f"the budget {report.budget} is spent")
            case LoopFound() if not report.acted:
                return INFO, self._about(report.call, "finding", "care", words.finding(report.numbers))
            case FromMemory():
                return WARNING, self._about(
                    report.call, "memory", "care", words.MEMORY.get(report.reason, report.reason)
                )
            case FellBack():
                to = f"asks {report.provider} instead ({report.model}): {words.failure(report.failure)}"
                return WARNING, self._about(report.call, "fallback", "care", to)
            case BreakerChanged():
                return self._breaker(report)
            case StateChanged():
                said = "the shared state answers" if report.healthy else f"the shared state is away: {report.detail}"
                tone = "good" if report.healthy else "bad"
                return (INFO if report.healthy else ERROR), self._put("state", tone, said)
            case Stage():
                said = "  ".join(f"{name}: {_printable(str(value)[:MOST])}" for name, value in report.facts.items())
                level, tone = (ERROR, "bad") if report.wrong else (INFO, "dim")
                return level, self._put(report.name.replace("_", " "), tone, said)
            case _:
                return None

    def _ended(self, report: Ended) -> tuple[int, str]:
        row: Mapping[str, Any] = self._last.newest(1)[0]
        tone, reason = words.tone(row), words.why(row)
        outcome = report.outcome.value
        level = INFO if outcome in ("ok", "client_gone") else WARNING
        said = f"{words.seconds(report.seconds):>7}"
        if reason:
            said += f"  {reason}  {self._paint(_printable(report.call.request_id), 'dim')}"
        return level, self._about(report.call, DONE.get(outcome, outcome), tone, said)

    def _breaker(self, report: BreakerChanged) -> tuple[int, str]:
        what = f"{report.provider} {report.model}".strip()
        if report.open:
            return ERROR, self._put(
                "breaker", "bad", f"{what} is failing ({words.failure(report.failure)}): answered from memory"
            )
        return INFO, self._put("breaker", "good", f"{what} answers again")

    def _about(self, call: RequestInfo, word: str, tone: str, said: str) -> str:
        who = _printable("  ".join(part for part in (call.provider, call.model, call.session[:6]) if part))
        return self._put(word, tone, f"{who:<28}  {said}")

    def _put(self, word: str, tone: str, said: str) -> str:
        at = time.strftime("%H:%M:%S", time.localtime(self._clock()))
        return f"{self._paint(at, 'dim')}  {self._paint(f'{word:<9}', tone)}  {said}".rstrip()

    def _paint(self, text: str, tone: str) -> str:
        return f"\x1b[{COLOURS[tone]}m{text}\x1b[0m" if self.colours else text


def _printable(text: str) -> str:
    """Without characters that move a cursor: clients choose names and ids."""
    return "".join(c if c.isprintable() else " " for c in text)
