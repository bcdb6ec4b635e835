"""The journal: one line an exchange on stderr, JSON or for eyes (`terminal`). Never content, never a credential.

What an upstream says in its errors may quote a key or a prompt, so of a failure only its kind, phase, status and a
code made of plain words are written. Whoever reads it may be slow, or not read at all: nothing waits for that
(`proxy/writer.py`).
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson
import structlog

from rules import Failure

from ..settings.load import Settings
from .reports import (
    Attempted,
    BreakerChanged,
    BudgetExhausted,
    Ended,
    ErrorRuleHit,
    FellBack,
    FromMemory,
    LoopFound,
    Outcome,
    Report,
    RequestInfo,
    Retrying,
    Stage,
    StateChanged,
    safe_code,
)
from .terminal import TerminalLines
from .writer import LineWriter

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "off": 50}


class JournalObserver:
    """Writes lines. `format` is auto, console or json; auto looks at whether `stream` is a terminal."""

    def __init__(
        self,
        *,
        format: str = "auto",
        level: str = "info",
        stream: TextIO | None = None,
        dropped: Callable[[int], None] | None = None,
    ) -> None:
        """`stream`: stderr where none is given. `dropped` hears how many lines were lost, from any thread."""
        self._out: TextIO | None = stream if stream is not None else sys.stderr
        self._dropped = dropped
        self._eyes: TerminalLines | None = None
        self._writer = LineWriter(self._out, dropped=self._lost, told=self._told)
        self._set(format, level)

    def _set(self, format: str, level: str) -> None:
        terminal = self._out is not None and self._out.isatty()
        if format == "auto":
            format = "console" if terminal else "json"
        self.level = _LEVELS[level]
        colours = terminal and not os.environ.get("NO_COLOR")
        if format == "json":
            self._eyes = None
        elif self._eyes is None or self._eyes.colours != colours:  # else it knows what is under way
            self._eyes = TerminalLines(colours=colours)
        last = structlog.processors.JSONRenderer(separators=(",", ":"))  # as orjson writes the exchange's line

        def log(logger: Any) -> Any:
            return structlog.wrap_logger(
                logger,
                processors=[
                    structlog.processors.add_log_level,
                    structlog.processors.TimeStamper(fmt="iso", utc=True),
                    last,
                ],
                wrapper_class=structlog.make_filtering_bound_logger(self.level),
            )

        self._line = log(structlog.ReturnLogger())
        self._log = log(_LineLogger(self._writer))

    def _told(self, lines: int) -> str | None:
        if self._eyes is not None:
            return (
                f"({lines} lines of the journal were dropped: nobody took them)"
                if self.level <= logging.WARNING
                else None
            )
        told: str | None = self._line.warning("journal_dropped", lines=lines)
        return told

    def renew(self, settings: Settings) -> None:
        """Another config is in force."""
        self._set(settings.journal.format, settings.journal.level)

    def tell_dropped(self, dropped: Callable[[int], None]) -> None:
        """From now on `dropped` hears how many lines were lost, from any thread."""
        self._dropped = dropped

    def _lost(self, count: int) -> None:
        if self._dropped is not None:
            self._dropped(count)

    def close(self) -> None:
        """Write what still waits, within half a second."""
        self._writer.close()

    def hear(self, report: Report) -> None:
        """Write what is worth a line."""
        if self._eyes is not None:
            level, line = self._eyes.line(report) or (0, "")
            if level >= self.level:
                self._writer.put(line)
            return
        match report:
            case Ended():
                self._ended(report)
            case Attempted():
                if self.level <= logging.DEBUG:
                    self._log.debug(
                        "attempt",
                        **_who(report.call),
                        scope=report.call.scope,
                        attempt=report.number,
                        result=report.word,
                        seconds=round(report.seconds, 3),
                        **_failed(report.failure),
                    )
            case Retrying():
                self._log.info(
                    "retry",
                    **_who(report.call),
                    scope=report.call.scope,
                    attempt=report.number,
                    wait=round(report.wait, 3),
                    budget=report.budget,
                    resume=report.resume,
                    **_failed(report.failure),
                )
            case BudgetExhausted():
                self._log.warning("budget_exhausted", **_who(report.call), budget=report.budget)
            case ErrorRuleHit():
                self._log.info("error_rule", **_who(report.call), rule=report.rule)
            case LoopFound():
                if not report.acted:  # an acting one is told with its exchange
                    self._log.info("finding", **_who(report.call), **report.numbers)
            case FromMemory():
                self._log.warning("from_memory", **_who(report.call), reason=report.reason)
            case FellBack():
                self._log.warning(
                    "fallback",
                    **_who(report.call),
                    to=report.provider,
                    to_model=report.model,
                    **_failed(report.failure),
                )
            case BreakerChanged():
                level = self._log.error if report.open else self._log.info
                name = "breaker_open" if report.open else "breaker_forgotten" if report.forgotten else "breaker_closed"
                level(name, provider=report.provider, model=report.model, **_failed(report.failure))
            case StateChanged():
                level = self._log.info if report.healthy else self._log.error
                level("state_up" if report.healthy else "state_down", detail=report.detail)
            case Stage():
                (self._log.error if report.wrong else self._log.info)(report.name, **report.facts)
            case _:
                pass

    def _ended(self, report: Ended) -> None:
        calm = report.outcome is Outcome.OK or report.outcome is Outcome.CLIENT_GONE
        if self.level > (logging.INFO if calm else logging.WARNING):
            return
        facts = _facts(report)
        if (line := _line(facts, calm)) is None:
            (self._log.info if calm else self._log.warning)("exchange", **facts)
            return
        self._writer.put(line)


def _line(facts: dict[str, Any], calm: bool) -> bytes | None:
    """The line of an exchange without structlog's chain of processors (40 calls). None where orjson cannot write a
    fact, as a header's byte that is no UTF-8 (a lone surrogate here): json escapes it."""
    stamped = {**facts, "event": "exchange", "level": "info" if calm else "warning", "timestamp": datetime.now(UTC)}
    try:
        return orjson.dumps(stamped, option=orjson.OPT_UTC_Z)
    except TypeError:
        return None


