"""The contract of a history: a request body of one wire read as steps, and rewritten without harming a pairing.

Reading never raises on odd bodies: what is not understood is passed over. A rewrite gives a new body that shares every
untouched member with the old one; where there is nothing to do it is the very same object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..notices import has_notice, strip_notices
from ..steps import RUN_LIMIT, Run, Step, ToolCall

Json: TypeAlias = Mapping[str, Any]
SESSION_LIMIT = 16
"""Steps of earlier runs that are read for habits of a whole session."""


@dataclass(slots=True)
class Turn:
    """A step while it is being read: results come after the calls they belong to."""

    at: list[int]
    text: list[str]
    reasoning: list[str]
    calls: list[ToolCall]
    nudge: str | None = None

    def answer(self, ident: str, result: str, failed: bool | None) -> bool:
        """Pair a result with the first unanswered call of that id. False: there is none here."""
        for i, call in enumerate(self.calls):
            if call.id == ident and call.result is None:
                self.calls[i] = ToolCall(call.id, call.name, call.arguments, result, failed)
                return True
        return False

    def step(self) -> Step:
        """The finished step; our own notices are taken out of its text."""
        text = " ".join(part for part in self.text if part)
        return Step(
            at=tuple(self.at),
            text=strip_notices(text),
            reasoning="".join(self.reasoning),
            calls=tuple(self.calls),
            nudge=self.nudge,
            cut=has_notice(text),
        )


class History(ABC):
    """One wire's way of telling what happened so far."""

    member: str
    """The member of the body that holds the history: messages, input."""
    items_per_step: int = 1
    """Assistant items that one step is made of, at most as a rule."""

    @abstractmethod
    def turns(self, items: Sequence[Any], base: int = 0) -> list[Turn]:
        """The steps of these items, oldest first; positions count from `base`."""

    @abstractmethod
    def said(self, item: Any) -> str | None:
        """What a real user message says; None for anything else (tool results, our own words, other roles)."""

    @abstractmethod
    def is_step(self, item: Any) -> bool:
        """Is this (part of) an assistant step?"""

    @abstractmethod
    def text(self, item: Any) -> str:
        """The text of an assistant item, as the client holds it; "" for anything else."""

    @abstractmethod
    def with_text(self, item: Any, text: str) -> Any:
        """The assistant item with its text replaced, everything else kept; None = nothing is left of it."""

    @abstractmethod
    def without(self, items: Sequence[Any], at: frozenset[int]) -> list[Any]:
        """The items without those steps, and without the results that belonged to their calls."""

    @abstractmethod
    def user(self, text: str) -> Any:
        """A user item that says this."""

    @abstractmethod
    def assistant(self, text: str) -> Any:
        """An assistant item that says this."""

    def outputs(self, body: Json) -> dict[str, str]:
        """Results by call id, whether or not their calls are in this request."""
        return {}

    def items(self, body: Json) -> Sequence[Any]:
        """The history of a body; empty where there is none that we can read."""
        items = body.get(self.member)
        return items if isinstance(items, list) else ()

    def run(self, body: Json, limit: int = RUN_LIMIT) -> Run:
        """The newest run of a body, and what came before it, bounded: the cost does not grow with the history."""
        items = self.items(body)
        steps, split, start = 0, 0, 0
        limit *= self.items_per_step
        asked: str | None = None
        for i in range(len(items) - 1, -1, -1):
            if asked is None and (asked := self.said(items[i])) is not None:
                split = i + 1
                limit = min(limit, steps + SESSION_LIMIT * self.items_per_step)
            elif self.is_step(items[i]):
                steps += 1
                if steps > limit:
                    start = i + 1
                    break
        turns = self.turns(items[start:], start)
        run = tuple(turn.step() for turn in turns if turn.at[0] >= split)[-RUN_LIMIT:]
        earlier = tuple(turn.step() for turn in turns if turn.at[0] < split)
        return Run(run, earlier, asked)


def text_of(content: Any, kinds: frozenset[str]) -> str:
    """The text of a content member: a string, or the parts of these kinds joined by a space (as the seed joins)."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and str(part.get("type", "text")) in kinds and isinstance(part.get("text"), str):
            parts.append(part["text"])
    return " ".join(parts)


def result_of(content: Any) -> str:
    """A tool result as text; parts that are not text (images) are named, so that two of them still compare."""
    if isinstance(content, list):
        return " ".join(
            str(part.get("text") or part.get("type", "")) if isinstance(part, dict) else str(part) for part in content
        )
    return content if isinstance(content, str) else "" if content is None else str(content)
