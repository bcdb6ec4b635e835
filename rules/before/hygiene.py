"""Removes the traces of our cuts from a request, so that they do not disturb the model.

- Notices are removed from assistant texts.
- An answer that we cut is recognised by a digest of what the client was shown. It is shortened to its healthy beginning
  and one copy of the loop.
- A streak of equal steps is cropped, only where that is switched on (MiMo-Code's crop).

All rewrites are functions of the request and of the record of our cuts. The same history always becomes the same
request, so the provider's prompt cache stays valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..detect.ruleset import RuleSet
from ..histories.base import History, Json
from ..values.brief import Brief
from ..values.delta import Block, Channel
from ..values.notices import HALF, MARK, has_notice, strip_notices
from ..values.signature import streak_key
from ..values.verdict import Finding
from .spans import Cropped, all_streaks, crop

CONTINUE = "Continue."
"""What MiMo-Code adds when a crop leaves an assistant turn last."""
COLLAPSIBLE = 512
"""Characters. No rule fires on less, so shorter texts are not watched again."""
GATHERED = 1024
"""Characters of an answer that are hashed at once."""
SHORTEST = 64
"""Characters. Shorter answers are not looked up, because they are not worth shortening."""


class Sieve:
    """A digest of a text without its white space, because clients change white space when they store an answer."""

    __slots__ = ("_hash", "_parts", "_waiting", "chars")

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)
        self._parts: list[str] = []
        self._waiting = 0
        self.chars = 0

    def update(self, text: str) -> None:
        """Take more text, in pieces of any size. Pieces are collected, because most events carry a few characters."""
        size = len(text)
        self.chars += size
        self._parts.append(text)
        self._waiting += size
        if self._waiting >= GATHERED:
            self._sift()

    def _sift(self) -> None:
        self._hash.update("".join("".join(self._parts).split()).encode("utf-8", "replace"))
        self._parts.clear()
        self._waiting = 0

    def hexdigest(self) -> str:
        """The key: 32 hex digits."""
        self._sift()
        return self._hash.hexdigest()


def key_of(text: str) -> str:
    """The key of a whole text."""
    sieve = Sieve()
    sieve.update(text)
    return sieve.hexdigest()


class Imprint:
    """Makes the digest of an answer while it is sent, so that it is recognised when the client sends it back.

    `per_item`: the client sends every text block as an item of its own (Responses), so the newest one counts alone.
    """

    __slots__ = ("_block", "_per_item", "before", "sieve")

    def __init__(self, per_item: bool) -> None:
        self._per_item = per_item
        self._block: Block | None = None
        self.sieve = Sieve()
        self.before = 0
        """Characters of earlier items."""

    def hear(self, block: Block, text: str) -> None:
        """Take more of a text block."""
        if self._per_item and block != self._block:
            self._block = block
            self.before += self.sieve.chars
            self.sieve = Sieve()
        self.sieve.update(text)

    def cut(self, finding: Finding, reasoning: int) -> tuple[str, int] | None:
        """(key, characters to keep) of an answer that this finding cut; None where shortening it is not worth it.

        `reasoning`: characters of thinking shown before, which a rule over the whole choice has counted too.
        """
        if finding.channel is not Channel.TEXT or finding.choice or self.sieve.chars < SHORTEST:
            return None
        keep = finding.hit.since + (finding.hit.period or 0) - self.before - reasoning
        return (self.sieve.hexdigest(), max(0, keep)) if keep < self.sieve.chars else None


def keys(history: History, body: Json) -> dict[int, str]:
    """Position → key of every assistant text in the request that may be an answer that we cut."""
    found = {}
    for i, item in enumerate(history.items(body)):
        text = strip_notices(history.text(item))
        if len(text) >= SHORTEST:
            found[i] = key_of(text)
    return found


def was_cut(history: History, body: Json, cuts: Mapping[str, int], found: Mapping[int, str]) -> bool:
    """Was the newest answer of this history cut as a loop, with nothing but the user's words after it? `found` as
    `keys` gave it for this body."""
    items = history.items(body)
    at = len(items) - 1
    while at >= 0 and not history.is_step(items[at]):
        if history.answers(items[at]):
            return False
        at -= 1
    if not 0 <= at < len(items) - 1:
        return False
    if found.get(at) in cuts:
        return True
    text = history.text(items[at])
    return has_notice(text) and not text.rstrip().endswith(HALF)


def tidy(history: History, body: Json, cuts: Mapping[str, int], found: Mapping[int, str] | None = None) -> Json:
    """The request without our notices and with our cut answers shortened; the very same object if there are none.

    `cuts`: key → characters to keep. `found`: as `keys` gave it, if it was asked already.
    """
    items = history.items(body)
    if not cuts:
        found = {}
    elif found is None:
        found = keys(history, body)
    if not found:
        for item in items:
            if MARK in history.text(item):
                break
        else:
            return body  # so are most: nothing of ours is in it
    new: list[Any] = []
    changed = False
    for i, item in enumerate(items):
        text = history.text(item)
        kept = text
        if MARK in text:
            kept = strip_notices(text)
        if i in found and found[i] in cuts:
            kept = kept[: cuts[found[i]]].rstrip()
        if kept == text:
            new.append(item)
            continue
        changed = True
        item = history.with_text(item, kept)
        if item is not None:
            new.append(item)
    return {**body, history.member: new} if changed else body


def collapse(history: History, body: Json, rules: RuleSet) -> Json:
    """Shorten every assistant text in which a cutting rule fires to its beginning and one copy, whoever cut it."""
    items = history.items(body)
    new: list[Any] = []
    changed = False
    for item in items:
        text = history.text(item)
        findings = rules.watch(Brief()).feed(0, Channel.TEXT, "text", text) if len(text) >= COLLAPSIBLE else ()
        hit = next((finding.hit for finding in findings if finding.acts), None)
        if hit is None:
            new.append(item)
            continue
        changed = True
        item = history.with_text(item, text[: hit.since + (hit.period or 0)].rstrip())
        if item is not None:
            new.append(item)
    return {**body, history.member: new} if changed else body


class Crop(BaseModel):
    """The streak crop's numbers, MiMo-Code's. Off unless asked for: it can cost the provider's prompt cache."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = False
    trigger: int = Field(default=3, ge=2)
    max_span: int = Field(default=64, ge=2)


