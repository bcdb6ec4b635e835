"""One recording through the rules, as a live answer would go; and many of them, summed up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from rules import (
    Action,
    Brief,
    Failure,
    Fault,
    Finding,
    Halt,
    Json,
    Malformed,
    Mode,
    Piece,
    Stream,
    Unknown,
    Wire,
    framing_of,
    histories,
    watch_whole,
    wires,
)

from . import history
from .explanation import Quiet, quiet
from .judging import JudgingConfig
from .pool import Pool, wanted
from .recorder import Excerpt, HeardFinding, Recorded, RecordingWatch
from .recordings import Recording, Unreadable, files, recordings

HEAD = 64 << 10
"""Bytes looked at to tell the wire."""
BLANK = re.compile(rb"(?:\r\n|\r|\n)(?:\r\n|\r|\n)")
T = TypeVar("T")
Step = Callable[[int, int, str], None]
"""Hears (how much is done, of how much, what is at hand): bytes of files, or bars of a sweep."""
STOPPED = 130
"""Exit code after Ctrl-C, as of any command that it ends."""


@dataclass(frozen=True, slots=True)
class RecordedFinding:
    """One finding. `acts`: it would have changed what the client gets. `saved`: characters of its choice that a cut
    would not have sent. `quiet`: settings of which any one would have kept it from coming here."""

    finding: Finding
    acts: bool
    saved: int
    quiet: tuple[Quiet, ...] = ()
    excerpt: Excerpt | None = None
    """The text around it; only where that was asked for. Nothing else in a report holds text."""

    @property
    def does(self) -> str:
        """The word for its effect: the action, or `tells`."""
        return self.finding.action.name.lower() if self.acts else "tells"


@dataclass(frozen=True, slots=True)
class JudgedRecording:
    """One recording, judged. `chars` are characters of all choices and channels."""

    name: str
    chars: int
    wire: str | None = None
    found: tuple[RecordedFinding, ...] = ()
    malformed: int = 0
    failure: Failure | None = None
    """How the answer failed by itself, where it did."""
    label: str = ""
    onset: int | None = None
    """Where the loop of a labelled text begins."""
    period: int = 0
    """Characters of one copy of it."""
    history: bool = False
    """A request's history, judged by the habits."""

    @property
    def saved(self) -> int:
        """Characters that would not have been sent, over all choices."""
        return sum({f.finding.choice: f.saved for f in self.found if f.acts}.values())

    @property
    def acting(self) -> RecordedFinding | None:
        """The first finding that would have acted."""
        return next((found for found in self.found if found.acts), None)


@dataclass(slots=True)
class ReplayReport:
    """What a replay saw."""

    seen: list[JudgedRecording] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    stopped: bool = False
    """Somebody pressed Ctrl-C: this is not all."""

    @property
    def fired(self) -> list[JudgedRecording]:
        """The recordings in which a rule spoke up."""
        return [seen for seen in self.seen if seen.found]

    @property
    def exit_code(self) -> int:
        """1 where something fires, 2 where nothing was there to judge, else 0; 130 after Ctrl-C."""
        if self.stopped:
            return STOPPED
        return 1 if self.fired else 0 if self.seen else 2


def run(
    paths: Sequence[Path],
    guard: JudgingConfig,
    wire: str | None = None,
    step: Step | None = None,
    *,
    excerpts: bool = False,
    jobs: int = 1,
) -> ReplayReport:
    """Judge everything under these paths; Ctrl-C leaves a report of what was judged until then. `wire`: of all .sse
    recordings; None: told from each. `excerpts`: keep the text around each finding. `jobs`: processes, 0 = as is worth
    it. Raises Unreadable for a path that is not there, KeyError for an unknown wire."""
    spoken = wires.get(wire) if wire is not None else None
    todo = sized(paths)
    if (many := wanted(jobs, todo)) > 1:
        return _together(todo, Pool(partial(_file, guard, wire, excerpts), many), step)
    report = ReplayReport()
    try:
        for seen in walk(todo, lambda one: judge(one, guard, spoken, excerpts=excerpts), report.unreadable, step):
            report.seen.append(seen)
    except KeyboardInterrupt:
        report.stopped = True
    return report


def _file(guard: JudgingConfig, wire: str | None, excerpts: bool, path: Path) -> ReplayReport:
    """One file, in whatever process."""
    return run([path], guard, wire, excerpts=excerpts)


def _together(todo: Sequence[tuple[Path, int]], pool: Pool[ReplayReport], step: Step | None) -> ReplayReport:
    report = ReplayReport()
    try:
        pool.work(todo, step)
    except KeyboardInterrupt:
        report.stopped = True
    for _, part in sorted(pool.done.items()):
        report.seen += part.seen
        report.unreadable += part.unreadable
    return report


def sized(paths: Sequence[Path]) -> list[tuple[Path, int]]:
    """The files to read with their bytes. Raises Unreadable."""
    return [(path, path.stat().st_size) for path in files(paths)]


def walk(
    todo: Sequence[tuple[Path, int]], look: Callable[[Recording], T], unreadable: list[str], step: Step | None = None
) -> Iterator[T]:
    """What `look` says of every recording in these files; what cannot be read is noted, the rest goes on."""
    total, done = sum(size for _, size in todo), 0
    for path, size in todo:

        def at(position: int, before: int = done, path: Path = path) -> None:
            if step is not None:
                step(before + position, total, path.name)

        at(0)
        try:
            for recording in recordings(path, unreadable.append, at):
                try:
                    told = look(recording)
                except Unreadable as error:
                    unreadable.append(str(error))
                else:
                    yield told
        except Unreadable as error:
            unreadable.append(str(error))
        done += size
    if step is not None:
        step(total, total, "")


