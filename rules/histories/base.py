"""The contract of a history: a request body of one wire read as steps, and rewritten without harming a pairing.

Reading never raises: members of unknown shape are skipped. A rewrite returns a new body that shares every untouched
member with the old one, or the very same object where there is nothing to change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from ..values.notices import MARK, has_notice, strip_notices
from ..values.steps import RUN_LIMIT, Run, Step, ToolCall
from .automatic import bare_result, is_timer, may_hold_call, written_call
from .parts import result_of

Json: TypeAlias = Mapping[str, Any]
SESSION_LIMIT = 16
"""Steps of earlier runs that are read for step detectors of a whole session."""


@dataclass(slots=True)
class Turn:
    """A step while it is read: results come later than their calls (`Pairing`)."""

    at: list[int]
    text: list[str]
    reasoning: list[str]
    calls: list[ToolCall]
    nudge: str | None = None

    def step(self) -> Step:
        """The finished step, without our notices in its text."""
        parts = self.text
        text = parts[0] if len(parts) == 1 else "\n\n".join(part for part in parts if part)
        noted = MARK in text
        return Step(
            at=tuple(self.at),
            text=strip_notices(text) if noted else text,
            reasoning="".join(self.reasoning),
            calls=tuple(self.calls),
            nudge=self.nudge,
            cut=noted and has_notice(text),
        )


class MessageOrigin(Enum):
    """Why a user message is in the history."""

    BY_ITSELF = "by itself"
    RESULT = "result"
    """It is the result of a call that the answer before it wrote as text."""
    AFTER_RESULTS = "after results"


class Pairing:
    """Finds the call that a result answers: the first unanswered call with its id in the newest step.

    Ids may come twice, in one step or in several; a look-up costs the same however many calls there are.
    """

    __slots__ = ("_open", "astray")

    def __init__(self) -> None:
        self._open: dict[str, list[tuple[Turn, deque[int]]]] = {}
        self.astray = False
        """There was a result without a call."""

    def called(self, turn: Turn, call: ToolCall) -> None:
        """Add a call of this step, which is the newest so far."""
        turns = self._open.setdefault(call.id, [])
        if not turns or turns[-1][0] is not turn:
            turns.append((turn, deque()))
        turns[-1][1].append(len(turn.calls))
        turn.calls.append(call)

    def answer(self, at: int, ident: str, result: str, failed: bool | None) -> None:
        """Pair the result at this position with the call of that id. A result without a call is skipped."""
        turns = self._open.get(ident)
        if not turns:
            self.astray = True
            return
        turn, calls = turns[-1]
        i = calls.popleft()
        if not calls:
            turns.pop()
        call = turn.calls[i]
        turn.calls[i] = ToolCall(call.id, call.name, call.arguments, result, failed)
        if turn.at[-1] != at:
            turn.at.append(at)


class History(ABC):
    """How requests of one wire carry the conversation so far."""

    member: str
    """The member of the body that holds the history: messages, input."""
    items_per_step: int = 1
    """Assistant items in one step, usually at most."""

    def recognises(self, body: Json) -> bool:
        """Does a body without a path look like a request of this wire? Default: no; then recordings say their wire."""
        return False

    @abstractmethod
    def turns(self, items: Sequence[Any], base: int = 0, pairing: Pairing | None = None) -> list[Turn]:
        """The steps of these items, oldest first; positions count from `base`. `pairing`: a new one, where the caller
        wants to know whether all results had a call."""

    @abstractmethod
    def said(self, item: Any) -> str | None:
        """The text of a real user message; None for anything else (tool results, our own words, other roles)."""

    @abstractmethod
    def answers(self, item: Any) -> bool:
        """Does this item hold a tool's result?"""

    def shown(self, item: Any) -> str:
        """Everything in a user message but results of calls; pictures are represented by their digest."""
        content = item.get("content") if isinstance(item, dict) else None
        if isinstance(content, list):
            content = [part for part in content if not (isinstance(part, dict) and part.get("type") == "tool_result")]
        return result_of(content)

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
        """A user item with this text."""

    @abstractmethod
    def assistant(self, text: str) -> Any:
        """An assistant item with this text."""

    def outputs(self, body: Json) -> dict[str, str]:
        """Results by call id, whether or not their calls are in this request."""
        return {}

    def items(self, body: Json) -> Sequence[Any]:
        """The history of a body; empty where there is no readable one."""
        items = body.get(self.member)
        return items if isinstance(items, list) else ()

    def run(self, body: Json, limit: int = RUN_LIMIT) -> Run:
        """The newest run of a body and a bounded part of what came before, so that the cost does not grow with the
        history."""
        items = self.items(body)
        steps, split, start = 0, 0, 0
        limit *= self.items_per_step
        asked: str | None = None
        after: tuple[int, str] | None = None
        """The newest message that came right after results. It is a nudge if the one before it is equal."""
        nudged = False
        for i in range(len(items) - 1, -1, -1):
            if asked is None and (said := self.said(items[i])) is not None:
                came = self._came(items, i, said)
                if came is MessageOrigin.RESULT:
                    continue
                if came is MessageOrigin.AFTER_RESULTS and (after is None or after[1] == said):
                    nudged = after is not None
                    after = (i, said)
                    continue
                split, asked = (i, said) if after is None or nudged else after
                split += 1
                limit = min(limit, steps + SESSION_LIMIT * self.items_per_step)
            elif self.is_step(items[i]):
                steps += 1
                if steps > limit:
                    start = i + 1
                    break
        if asked is None and after is not None and not nudged:
            split, asked = after[0] + 1, after[1]
        turns = self.turns(items[start:], start)
        self._read_written(items, turns)
        run = tuple([turn.step() for turn in turns if turn.at[0] >= split][-RUN_LIMIT:])
        earlier = tuple([turn.step() for turn in turns if turn.at[0] < split])
        return Run(run, earlier, asked, nudged)

    def _came(self, items: Sequence[Any], at: int, said: str) -> MessageOrigin:
        """How a user message came about."""
        before = items[at - 1] if at else None
        brings = self.answers(items[at])
        if self.is_step(before) and not brings:
            text = self.text(before)
            written = text and written_call(text, self.shown(items[at])) is not None
            return MessageOrigin.RESULT if written else MessageOrigin.BY_ITSELF
        after = (brings or self.answers(before)) and said.strip() and not is_timer(said)
        return MessageOrigin.AFTER_RESULTS if after and self.shown(items[at]) == said else MessageOrigin.BY_ITSELF

    def _read_written(self, items: Sequence[Any], turns: Sequence[Turn]) -> None:
        """Calls that answers wrote as text, with the next user message as the result of each."""
        for n, turn in enumerate(turns):
            if turn.calls or not any(may_hold_call(text) for text in turn.text):
                continue
            if any(has_notice(text) for text in turn.text):
                continue
            end = turns[n + 1].at[0] if n + 1 < len(turns) else len(items)
            replies = [self.shown(item) for item in items[turn.at[-1] + 1 : end] if self.said(item) is not None]
            if replies and (call := written_call("\n\n".join(turn.text), replies[0])) is not None:
                turn.calls.append(ToolCall("", call.name, call.text, bare_result("\n".join(replies))))
                turn.text = [call.before]


def of_kind(part: Any, kinds: AbstractSet[str], unsaid: str = "") -> bool:
    """Is this a part whose type is one of these? `unsaid`: what a part without a type is."""
    kind = part.get("type", unsaid) if isinstance(part, dict) else None
    return isinstance(kind, str) and kind in kinds


def text_of(content: Any, kinds: AbstractSet[str]) -> str:
    """The text of a content member: a string, or its parts of these kinds as paragraphs (MiMo-Code: a space)."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif of_kind(part, kinds, "text") and isinstance(part.get("text"), str):
            parts.append(part["text"])
    return "\n\n".join(parts)
