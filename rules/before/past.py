"""What is remembered of a history that was looked at, and the look at the same history with some messages more.

A step is known by the hash under which `Outlines` keeps it. With the outlines of the old steps and of the new ones the
step detectors can say that nothing repeats, which is so in most requests. `went_on` gives the very result that a look
at the whole history would give, or None where that look is needed: where a detector finds a hit plausible, where the
user has said something, where a result belongs to an old call, or where something has to be changed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..histories.base import History, Json, Pairing, Turn
from ..values.steps import RUN_LIMIT, Run
from ..wires.base import Wire
from .evidence.outline import Outlines, key_of_step
from .hygiene import keys, tidy
from .review import BoundDetector

TEXTS = 256
"""Keys of answers that are remembered of one history, at most."""
MANY = 32
"""New items from which a look at all of the history is as good."""
BACK = (1, 3)
"""Steps that are left out of the beginnings that are remembered of a new history."""


class Past(NamedTuple):
    """A history that was looked at, in numbers."""

    wire: str
    cleaned_by: int
    """Hash of the members by which the wire's `clean` decides."""
    clean: bool
    """There is nothing in it that is removed where the mode is on."""
    items: int
    steps: tuple[int, ...]
    """Keys of the newest run's steps, oldest first, at most 64."""
    sizes: tuple[int, ...]
    """Assistant items of each of these steps."""
    short: bool = False
    """There may be one step more before these, which counts where no new one comes."""
    mark: bytes = b""
    """The digest of its items for the identity of a request (`BodyDigest`); b"" = nobody asked for it."""
    texts: tuple[int, ...] | None = None
    """Keys of its answers, for our own cuts; None = nobody asked for them."""


def pasts_of(wire: Wire, history: History, body: Json, run: Run, clean: bool) -> tuple[Past, ...]:
    """What to remember of this body: of all of it, and of its beginnings without the newest steps, because clients
    change their newest messages in the next request (they move the marks of the provider's cache). () where the look
    at its next request needs all of it."""
    items = history.items(body)
    if wire.cleans_by is None or not run.steps or run.nudged or not _closed(history, items[-1]):
        return ()
    sizes = tuple(sum(history.is_step(items[at]) for at in step.at) for step in run.steps)
    if sum(sizes) > RUN_LIMIT * history.items_per_step:
        return ()
    steps = tuple(map(key_of_step, run.steps))
    whole = Past(wire.name, _members(wire, body), clean, len(items), steps, sizes)
    begins = [step.at[0] for step in run.steps[-max(BACK) :]]
    return (whole, *_earlier(history, whole, items, 0, begins, BACK))


def _earlier(
    history: History, whole: Past, items: Sequence[Any], base: int, begins: Sequence[int], back: Sequence[int]
) -> Iterator[Past]:
    """The beginnings of a history without so many of its newest steps. `items`: the items from position `base` on;
    `begins`: where its newest steps begin."""
    for steps in back:
        if steps > len(begins) or steps >= len(whole.steps):
            return
        at = begins[-steps]
        if at - 1 < base or not history.is_step(items[at - base]) or not _closed(history, items[at - 1 - base]):
            return
        if any(history.said(item) is not None for item in items[at - base :]):
            return
        short = whole.short or len(whole.steps) == RUN_LIMIT
        yield whole._replace(items=at, steps=whole.steps[:-steps], sizes=whole.sizes[:-steps], short=short)


def with_texts(past: Past, found: Mapping[int, str]) -> Past:
    """The same with the keys of its answers. `found`: position → key, of all answers in it and maybe of later ones."""
    texts = [int(key, 16) for at, key in found.items() if at < past.items]
    return past._replace(texts=tuple(texts) if len(texts) <= TEXTS else None)


def all_texts(history: History, new: Sequence[Any], past: Past) -> dict[int, str] | None:
    """The keys of all answers, as for `with_texts`: of the old ones (whose positions are not known any more) and of
    these new items. None where the old ones are not remembered."""
    if past.texts is None:
        return None
    found = {-at: f"{key:032x}" for at, key in enumerate(past.texts, 1)}
    for at, key in keys(history, {history.member: new}).items():
        found[past.items + at] = key
    return found


def went_on(
    wire: Wire,
    history: History,
    members: Json,
    new: Sequence[Any],
    past: Past,
    watchers: Sequence[BoundDetector],
    clean: bool,
    known: Outlines,
) -> Generator[None, None, tuple[Past, ...] | None]:
    """Look at a history of which only these `new` items were not seen before. Nothing repeats and nothing is to be
    changed: what to remember of it. None: look at all of it. `members`: the body without its history; `watchers`: those
    that are not switched off; `clean`: what is ours is to be removed. It yields about every half millisecond."""
    if past.wire != wire.name or past.cleaned_by != _members(wire, members):
        return None
    if (clean and not past.clean) or (past.short and not new) or len(new) > MANY:
        return None
    turns: list[Turn] = []
    if new:
        # The first item begins a step, so that the old steps are what they were.
        if not history.is_step(new[0]) or not _closed(history, new[-1]):
            return None
        if any(history.said(item) is not None for item in new):
            return None
        pairing = Pairing()
        turns = history.turns(new, past.items, pairing)
        if pairing.astray:
            return None
        if clean:
            body = {**members, history.member: new}
            if wire.clean(body) is not body or tidy(history, body, {}) is not body:
                return None
    steps = [turn.step() for turn in turns]
    outlines = yield from known.of(steps)
    sizes = [sum(history.is_step(new[at - past.items]) for at in step.at) for step in steps]
    all_keys = (*past.steps, *map(key_of_step, steps))[-RUN_LIMIT:]
    all_sizes = (*past.sizes, *sizes)[-RUN_LIMIT:]
    if sum(all_sizes) > RUN_LIMIT * history.items_per_step:
        return None  # a look at the whole reads so many items, and the oldest of these steps may not be among them
    old = known.kept(past.steps)
    if old is None:
        return None
    outlines = [*old, *outlines][-RUN_LIMIT:]
    for watcher in watchers:
        if watcher.kind.session:
            continue  # it looks at what was before the newest run, where that has no step
        plausible = watcher.kind.plausible
        if plausible is None or plausible(watcher.params, outlines):
            return None
    short = past.short and len(all_keys) < RUN_LIMIT
    whole = past._replace(
        items=past.items + len(new), steps=all_keys, sizes=all_sizes, short=short, texts=None, mark=b""
    )
    if len(steps) == 1:
        return (whole,)  # the history has only grown, or its newest step is always another one
    return (whole, *_earlier(history, whole, new, past.items, [step.at[0] for step in steps], BACK))


def _closed(history: History, item: Any) -> bool:
    """Does the next assistant item after this one begin a new step?"""
    return not history.is_step(item) and (history.answers(item) or history.said(item) is not None)


def _members(wire: Wire, body: Json) -> int:
    return hash(tuple(str(body.get(name)) for name in wire.cleans_by or ()))
