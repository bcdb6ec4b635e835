"""The facts of a step, computed once for all step detectors: keys of its text, its calls and their outcomes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...values.signature import both_signatures, digest, fold_clock, fold_digits, normalise, parse_arguments, unwrapped
from ...values.steps import Step, ToolCall
from .states import NO_EFFECT
from .waiting import Sign, sign

_SHORT = 600
"""Characters. Only short results are read as an error; a long one is content that happens to hold such a word."""
_ERROR = re.compile(
    r"\b(?:error|exception|traceback|failed|failure|denied|forbidden|unauthori[sz]ed|refused|timed? ?out|invalid|cannot"
    r"|can't|could not|no such file|not permitted|unknown (?:command|option|tool)|fatal|panic|exit status"
    r"|exit(?:ed)?(?: with)? code(?!:? ?0\b)|(?:401|403|404|429|500|502|503))\b|错误|失败|拒绝",
    re.IGNORECASE,
)
_ERROR_STEMS = (
    *("error", "exception", "traceback", "fail", "denied", "forbidden", "unauthori", "refused", "timed", "timeout"),
    *("invalid", "cannot", "can't", "could not", "no such file", "not permitted", "unknown ", "fatal", "panic"),
    *("exit", "401", "403", "404", "429", "50", "错误", "失败", "拒绝"),
)
"""Every text that the pattern above matches holds one of these. Most results hold none, so the pattern is not tried on
them."""
_EMPTY = re.compile(
    r"\s*(?:\[\s*\]|\{\s*\}|\(no (?:output|content)\)|null|none|no (?:results?|matches|output|data|files?|records?)\b.*"
    r"|nothing found.*|(?:0|zero) (?:results?|matches|hits|rows)\b.*|not found\.?|没有.*|未找到.*)?\s*",
    re.IGNORECASE | re.DOTALL,
)
_CHANGES = re.compile(
    r"(?:^|[_\W])(?:edit|write|patch|apply|create|update|delete|remove|insert|replace|move|rename|commit|put|save|set)"
    r"|str_replace|(?:Edit|Write|Patch|Create|Update|Delete|Insert|Replace)",
)
_SHELL = re.compile(r"bash|shell|terminal|exec|command|run|console|python|code|^sh$|^cmd$", re.IGNORECASE)
_WRITES = re.compile(
    r"(?<![-=<>&\d])>>?\s?(?![>&\s=]|/dev/)|<<|\bsed\s+(?:-\w+\s+)*-\w*i|\bperl\s+-\w*i|\bapply_patch\b|\btee\b"
    r"|\b(?:mv|cp|rm|mkdir|rmdir|touch|ln|chmod|chown|patch|install|dd|kill|pkill)\s"
    r"|\bgit\s+(?:apply|add|commit|checkout|switch|restore|reset|stash|merge|rebase|pull|clone|cherry-pick|revert|rm|mv)\b"
    r"|\b(?:pip3?|npm|pnpm|yarn|apt|apt-get|brew|cargo|go|gem|uv|poetry|conda)\s+(?:install|add|get|update|upgrade|remove"
    r"|uninstall|sync|ci|i)\b|\bwrite(?:_text|FileSync)?\(|open\([^)]*['\"][wa]",
)
"""Agents that only have a shell edit files with it: redirections, here-documents, patches, moves, installs."""
_COMMAND = 4096
"""Characters of a command that are looked at."""
MOST_CALLS = 32
"""Calls of one step that are looked at one by one; agents were seen to make up to 24."""


@dataclass(slots=True)
class CallFacts:
    """One call. Two calls with the same `outcome` did the same and got the same."""

    name: str
    signature: str
    loose: str
    result: str | None
    """The result with clock times folded; None while unanswered."""
    failed: bool
    empty: bool
    changes: bool
    """It may have changed something, so repeating an earlier call after it makes sense."""
    known: Sign | None = None
    """The sign of a wait, once it is computed."""
    call: ToolCall | None = field(default=None, compare=False, repr=False)
    """The call from which the sign is computed on demand."""

    @property
    def sign(self) -> Sign:
        """The sign of a wait. It is computed when first asked for, because most calls never repeat."""
        if self.known is None:
            call = self.call or ToolCall("", "", "")
            self.known = sign(
                call.name,
                parse_arguments(call.arguments),
                None if call.result is None else unwrapped(call.result),
                told=call.failed,
                failed=self.failed,
            )
        return self.known

    @property
    def pending(self) -> bool:
        """It waits, or it looked at something that goes on."""
        return self.sign is Sign.SURE

    @property
    def outcome(self) -> tuple[str, str | None]:
        """The call and its result."""
        return (self.loose, self.result)


@dataclass(frozen=True, slots=True)
class Facts:
    """One step, as step detectors see it."""

    step: Step
    text: str
    """MiMo-Code's text key without the calls; "" for a blank text."""
    template: str
    """The whole text, collapsed, with every number folded."""
    text_key: str
    """MiMo-Code's text-loop key: text and, after NUL, the calls with their arguments as written."""
    signature: str
    calls: tuple[CallFacts, ...]


