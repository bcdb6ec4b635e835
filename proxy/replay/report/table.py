"""A report for people, as tables, and for programs, as JSON: numbers and names, never a character of a recording."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rules import Failure, because

from ..explanation import evidence, in_short
from ..judge import JudgedRecording, RecordedFinding, ReplayReport
from ..labels import tally
from .responsive_table import ResponsiveTable, block

NOTHING = "nothing to judge: no answer, request or session in there (docs/replay.md tells what is read)"
FORMAT = 1
"""Of the JSON: members are added without a new number, changed or taken away only with one."""


def as_table(report: ReplayReport) -> RenderableType:
    """What fired, then one line that sums up."""
    parts: list[RenderableType] = []
    if report.fired:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title, right in (
            ("recording", False), ("rule", False), ("does", False), ("channel", False), ("choice", True),
            ("onset", True), ("at", True), ("period", True), ("copies", True), ("saved", True), ("evidence", False),
        ):  # fmt: skip
            table.add_column(title, justify="right" if right else "left", overflow="fold", no_wrap=right)
        blocks: list[RenderableType] = []
        for seen in report.fired:
            for n, found in enumerate(seen.found):
                table.add_row(*_cells(seen if n == 0 else None, found))
                blocks += block(seen.name if n == 0 else "", _said(found), *_why(found))
        parts.append(ResponsiveTable(table, blocks))
    for seen in report.seen:
        if seen.failure is not None or seen.malformed:
            failed = f"ends with {seen.failure.code or seen.failure.kind.value}" if seen.failure else ""
            dropped = f"{seen.malformed} events dropped" if seen.malformed else ""
            parts.append(Text(f"{seen.name}: {', '.join(filter(None, (failed, dropped)))}", style="yellow"))
    labels = tally(report.seen)
    if labels:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("label", "recordings", "fires", "acts", "before onset", "delay", "90 %", "delivered"):
            table.add_column(title, justify="left" if title == "label" else "right")
        for label, counts in labels.items():
            passed = "" if counts.passed is None else f"{counts.passed:.1%}"
            delays = ("" if d is None else f"{d:,}" for d in (counts.delay(0.5), counts.delay(0.9)))
            numbers = (counts.recordings, counts.fired, counts.acted, counts.early)
            table.add_row(label, *(f"{n:,}" for n in numbers), *delays, passed)
        parts.append(table)
    parts += (Text(problem, style="red") for problem in report.unreadable)
    if not report.seen and not report.stopped:
        parts.append(Text(NOTHING, style="red"))
    if report.stopped:
        parts.append(Text("stopped: this is what was judged until then", style="yellow"))
    if len(report.fired) > 1:
        rules = Counter(found.finding.rule for seen in report.fired for found in seen.found)
        parts.append(Text(f"by rule: {', '.join(f'{rule} {count:,}' for rule, count in rules.most_common())}"))
    parts.append(Text(summary(report), style="bold"))
    return Group(*parts)


def summary(report: ReplayReport) -> str:
    """One line."""
    chars, saved = sum(s.chars for s in report.seen), sum(s.saved for s in report.seen)
    acted = sum(any(f.acts for f in s.found) for s in report.seen)
    return (
        f"{len(report.seen):,} recordings, {chars:,} characters: something fires in {len(report.fired):,}, "
        f"the fuse would act in {acted:,}, {saved:,} characters saved"
    )


def as_json(report: ReplayReport) -> dict[str, Any]:
    """The whole report; every answer is named only where something fires or fails."""
    return {
        "format": FORMAT,
        "recordings": len(report.seen),
        "stopped": report.stopped,
        "fired": len(report.fired),
        "characters": sum(s.chars for s in report.seen),
        "saved": sum(s.saved for s in report.seen),
        "findings": [finding_json(seen, found) for seen in report.fired for found in seen.found],
        "failures": [_failed(seen.name, seen.failure) for seen in report.seen if seen.failure],
        "labels": {label: counts.as_json() for label, counts in tally(report.seen).items()},
        "malformed": {s.name: s.malformed for s in report.seen if s.malformed},
        "unreadable": report.unreadable,
    }


def _failed(name: str, failure: Failure) -> dict[str, Any]:
    return {"recording": name, "kind": failure.kind.value, "code": failure.code}


def _cells(seen: JudgedRecording | None, found: RecordedFinding) -> list[str]:
    finding, hit = found.finding, found.finding.hit
    return [
        seen.name if seen else "",
        finding.rule,
        found.does,
        finding.channel.label,
        str(finding.choice),
        f"{hit.since:,}",
        f"{hit.at:,}",
        f"{hit.period:,}" if hit.period is not None else "",
        f"{hit.copies:.1f}" if hit.copies is not None else "",
        f"{found.saved:,}" if found.saved else "",
        "\n".join(_why(found)),
    ]


def _why(found: RecordedFinding) -> list[str]:
    quiet = f"quiet with {in_short(found.quiet)}" if found.quiet else ""
    hit = found.finding.hit
    return [line for line in (because(hit), evidence(hit), quiet) if line]


def _said(found: RecordedFinding) -> str:
    """One line for all the numbers of the table."""
    finding, hit = found.finding, found.finding.hit
    choice = f" of choice {finding.choice}" if finding.choice else ""
    facts = [f"from {hit.since:,}"]
    facts += [f"period {hit.period:,}"] if hit.period is not None else []
    facts += [f"{hit.copies:.1f} copies"] if hit.copies is not None else []
    saved = f", saves {found.saved:,}" if found.saved else ""
    return f"{finding.rule}: {found.does} in {finding.channel.label}{choice} at {hit.at:,} ({', '.join(facts)}){saved}"


def finding_json(seen: JudgedRecording, found: RecordedFinding) -> dict[str, Any]:
    """One finding, whole."""
    finding, hit = found.finding, found.finding.hit
    return {
        "recording": seen.name,
        "wire": seen.wire,
        "rule": finding.rule,
        "action": finding.action.name.lower(),
        "acts": found.acts,
        "channel": finding.channel.label,
        "choice": finding.choice,
        "since": hit.since,
        "at": hit.at,
        "span": hit.span,
        "period": hit.period,
        "copies": None if hit.copies is None else round(hit.copies, 2),
        "saved": found.saved,
        "because": because(hit),
        "evidence": {name: round(value, 4) for name, value in hit.evidence.items()},
        "bars": {name: round(value, 4) for name, value in hit.bars.items()},
        "quiet": [one._asdict() for one in found.quiet],
    }