@dataclass(frozen=True, slots=True)
class Cropping:
    """The outcome of a crop: the body (the very same object if nothing was cropped) and what went."""

    body: Json
    crops: tuple[Cropped[int], ...] = ()

    @property
    def cache_risk(self) -> bool:
        """Was so much removed that the provider's prompt cache is likely lost?"""
        return any(cropped.cache_risk for cropped in self.crops)


def crop_streaks(history: History, body: Json, settings: Crop) -> Cropping:
    """Drop the steps of every streak of equal thinking (else equal calls), together with their results."""
    items = history.items(body)
    if not settings.enabled or not items:
        return Cropping(body)
    steps = []
    where: dict[int, Sequence[int]] = {}
    for n, turn in enumerate(history.turns(items)):
        step = turn.step()
        calls = [(call.name, call.arguments) for call in step.calls]
        blocks = 2 * len(calls) + bool(step.text) + bool(step.reasoning)
        steps.append((n, streak_key(step.reasoning, calls), blocks))
        where[n] = step.at
    spans = all_streaks([(n, key) for n, key, _ in steps], settings.trigger, settings.max_span)
    if not spans:
        return Cropping(body)
    crops = tuple(crop(steps, span) for span in spans)
    gone = frozenset(at for cropped in crops for n in cropped.omitted for at in where[n])
    kept = history.without(items, gone)
    if kept and history.is_step(kept[-1]):
        kept.append(history.user(CONTINUE))
    return Cropping({**body, history.member: kept}, crops)