def _says(low: str, stems: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return any(stem in low for stem in stems) and pattern.search(low) is not None


def changes(name: str, arguments: str) -> bool:
    """May this call have changed something, by its tool's name or, in a shell, by its command?"""
    return _CHANGES.search(name) is not None or (
        _SHELL.search(name) is not None and _WRITES.search(arguments[:_COMMAND]) is not None
    )


def call_facts(call: ToolCall) -> CallFacts:
    """Everything the step detectors ask of one call."""
    result = None if call.result is None else unwrapped(call.result)
    low = result.lower() if result is not None and len(result) <= _SHORT else ""
    empty = result is not None and len(result) <= _SHORT and _EMPTY.fullmatch(result) is not None
    failed = call.failed if call.failed is not None else _says(low, _ERROR_STEMS, _ERROR)
    signature, loose = both_signatures(call.name, call.arguments)
    return CallFacts(
        name=call.name,
        signature=signature,
        loose=loose,
        result=None if result is None else fold_clock(result),
        failed=failed and not empty,
        empty=empty,
        changes=changes(call.name, call.arguments),
        call=call,
    )


def _crowd(calls: Sequence[ToolCall]) -> CallFacts:
    """Many calls of one step as one: the same calls with the same results are still equal."""
    did = digest("\n".join(f"{call.name}\0{call.arguments}" for call in calls))
    got = digest("\n".join(call.result or "" for call in calls))
    return CallFacts("", did, did, got, False, False, True, Sign.MAYBE)


def facts(step: Step) -> Facts:
    """The facts of one step. Its first calls are looked at one by one, all others as one."""
    calls = tuple(call_facts(call) for call in step.calls[:MOST_CALLS])
    if len(step.calls) > MOST_CALLS:
        calls = (*calls, _crowd(step.calls[MOST_CALLS:]))
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


_NUMBER = re.compile(r"\d")
_PIECE_CALL = 1024
"""Characters of a call that names a piece of a file; longer ones carry content."""
_PIECE = 24
"""A result of fewer characters is a state or a number, not a piece of a file."""


def is_piece(call: CallFacts) -> bool:
    """Does this call read a piece of a file?"""
    return (
        call.result is not None
        and not call.failed
        and len(call.result) >= _PIECE
        and len(call.loose) <= _PIECE_CALL
        and _NUMBER.search(call.loose) is not None
    )


def no_effect(call: CallFacts) -> bool:
    """Was this call meant to change something, and does its result say that nothing changed?"""
    result = call.result
    return call.changes and result is not None and len(result) <= _SHORT and NO_EFFECT.search(result) is not None


def all_facts(steps: Sequence[Step]) -> list[Facts]:
    """Facts of a run, in order."""
    return [facts(step) for step in steps]
