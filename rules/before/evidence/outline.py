"""The outline of a step: numbers to compare it by, and none of its characters.

A request sends all steps of its run again, and all but the newest were looked at with the request before. `Outlines`
remembers them by a digest of the whole step, so that a request costs one step and not 21 (20 steps with results of 1.8
kB: 2.4 ms the first time, 0.08 ms when they come again). From outlines alone a step detector tells whether the newest
step could hit (`DetectorKind.plausible`). The facts of the run are computed and walked over only where one says yes.
The numbers are Python's hashes, with a new key in every process. Equal things have equal numbers, so a step that would
hit by the facts is never ruled out by the outlines.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Sequence
from typing import NamedTuple

from ...values.signature import fold_digits
from ...values.steps import Step
from .facts import CallFacts, Facts, facts, is_piece, no_effect

MOST = 20_000
"""Steps that one process remembers: some 10 MB."""
TURN = 32_000
"""Characters of new steps that are looked at between two yields: some half a millisecond."""
STEP = 1_000
"""What a step costs beside its text, in the same unit."""


class CallOutline(NamedTuple):
    """One call of a step."""

    outcome: int
    """Number of the call and its result."""
    piece: int
    """Number of the call with its digits folded, where its result may be a piece of a file; else 0."""
    failing: int
    """Number of the tool's name, where the result is an error, empty or without effect; else 0."""
    answered: bool
    changes: bool


class Outline(NamedTuple):
    """One step. A text that is "" has the number 0."""

    text: int
    chars: int
    """Number of the text key."""
    template: int
    template_chars: int
    text_key: int
    signature: int
    """Number of all calls."""
    outcomes: int
    """Number of all calls and their results."""
    reasoning: int
    """Characters of the reasoning."""
    cut: bool
    calls: tuple[CallOutline, ...]


def outline(step: Facts) -> Outline:
    """The outline of a step."""
    return Outline(
        _number(step.text),
        len(step.text),
        _number(step.template),
        len(step.template),
        _number(step.text_key),
        hash(step.signature),
        hash(tuple(call.outcome for call in step.calls)),
        len(step.step.reasoning),
        step.step.cut,
        tuple(map(_call, step.calls)),
    )


def _call(call: CallFacts) -> CallOutline:
    failing = call.failed or call.empty or no_effect(call)
    return CallOutline(
        hash(call.outcome),
        hash(fold_digits(call.loose)) or 1 if is_piece(call) else 0,
        hash(call.name) or 1 if failing else 0,
        call.result is not None,
        call.changes,
    )


def _number(text: str) -> int:
    return (hash(text) or 1) if text else 0


class Outlines:
    """The outlines that one process remembers, the newest `most` of them."""

    __slots__ = ("_kept", "_most")

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[int, Outline] = OrderedDict()

    def of(self, steps: Sequence[Step]) -> Generator[None, None, list[Outline]]:
        """The outlines of these steps. Yields about every half millisecond, so that other tasks can run."""
        kept, found, spent = self._kept, [], 0
        for step in steps:
            key = key_of_step(step)
            known = kept.get(key)
            if known is None:
                known = kept[key] = outline(facts(step))
                if len(kept) > self._most:
                    kept.popitem(last=False)
                spent += STEP + size(step)
                if spent >= TURN:
                    spent = 0
                    yield
            else:
                kept.move_to_end(key)
            found.append(known)
        return found

    def kept(self, keys: Sequence[int]) -> list[Outline] | None:
        """The outlines of these keys; None where one of them was forgotten."""
        kept, found = self._kept, []
        for key in keys:
            known = kept.get(key)
            if known is None:
                return None
            kept.move_to_end(key)
            found.append(known)
        return found

    def __len__(self) -> int:
        return len(self._kept)


def key_of_step(step: Step) -> int:
    """The number under which a step's outline is kept."""
    return hash((step.text, step.reasoning, step.calls, step.cut))


def size(step: Step) -> int:
    """Characters of a step that a look at it goes over."""
    return len(step.text) + sum(len(call.arguments) + len(call.result or "") for call in step.calls)
