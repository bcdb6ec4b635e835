"""What a step did, worked out once for all habits: keys of its text, its calls and their outcomes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .signature import call_signature, fold_clock, fold_digits, normalise, unwrapped
from .steps import Step, ToolCall

_SHORT = 600
"""Only short results are read as a status: a long one is content that happens to contain such a word."""
_PENDING = re.compile(
    r"\b(?:pending|running|in[ _-]progress|queued|waiting|not ready|no new output|still|processing|building|starting"
    r"|scheduled|retry later|try again later)\b|进行中|等待|处理中|排队|运行中",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\b(?:error|exception|traceback|failed|failure|denied|forbidden|unauthori[sz]ed|refused|timed? ?out|invalid|cannot"
    r"|can't|could not|no such file|not permitted|unknown (?:command|option|tool)|fatal|panic|exit status"
    r"|exit(?:ed)?(?: with)? code(?!:? ?0\b)|(?:401|403|404|429|500|502|503))\b|错误|失败|拒绝",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    r"\s*(?:\[\s*\]|\{\s*\}|\(no (?:output|content)\)|null|none|no (?:results?|matches|output|data|files?|records?)\b.*"
    r"|nothing found.*|(?:0|zero) (?:results?|matches|hits|rows)\b.*|not found\.?|没有.*|未找到.*)?\s*",
    re.IGNORECASE | re.DOTALL,
)
_CHANGES = re.compile(
    r"(?:^|[_\W])(?:edit|write|patch|apply|create|update|delete|remove|insert|replace|move|rename|commit|put|save|set)"
    r"|str_replace|(?:Edit|Write|Patch|Create|Update|Delete|Insert|Replace)",
)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call. Two calls with the same `outcome` did the same and got the same."""

    name: str
    signature: str
    loose: str
    result: str | None
    """The result with clock times folded; None while unanswered."""
    failed: bool
    empty: bool
    pending: bool
    changes: bool
    """The tool's name says that it changes something: what follows it may rightly be done again."""

    @property
    def outcome(self) -> tuple[str, str | None]:
        """The call and its result."""
        return (self.loose, self.result)


@dataclass(frozen=True, slots=True)
class Facts:
    """One step, as habits see it."""

    step: Step
    text: str
    """The seed's text key without the calls; "" for a blank text."""
    template: str
    """The whole text, collapsed, with every number folded."""
    text_key: str
    """The seed's text-loop key: text and, after NUL, the calls with their arguments as written."""
    signature: str
    calls: tuple[CallFacts, ...]


def call_facts(call: ToolCall) -> CallFacts:
    """Everything the habits ask of one call."""
    result = None if call.result is None else unwrapped(call.result)
    short = result is not None and len(result) <= _SHORT
    empty = result is not None and len(result) <= _SHORT and _EMPTY.fullmatch(result) is not None
    failed = bool(call.failed) if call.failed is not None else bool(short and result and _ERROR.search(result))
    return CallFacts(
        name=call.name,
        signature=call_signature(call.name, call.arguments),
        loose=call_signature(call.name, call.arguments, loose=True),
        result=None if result is None else fold_clock(result),
        failed=failed and not empty,
        empty=empty,
        pending=bool(short and result and not call.failed and _PENDING.search(result)),
        changes=_CHANGES.search(call.name) is not None,
    )


def facts(step: Step) -> Facts:
    """The facts of one step."""
    calls = tuple(call_facts(call) for call in step.calls)
    text = normalise(step.text)
    written = "|".join(f"{call.name}:{call.arguments}" for call in step.calls)
    return Facts(
        step=step,
        text=text,
        template=fold_digits(normalise(step.text, limit=2000)),
        text_key=(f"{text}\0{written}" if step.calls else text) if text else "",
        signature="\n".join(call.signature for call in calls),
        calls=calls,
    )


def all_facts(steps: Sequence[Step]) -> list[Facts]:
    """Facts of a run, in order."""
    return [facts(step) for step in steps]
