"""The same sentence step after step, while the calls bring nothing new: an agent that watches, or searches, without
end. There are two forms. In the first, sentence and call are the same except for numbers; results may change. In the
second, a whole sentence is the same, the calls only look something up, and their short results are the same except for
numbers and for words of the calls: other questions, and the same answer to each.

The same sentence before *different* calls that bring something, or that do something, is normal work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from ...values.signature import fold_digits, parse_arguments
from ...values.verdict import Hit
from ..evidence.facts import CallFacts, Facts
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LOOKS = frozenset(
    (
        *("search", "grep", "find", "glob", "read", "view", "open", "cat", "list", "ls", "get", "fetch", "query"),
        *("look", "lookup", "show", "inspect", "browse", "retrieve", "describe", "scan", "check", "explore"),
    )
)
"""Words in the names of tools that look something up. Whatever else a tool is called, it may do something."""
_COMMAND = re.compile(
    r"\s*(?:cd \S+ *(?:&&|;) *)?"
    r"(?:rg|e?grep|ag|fd|cat|ls|find|sed -n|head|tail|wc|git (?:show|diff|log|grep|blame))\s"
)
_SHORT = 600
"""Characters of a result that is compared without the words of its call; a longer one is content."""
_CALL = 1024
"""Characters of arguments whose words are looked for; longer ones carry content."""


class NarrationParams(DetectorParams):
    """`equal` turns in a row; a sentence of fewer than `chars` characters says nothing, and before calls that differ
    one of fewer than `sentence`, since agents have short set phrases."""

    equal: int = Field(default=12, ge=3)
    chars: int = Field(default=16, ge=1)
    sentence: int = Field(default=40, ge=1)


class Narration(StepDetector):
    """Compares the texts, with numbers folded, and the calls or what they brought."""

    def __init__(self, params: NarrationParams) -> None:
        self.params = params
        self.seen = 0
        self.row = 0
        self.key: tuple[str, tuple[str, ...]] | None = None
        self.idle = 0
        self.brought: tuple[str, tuple[str, ...]] | None = None

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        params = self.params
        if len(step.template) < params.chars or not step.calls:
            self.row = self.idle = 0
            self.key = self.brought = None
            return None
        key = (step.template, tuple(call.loose for call in step.calls))
        self.row = self.row + 1 if key == self.key else 1
        self.key = key
        brought = self._brought(step)
        self.idle = self.idle + 1 if brought is not None and brought == self.brought else int(brought is not None)
        self.brought = brought
        row = self.row
        if row < params.equal:
            row = self.idle
            if row < params.equal or any(call.pending for call in step.calls):
                return None
        return Hit(self.seen, self.seen - row, row, 1, row, {"equal": row}, {"equal": params.equal})

    def _brought(self, step: Facts) -> tuple[str, tuple[str, ...]] | None:
        """The sentence, and each result without the words of its call; None where this step may be work."""
        if len(step.template) < self.params.sentence:
            return None
        left = [_left(call) for call in step.calls]
        names = tuple(f"{call.name}\0{rest}" for call, rest in zip(step.calls, left, strict=True) if rest is not None)
        return (step.template, names) if len(names) == len(left) else None


def _left(call: CallFacts) -> str | None:
    """A result without the words of its call, numbers folded; None where it may be content, or something changed."""
    result, asked = call.result, call.call.arguments if call.call is not None else ""
    if result is None or call.changes or len(result) > _SHORT or len(asked) > _CALL or not _looks(call.name, asked):
        return None
    known = set(_WORD.findall(" ".join(_leaves(parse_arguments(asked)))))
    return fold_digits(_WORD.sub(lambda word: "" if word[0] in known else word[0], result))


def _looks(name: str, arguments: str) -> bool:
    """Does this call look something up, and nothing else?"""
    if {word.lower() for word in _NAME.findall(name[:200])} & _LOOKS:
        return True
    return any(_COMMAND.match(leaf) for leaf in _leaves(parse_arguments(arguments)))


def _leaves(value: Any) -> list[str]:
    """The scalars of some arguments, as text."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [leaf for one in value for leaf in _leaves(one)]
    return [] if value is None else [str(value)]


def plausible(params: NarrationParams, steps: Sequence[Outline]) -> bool:
    """Do the newest two steps say the same, except for numbers?"""
    if len(steps) < 2 or steps[-1].template_chars < params.chars or not steps[-1].calls:
        return False
    return steps[-1].template == steps[-2].template


DETECTOR = DetectorKind(
    "narration",
    "the same sentence, and calls that bring nothing else",
    NarrationParams,
    Narration,
    Words(
        en="For {n} steps you wrote the same sentence, and your calls brought nothing new but numbers.",
        zh="你连续 {n} 步写了同一句话，你的调用除了数字没有带来任何新内容。",
    ),
    plausible=plausible,
    late=0,
)