def judge(
    recording: Recording, guard: JudgingConfig, wire: Wire | None = None, *, excerpts: bool = False
) -> JudgedRecording:
    """One recording. Raises Unreadable where its wire cannot be told."""
    if recording.is_history:
        said = history.findings(recording, guard)
        habits = tuple(
            RecordedFinding(f, f.mode is Mode.ON and f.action > Action.NOTE, 0, quiet(f, guard.rules)) for f in said
        )
        wire_name = histories.of_body(recording.request)
        return JudgedRecording(recording.name, 0, wire_name, habits, label=recording.label, history=True)
    seen, heard = listen(recording, guard, wire)
    found: list[RecordedFinding] = []
    ended: set[int] = set()
    for told in sorted(heard.told, key=lambda one: one.sent):
        finding = told.finding
        if finding.choice in ended:  # what comes behind a cut would never have been sent
            continue
        if finding.acts:
            ended.add(finding.choice)
        saved = heard.chars.get(finding.choice, 0) - told.sent if finding.acts else 0
        excerpt = heard.excerpt(guard.rules[finding.rule], told) if excerpts else None
        found.append(RecordedFinding(finding, finding.acts, saved, quiet(finding, guard.rules), excerpt))
    return JudgedRecording(
        recording.name,
        heard.total,
        seen.wire,
        tuple(found),
        seen.malformed,
        seen.failure,
        recording.label,
        recording.onset,
        recording.period,
    )


def listen(recording: Recording, guard: JudgingConfig, wire: Wire | None = None) -> tuple[JudgedRecording, Recorded]:
    """An answer (no history) through the engine: what it is, and what the rules heard of it. Raises Unreadable."""
    ears = RecordingWatch(guard.rules)
    wire_name, malformed, failure = None, 0, None
    if recording.raw is not None:
        wire = wire or guess(recording.raw, recording.name)
        wire_name = wire.name
        malformed, failure = _stream(recording, recording.raw, ears, wire)
    elif recording.body is not None:
        wire = wire_of(recording.body, recording.name)
        wire_name = wire.name
        failure = watch_whole(wire, wire.ask(recording.request), ears, recording.body, mode=Mode.WATCH).failure
    else:
        _texts(recording, ears)
    heard = ears.heard
    heard.told = [
        one for one in (_as_configured(told, guard) for told in heard.told) if one.finding.mode is not Mode.OFF
    ]
    return JudgedRecording(recording.name, heard.total, wire_name, (), malformed, failure), heard


def _as_configured(told: HeardFinding, guard: JudgingConfig) -> HeardFinding:
    """Give each finding the mode that the config would have given it. The replay itself ran in watch mode, to see
    everything."""
    finding = told.finding
    mode = guard.rules[finding.rule].mode.at_most(guard.mode)
    return told._replace(
        finding=Finding(finding.rule, finding.action, mode, finding.channel, finding.choice, finding.hit)
    )


def guess(raw: bytes, name: str = "") -> Wire:
    """The wire that understands most of the first events. Raises Unreadable where none understands any."""
    events = [event for event in framing_of(raw).decoder(HEAD).feed(raw[:HEAD]) if event.data is not None][:40]
    best, most = None, 0
    for wire in wires.WIRES:
        if not wire.reads:
            continue
        codec = wire.codec(wire.ask({}))
        score = 0
        for event in events:
            for delta in codec.read(event):
                score += -2 if isinstance(delta, Malformed | Unknown) else 3 if isinstance(delta, Piece) else 1
        if score > most:
            best, most = wire, score
    if best is None:
        raise Unreadable(f"{name}: no wire understands it; say which with --wire")
    return best


def wire_of(body: Json, name: str = "") -> Wire:
    """The wire that finds most in a whole answer. Raises Unreadable where none knows it."""
    best, most = None, 0
    for wire in wires.WIRES:
        read = wire.whole(body) if wire.reads else ()
        said = sum(3 if isinstance(delta, Piece) else 1 for delta in read)
        if said > most and not any(isinstance(delta, Malformed) for delta in read):
            best, most = wire, 1 if any(isinstance(delta, Fault) for delta in read) else said
    if best is None:
        raise Unreadable(f"{name}: this JSON is no answer of any wire")
    return best


def _stream(recording: Recording, raw: bytes, ears: RecordingWatch, wire: Wire) -> tuple[int, Failure | None]:
    """Through the engine in watch mode, event by event: it tells everything and forwards all."""
    ask = wire.as_framed(wire.ask(recording.request), raw)
    stream = Stream(wire, ask, ears, mode=Mode.WATCH, framing=framing_of(raw))
    failure = None
    for chunk in _events(raw):
        outs = stream.feed(chunk, 0.0) if chunk else stream.eof(0.0)
        while stream.busy:
            outs += stream.more(0.0)
        for out in outs:
            if isinstance(out, Halt) and isinstance(out.cause, Failure):
                failure = out.cause
    return stream.malformed, failure


def _events(raw: bytes) -> Iterator[bytes]:
    """The bytes cut behind each blank line, then b"" for the end."""
    start = 0
    for blank in BLANK.finditer(raw):
        yield raw[start : blank.end()]
        start = blank.end()
    if start < len(raw):
        yield raw[start:]
    yield b""


def _texts(recording: Recording, ears: RecordingWatch) -> None:
    """Texts as they were cut, or whole: rules about how a stream is cut into events need `deltas` to judge by."""
    watch = ears.watch(Brief(recording.instruction))
    for channel, key, deltas in recording.pieces:
        for delta in deltas:
            watch.feed(0, channel, key, delta)
    for name, arguments in recording.calls:
        watch.called(0, name, arguments)
