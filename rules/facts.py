"""What a step did, worked out once for all habits: keys of its text, its calls and their outcomes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .signature import both_signatures, digest, fold_clock, fold_digits, normalise, unwrapped
from .steps import Step, ToolCall

_SHORT = 600
"""Only short results are read as a status: a long one is content that happens to contain such a word."""
_PENDING = re.compile(
    r"\b(?:pending|running|in[ _-]progress|queued|waiting|not ready|no new output|still|processing|building|starting"
    r"|scheduled|retry later|try again later)\b|进行中|等待|处理中|排队|运行中",
    re.IGNORECASE,
)
_BROKE = re.compile(
    # 124, 137, 143: whoever looked was stopped by a time limit, which says nothing of what it looked at
    r"\bexit(?:ed)?(?: with)?(?: (?:status|code))?:? ?(?!(?:0|124|137|143)\b)[0-9]{1,3}\b|\bexit status [1-9]"
    r"|^\W{0,8}(?:error|fatal|panic|traceback)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""The result of something that has run and failed, beyond doubt."""
_STATES = r"(?:pending|running|in[ _-]progress|queued|waiting|processing|building|starting|scheduled)"
_AWAITED = re.compile(
    rf"\b(?:status|state|phase|progress|conclusion)\W{{1,4}}(?:is )?{_STATES}\b|^\W{{0,8}}{_STATES}\W{{0,8}}$"
    rf"|\b(?:still|yet|currently|is|are) {_STATES}\b|\b(?:in[ _-]progress|waiting|not (?:yet )?ready|no new output"
    r"|retry later|try again later)\b|进行中|等待|处理中|排队|运行中",
    re.IGNORECASE | re.MULTILINE,
)
"""What even a failed look says of something that is still going on; `running tests` in passing is none."""
_ERROR = re.compile(
    r"\b(?:error|exception|traceback|failed|failure|denied|forbidden|unauthori[sz]ed|refused|timed? ?out|invalid|cannot"
    r"|can't|could not|no such file|not permitted|unknown (?:command|option|tool)|fatal|panic|exit status"
    r"|exit(?:ed)?(?: with)? code(?!:? ?0\b)|(?:401|403|404|429|500|502|503))\b|错误|失败|拒绝",
    re.IGNORECASE,
)
_PENDING_STEMS = (
    *("pending", "running", "progress", "queued", "waiting", "not ready", "no new output", "still", "processing"),
    *("building", "starting", "scheduled", "later", "进行中", "等待", "处理中", "排队", "运行中"),
)
_ERROR_STEMS = (
    *("error", "exception", "traceback", "fail", "denied", "forbidden", "unauthori", "refused", "timed", "timeout"),
    *("invalid", "cannot", "can't", "could not", "no such file", "not permitted", "unknown ", "fatal", "panic"),
    *("exit", "401", "403", "404", "429", "50", "错误", "失败", "拒绝"),
)
"""One of these stands in every text the pattern above finds: most results hold none and need no pattern."""
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
    """It may have changed something: what follows it may rightly be done again."""

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


def _says(low: str, stems: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return any(stem in low for stem in stems) and pattern.search(low) is not None


def _over(low: str) -> bool:
    """A failure that names such a word only in passing: nothing to wait for."""
    return _BROKE.search(low) is not None and _AWAITED.search(low) is None


def changes(name: str, arguments: str) -> bool:
    """May this call have changed something, by its tool's name or, in a shell, by its command?"""
    return _CHANGES.search(name) is not None or (
        _SHELL.search(name) is not None and _WRITES.search(arguments[:_COMMAND]) is not None
    )


def call_facts(call: ToolCall) -> CallFacts:
    """Everything the habits ask of one call."""
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
        pending=not call.failed and _says(low, _PENDING_STEMS, _PENDING) and not _over(low),
        changes=changes(call.name, call.arguments),
    )


def _crowd(calls: Sequence[ToolCall]) -> CallFacts:
    """So many calls of one step as one: the same crowd with the same results again is still the same."""
    did = digest("\n".join(f"{call.name}\0{call.arguments}" for call in calls))
    got = digest("\n".join(call.result or "" for call in calls))
    return CallFacts("", did, did, got, False, False, False, True)


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


def all_facts(steps: Sequence[Step]) -> list[Facts]:
    """Facts of a run, in order."""
    return [facts(step) for step in steps]
