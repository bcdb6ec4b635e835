"""Runs the rules over a whole JSON answer (`stream: false`), which agents fall back to when a stream fails.

Nothing has been shown yet, so the cut is better than in a stream: exactly one copy of the repetition stays.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...detect.watcher import Watcher, Watching
from ...errors import classify
from ...errors.error_rules import ErrorRules
from ...framing.think_tags import CLOSING, begun, marked_whole
from ...values.delta import Block, Channel, Close, Delta, Fault, Finish, Malformed, Open, Piece
from ...values.failures import Failure
from ...values.notices import HALF, marked
from ...values.verdict import Finding, Mode, NearMiss
from ...wires.base import Ask, Ending, Json, Wire
from ...wires.server_cuts import BROKEN_OFF, ServerCut, loop_stop, marker
from ..cut import CUT, Cut
from ..tool_call_hold import Brackets, broken_off

STEP = 32
"""Characters fed at a time: the beginning of the repetition is known to within this many."""
TURN = 512
"""Characters that `look_whole` looks at between two yields."""


class JudgedBody(NamedTuple):
    """The outcome for a whole answer."""

    body: Json
    """The body for the client; the very same object where nothing was cut."""
    findings: tuple[Finding, ...] = ()
    cut: Finding | None = None
    """The strongest finding that acts; `body` is trimmed then."""
    failure: Failure | None = None
    """The error in the body, though its HTTP status said success."""
    known: bool = True
    """False: the body is not an answer of this wire."""
    server_cuts: tuple[ServerCut, ...] = ()
    """Choices that the upstream ended because of a loop. With mode `on`, `body` gives them a quiet end."""
    near_misses: tuple[NearMiss, ...] = ()
    """Repetitions that came near a bar, where no finding cut the answer."""
    deltas: Sequence[Delta] = ()
    """The deltas of `body`, where nothing in it was changed, so that callers need not read it again (119 calls a
    request)."""


def watch_whole(
    wire: Wire,
    ask: Ask,
    rules: Watching | None,
    body: Json,
    *,
    mode: Mode = Mode.ON,
    cut: Cut = CUT,
    error_rules: ErrorRules | None = None,
    attempts: int = 1,
) -> JudgedBody:
    """Run the rules over a whole answer. Each choice is judged for itself; a trimmed body ends legally."""
    looking = look_whole(wire, ask, rules, body, mode=mode, cut=cut, error_rules=error_rules, attempts=attempts)
    while True:
        try:
            next(looking)
        except StopIteration as end:
            seen: JudgedBody = end.value
            return seen


def look_whole(
    wire: Wire,
    ask: Ask,
    rules: Watching | None,
    body: Json,
    *,
    mode: Mode = Mode.ON,
    cut: Cut = CUT,
    error_rules: ErrorRules | None = None,
    attempts: int = 1,
) -> Generator[None, None, JudgedBody]:
    """As `watch_whole`, but it yields about every half millisecond, so that other tasks can run."""
    if error_rules and (failure := error_rules.failure(body)) is not None:
        return JudgedBody(body, failure=failure)
    given, deltas = body, wire.whole(body)
    for delta in deltas:
        if type(delta) is Fault:
            return JudgedBody(body, failure=classify.finish(str(delta.code)) or classify.in_band(delta))
        if type(delta) is Malformed:
            return JudgedBody(body, known=False)
    sound = whole_calls(wire, body, deltas, spare=mode is Mode.ON)
    if sound is not body:
        body, deltas = sound, wire.whole(sound)
    cuts = tuple(
        ServerCut(delta.choice, word)
        for delta in deltas
        if type(delta) is Finish and (word := loop_stop(delta.reason, delta.fields)) is not None
    )
    off = _cut_off(deltas, cuts) if mode is Mode.ON else {}
    if rules is None or mode is Mode.OFF:
        body = _quiet(wire, body, off, cuts, attempts)
        return JudgedBody(body, server_cuts=cuts, deltas=deltas if body is given else ())
    tagged: Block | None = None
    size = 0
    if wire.thinks_in_text and ask.choices == 1:
        deltas, tagged, size = marked_whole(deltas, opened=begun(ask.body))
    watch = rules.watch(ask.brief, mode)
    findings: list[Finding] = []
    acting: Finding | None = None
    sample = ""
    keep: dict[Block, int] = {}
    visible: set[int] = set()
    ended: set[int] = set()
    calls: dict[Block, tuple[str, list[str]]] = {}
    for delta in deltas:
        if type(delta) is not Piece and type(delta) is not Open and type(delta) is not Close:
            continue
        block = delta.block
        choice = block[0]
        if choice in ended:
            if type(delta) is not Close:
                keep.setdefault(block, 0)  # text after the loop is removed with it
            continue
        found: list[Finding] = []
        left = 0
        text = ""
        if type(delta) is Open:
            if delta.channel is Channel.TOOL:
                calls[block] = (delta.name, [])
        elif type(delta) is Piece:
            text = delta.text
            if delta.channel is Channel.TOOL:
                calls.setdefault(block, ("", []))[1].append(text)
            found, left = yield from _feed(watch, delta)
        elif block in calls:
            name, parts = calls[block]
            found = list(watch.called(choice, name, "".join(parts)))
            visible.add(choice)
        findings += found
        acts = [finding for finding in found if finding.acts]
        if acts:
            ended.add(choice)
            keep[block] = left
            sample = text
            strongest = max(acts, key=lambda finding: finding.action)
            if acting is None or strongest.action > acting.action:
                acting = strongest
        if type(delta) is Piece and delta.channel in (Channel.TEXT, Channel.REFUSAL) and keep.get(block, 1):
            visible.add(choice)
    if acting is None:
        body = _quiet(wire, body, off, cuts, attempts)
        return JudgedBody(
            body,
            tuple(findings),
            server_cuts=cuts,
            near_misses=tuple(watch.near_misses()),
            deltas=deltas if body is given else (),
        )
    inside = False
    if tagged is not None:
        # For the wire the thinking is the beginning of the text.
        thought = keep.pop((tagged[0], "think"), None)
        if thought is not None:
            keep[tagged] = thought
            inside = thought < size
        elif tagged in keep:
            keep[tagged] += size
    ending = cut.ending(acting, visible=ended <= visible, plain=not ask.wants_json, sample=sample, attempts=attempts)
    if inside:
        ending = replace(ending, notice=CLOSING.lstrip() + (ending.notice or ""))
    return JudgedBody(wire.trim(body, {**off, **keep}, ending), tuple(findings), acting, server_cuts=cuts)


def whole_calls(wire: Wire, body: Json, deltas: Sequence[Delta], *, spare: bool = False) -> Json:
    """The answer without calls that broke off in the middle, ended as at its length limit; the very same object where
    all calls are complete. `spare`: leave out choices that the server cut because of a loop: `_cut_off` handles
    them."""
    for delta in deltas:
        if (type(delta) is Piece or type(delta) is Open) and delta.channel is Channel.TOOL:
            break
    else:
        return body  # no call at all
    reasons = {delta.choice: delta for delta in deltas if isinstance(delta, Finish)}
    arguments: dict[Block, list[str]] = {}
    free: set[Block] = set()
    said: dict[Block, bool] = {}
    last: dict[int, Block] = {}
    for delta in deltas:
        if isinstance(delta, Open) and delta.channel is Channel.TOOL:
            arguments.setdefault(delta.block, [])
            last[delta.block[0]] = delta.block
            if delta.fields.get("free"):
                free.add(delta.block)
        elif isinstance(delta, Piece) and delta.channel is Channel.TOOL:
            arguments.setdefault(delta.block, []).append(delta.text)
        elif isinstance(delta, Close) and "half" in delta.fields:
            said[delta.block] = bool(delta.fields["half"])
    halves: dict[int, dict[Block, int]] = {}
    for block, parts in arguments.items():
        end = reasons.get(block[0])
        reason = end.reason if end is not None else ""
        if spare and end is not None and loop_stop(reason, end.fields) is not None:
            continue
        if block in free:
            half = said.get(block, reason in BROKEN_OFF and last.get(block[0]) == block)
        else:
            half = said.get(block, False) or broken_off("".join(parts), reason)
        if half:
            halves.setdefault(block[0], {})[block] = 0
    for choice, keep in halves.items():
        given = reasons.get(choice)
        # An answer that ends inside a call was cut off, even where its server says that it finished.
        reason = given.reason if given is not None and given.reason in BROKEN_OFF else "length"
        body = wire.trim(body, keep, Ending(notice=marked(HALF), finish=reason))
    return body


def _cut_off(deltas: Sequence[Delta], cuts: Sequence[ServerCut]) -> dict[Block, int]:
    """For `trim`: the blocks to remove after a cut by the server. Only calls that the server left incomplete are
    removed."""
    keep: dict[Block, int] = {}
    for cut in cuts:
        arguments: dict[Block, Brackets] = {}
        for delta in deltas:
            if isinstance(delta, Piece) and delta.channel is Channel.TOOL and delta.block[0] == cut.choice:
                arguments.setdefault(delta.block, Brackets()).feed(delta.text)
        keep |= {block: 0 for block, brackets in arguments.items() if brackets.open}
        keep[cut.choice, ""] = 0  # names no real block: only the end of the choice changes
    return keep


def _quiet(wire: Wire, body: Json, off: Mapping[Block, int], cuts: Sequence[ServerCut], attempts: int) -> Json:
    """The answer with the wire's quiet end where the server cut a loop itself."""
    if not off:
        return body
    notice = marked(HALF) if any(key for _, key in off) else None
    return wire.trim(body, off, Ending(notice=notice, marker=marker(cuts[0], attempts)))


def _feed(watch: Watcher, piece: Piece) -> Generator[None, None, tuple[list[Finding], int]]:
    """Feed one piece. Returns (findings, characters of the block to keep); stops at the first finding that acts."""
    (choice, key), channel, text = piece
    findings: list[Finding] = []
    for at in range(0, len(text), STEP):
        end = min(at + STEP, len(text))
        found = watch.feed(choice, channel, key, text[at:end])
        findings += found
        acting = next((finding for finding in found if finding.acts), None)
        if acting is not None:
            if channel is Channel.TOOL:
                return findings, 0
            hit = acting.hit
            since = end - (hit.at - hit.since)
            return findings, max(0, min(end, since + (hit.period or 0)))
        if end % TURN == 0:
            yield
    return findings, len(text)
