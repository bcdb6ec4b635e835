"""One recording through the rules, as a live answer would go; and many of them, summed up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rules import wires
from rules.brief import Brief
from rules.delta import Malformed, Piece, Unknown
from rules.failures import Failure
from rules.ruleset import RuleSet
from rules.sse import Decoder
from rules.stream import Halt, Stream, Told
from rules.verdict import Action, Finding, Mode
from rules.wires.base import Wire

from . import session
from .recordings import Recording, Unreadable, files, recordings

HEAD = 64 << 10
"""Bytes looked at to tell the wire."""
BLANK = re.compile(rb"(?:\r\n|\r|\n)(?:\r\n|\r|\n)")


@dataclass(frozen=True, slots=True)
class Found:
    """One finding. `acts`: it would have changed what the client gets. `saved`: characters of its choice that a cut
    would not have sent."""

    finding: Finding
    acts: bool
    saved: int

    @property
    def does(self) -> str:
        """What it would have done: the action's word, or `tells`."""
        return self.finding.action.name.lower() if self.acts else "tells"


@dataclass(frozen=True, slots=True)
class Seen:
    """One recording, judged. `chars` are characters of all choices and channels."""

    name: str
    chars: int
    wire: str | None = None
    found: tuple[Found, ...] = ()
    malformed: int = 0
    failure: Failure | None = None
    """How the answer failed by itself, where it did."""

    @property
    def saved(self) -> int:
        """Characters that would not have been sent, over all choices."""
        return sum({f.finding.choice: f.saved for f in self.found if f.acts}.values())


@dataclass(slots=True)
class Report:
    """What a replay saw."""

    seen: list[Seen] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    @property
    def fired(self) -> list[Seen]:
        """The recordings in which a rule spoke up."""
        return [seen for seen in self.seen if seen.found]

    @property
    def exit_code(self) -> int:
        """1 where something fires, 2 where nothing could be read, else 0."""
        return 1 if self.fired else 2 if self.unreadable and not self.seen else 0


def run(
    paths: Sequence[Path], rules: RuleSet, wire: str | None = None, step: Callable[[int, int, str], None] | None = None
) -> Report:
    """Judge everything under these paths. `wire`: of all .sse recordings; None: told from each. `step` hears (files
    done, files in all, the file at hand). Raises Unreadable for a path that is not there, KeyError for an unknown wire.
    """
    spoken = wires.get(wire) if wire is not None else None
    report = Report()
    todo = files(paths)
    for n, path in enumerate(todo):
        if step is not None:
            step(n, len(todo), path.name)
        try:
            for recording in recordings(path):
                report.seen.append(judge(recording, rules, spoken))
        except Unreadable as error:
            report.unreadable.append(str(error))
    if step is not None:
        step(len(todo), len(todo), "")
    return report


def judge(recording: Recording, rules: RuleSet, wire: Wire | None = None) -> Seen:
    """One recording. Raises Unreadable where its wire cannot be told."""
    if recording.raw is not None:
        return _stream(recording, recording.raw, rules, wire or guess(recording.raw, recording.name))
    if recording.pieces or not recording.request:
        return _texts(recording, rules)
    told = session.findings(recording)
    found = tuple(Found(f, f.mode is Mode.ON and f.action > Action.NOTE, 0) for f in told)
    return Seen(recording.name, 0, (session.turns(recording.request) or (None,))[0], found)


def guess(raw: bytes, name: str = "") -> Wire:
    """The wire that understands most of the first events. Raises Unreadable where none understands any."""
    events = [event for event in Decoder().feed(raw[:HEAD]) if event.data is not None][:40]
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


def _stream(recording: Recording, raw: bytes, rules: RuleSet, wire: Wire) -> Seen:
    """Through the engine in watch mode, event by event: it tells everything and forwards all."""
    stream = Stream(wire, wire.ask(recording.request), rules, mode=Mode.WATCH)
    told: list[tuple[Finding, int]] = []
    failure = None
    for chunk in _events(raw):
        for out in stream.feed(chunk, 0.0) if chunk else stream.eof(0.0):
            if isinstance(out, Told):
                told.append((out.finding, _sent(stream, out.finding.choice)))
            elif isinstance(out, Halt) and isinstance(out.cause, Failure):
                failure = out.cause
    total = {choice: _sent(stream, choice) for choice in stream.transcript.choices}
    found = tuple(_found(rules, [(f, total.get(f.choice, at) - at) for f, at in told]))
    return Seen(recording.name, sum(total.values()), wire.name, found, stream.malformed, failure)


def _events(raw: bytes) -> Iterator[bytes]:
    """The bytes cut behind each blank line, then b"" for the end."""
    start = 0
    for blank in BLANK.finditer(raw):
        yield raw[start : blank.end()]
        start = blank.end()
    if start < len(raw):
        yield raw[start:]
    yield b""


def _sent(stream: Stream, choice: int) -> int:
    return sum(shape.chars for shape in stream.transcript.shapes.values() if shape.block[0] == choice)


def _texts(recording: Recording, rules: RuleSet) -> Seen:
    """Texts as they were cut, or whole: rules about how a stream is cut into events need `deltas` to judge by."""
    watch = rules.watch(Brief(recording.instruction))
    told: list[tuple[Finding, int]] = []
    sent = before = 0
    fed: dict[tuple[int, str], int] = {}
    for channel, key, deltas in recording.pieces:
        for delta in deltas:
            before = sent
            sent += len(delta)
            scope = (int(channel), key)
            start = fed.get(scope, 0)
            fed[scope] = start + len(delta)
            for finding in watch.feed(0, channel, key, delta):
                # In a text given whole the finding's own offset is finer than its end.
                whole = start == 0 and len(deltas) == 1
                told.append((finding, before + min(finding.hit.at, len(delta)) if whole else sent))
    for name, arguments in recording.calls:
        told += ((finding, sent) for finding in watch.called(0, name, arguments))
    told.sort(key=lambda entry: entry[1])
    return Seen(recording.name, sent, None, tuple(_found(rules, [(f, sent - at) for f, at in told])))


def _found(rules: RuleSet, told: Sequence[tuple[Finding, int]]) -> Iterator[Found]:
    """Findings up to the one that ends its choice: what comes behind it would never have been sent."""
    ended: set[int] = set()
    for finding, saved in told:
        if finding.choice in ended:
            continue
        acts = finding.action >= Action.CUT and rules[finding.rule].mode is Mode.ON
        if acts:
            ended.add(finding.choice)
        yield Found(finding, acts, saved if acts else 0)