def _facts(report: Ended) -> dict[str, Any]:
    """The facts of an exchange, without those that say nothing."""
    facts: dict[str, Any] = _who(report.call)
    facts["outcome"] = report.outcome  # a str: orjson and json write its value
    if report.reason is not None:
        facts["end"] = report.reason
    if report.status is not None:
        facts["status"] = report.status
    facts["seconds"] = round(report.seconds, 3)
    if report.first_event is not None:
        facts["first_event"] = round(report.first_event, 3)
    facts["attempts"] = report.attempts
    facts["events"] = report.events
    if report.malformed:
        facts["malformed"] = report.malformed
    facts["bytes_in"] = report.bytes_in
    facts["bytes_out"] = report.bytes_out
    if report.code and (code := safe_code(report.code)) is not None:
        facts["code"] = code
    if report.step:
        facts["step"] = report.step
    if report.findings:
        facts["findings"] = [found.numbers for found in report.findings]
    if report.server_cuts:
        facts["server_cuts"] = [{"reason": cut.reason, "choice": cut.choice} for cut in report.server_cuts]
    if report.saved is not None:
        facts["looped_characters"] = report.saved.looped
        facts["saved_tokens_estimate"] = report.saved.tokens
    if report.heal is not None:
        facts["heal"] = report.heal.numbers
    if report.near_misses:
        facts["stutters"] = [near_miss.numbers for near_miss in report.near_misses]
    return facts


class _LineLogger:
    """What structlog hands its finished lines to."""

    def __init__(self, writer: LineWriter) -> None:
        self.info = self.debug = self.warning = self.error = writer.put


def _who(call: RequestInfo) -> dict[str, Any]:
    out = {"request_id": call.request_id, "provider": call.provider, "wire": call.wire, "stream": call.streaming}
    if call.model:
        out["model"] = call.model
    if call.session:
        out["session"] = call.session
    return out


def _failed(failure: Failure | None) -> dict[str, Any]:
    if failure is None:
        return {}
    out: dict[str, Any] = {"phase": failure.phase.value, "kind": failure.kind.value}
    if failure.status is not None:
        out["upstream_status"] = failure.status
    if code := safe_code(failure.code):
        out["upstream_code"] = code
    if failure.rule:
        out["error_rule"] = failure.rule
    return out


def observer(settings: Settings) -> JournalObserver:
    """The sink as configured."""
    return JournalObserver(format=settings.journal.format, level=settings.journal.level)
