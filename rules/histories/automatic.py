"""User messages that no person wrote: results of tools that travel as text, and nudges that an agent sends by itself.

Cline, aider and ReAct agents write their calls into the answer and bring the results back as user messages; others add
"continue" after every result. A repetition goes on across such messages; across a person's, or a timer's, it does not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..values.signature import fold_clock, normalise

_LOOKED_AT = 8192
"""Characters at the end of an answer that are searched for a call."""

_TAG = re.compile(r"^\s*<([A-Za-z][\w.-]{1,40})>", re.MULTILINE)
_PLAIN_TAGS = frozenset(
    (
        *("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "plan", "answer"),
        *("result", "response", "summary", "details", "final_answer", "html", "body", "div", "span", "table", "pre"),
        *("code", "svg"),
    )
)
"""Tags that are not calls: thinking, answers, markup."""
_THOUGHT = re.compile(r"<(think|thinking)>.*?(?:</\1>|\Z)", re.DOTALL)
_NAMED = re.compile(
    r"<(?:function|invoke|tool)[ =](?:name=)?[\"']?([\w.-]{1,64})|^Action: *([^\n]{1,64})", re.MULTILINE
)
_BLOCK = re.compile(r"^<{5,9} SEARCH$|^\*\*\* Begin Patch$", re.MULTILINE)
_FENCE = re.compile(r"^```(?:bash|sh|shell|console|python|json|tool\w*|\w+_command)[ \t]*$", re.MULTILINE)
_OBJECT = re.compile(r"^\s*\{\s*\"(?:tool|tool_name|action|name|function|command|thoughts?)\"")
_RESULT = re.compile(
    r"^\s*(?:\[[^\]\n]{1,200}\]|observation|(?:tool|function|command|execution) (?:result|output)|result:|output:"
    r"|</?(?:returncode|output|observation|tool_\w+|function_results?|result|stdout|response)\b|exit code|error\b"
    r"|stdout|\$ )",
    re.IGNORECASE,
)
"""How a result that comes as a user message begins."""

_SURROUNDINGS = re.compile(r"<(environment_details|system-reminder|environment_context)>.*?(?:</\1>|\Z)", re.DOTALL)
_METER = re.compile(
    r"^.{0,40}\b(?:current (?:date|time)|date ?/ ?time|now|timestamp|context (?:window|usage|left)|tokens?|cost|budget"
    r"|elapsed|time left|remaining)\b.{0,80}$",
    re.IGNORECASE | re.MULTILINE,
)
"""Lines that a harness writes under a result, new each time: a clock, tokens, money."""

_NUDGE = re.compile(
    r"^\s*(?:\[(?:system|error|auto\w*|reminder|note|warning)|<(?:system|error|reminder|auto)|error\b)"
    r"|^# ?\d+ \w+/\w+ block"
    r"|\byou (?:did not|didn't|have not|haven't|must|need to|should) (?:use|call|provide|include|respond|finish|submit)"
    r"|\b(?:is|are) not (?:yet )?(?:complete|done|finished)\b|\bnot (?:complete|done|finished) until\b|\bfailed to\b"
    r"|\b(?:continue|proceed|keep (?:going|working)|go on|carry on|try again|retry)\b|\bno tools? (?:used|call)"
    r"|继续|繼續|请重试|続け|계속|weitermachen|mach weiter|fahre? fort|continue[zr]?\b|poursui|contin[uú]a|prosegui"
    r"|продолж|devam et|kontynuuj|ga door|lanjutkan|tiếp tục|जारी रखें|استمر|תמשיך",
    re.IGNORECASE,
)
"""What an agent's own loop says when the model makes no progress."""
_TIMER = re.compile(
    r"heart ?beat|\bcron\b|\btimer\b|\bschedul|\btick\b|\bwake[ -]?up\b|\balarm\b|\bping\b|心跳|定时|定時|ハートビート",
    re.IGNORECASE,
)
"""Words of a timer. It asks on purpose, and the same answer may be right every time."""
_ACKNOWLEDGES = re.compile(
    r"\backnowledg|\bconfirm|\bnoted\b|\bunderstood\b|\bthank|\bgot it\b|\bagreed?\b|\broger\b|\bparked\b|收到"
    r"|明白|谢谢|承知|了解|確認|확인|알겠|verstanden|bestätigt|danke|entendu|merci|bien reçu|entendido|gracias|obrigad"
    r"|capito|grazie|принято|понял|спасибо",
    re.IGNORECASE,
)
_COURTESY = 160
"""Characters of a message that only acknowledges another one, at most."""


class Written(NamedTuple):
    """A call that an answer wrote as text."""

    name: str
    text: str
    """The call as written, thinking before it left out."""
    before: str
    """What the answer says before the call."""


def may_hold_call(answer: str) -> bool:
    """A quick check: most answers contain nothing that a written call contains."""
    return "<" in answer or "{" in answer or "```" in answer or "Action:" in answer or "*** Begin" in answer


def written_call(answer: str, reply: str) -> Written | None:
    """The tool call in an answer's text, where `reply` may be its result; None for an answer that is only text."""
    tail = answer[-_LOOKED_AT:]
    if "<" in tail:
        for tag in _TAG.finditer(tail):
            name = tag[1]
            if name.lower() not in _PLAIN_TAGS and f"</{name}>" in tail and ("_" in name or _RESULT.match(reply)):
                return _written(name, answer, tail, tag.start())
        if _BLOCK.search(tail) is not None:
            return _written("edit", answer, tail, 0)
    if ("<" in tail or "Action" in tail) and (named := _NAMED.search(tail)) is not None:
        return _written((named[1] or named[2]).strip(), answer, tail, named.start())
    if ("```" in tail or "{" in tail) and _RESULT.match(reply) is not None:
        found = _OBJECT.match(tail) or _FENCE.search(tail)
        if found is not None:
            return _written("text", answer, tail, found.start())
    return None


def _written(name: str, answer: str, tail: str, start: int) -> Written:
    before = answer[: len(answer) - len(tail) + start]
    return Written(name, tail[start:].strip(), _THOUGHT.sub("", before).strip() if "<" in before else before.strip())


def bare_result(reply: str) -> str:
    """A result that came as a user message, without the clock and the meters that its agent adds."""
    if "<" in reply:
        reply = _SURROUNDINGS.sub("", reply)
    return _METER.sub("", reply).strip()


def spoken(said: str) -> str:
    """A key of a user message, without clocks and meters."""
    return normalise(fold_clock(bare_result(said)), limit=2000)


def is_nudge(said: str) -> bool:
    """Is this what an agent's own loop says when the model makes no progress: go on, use a tool, try again?"""
    return _TIMER.search(said[:2000]) is None and _NUDGE.search(said[:2000]) is not None


def is_timer(said: str) -> bool:
    """Does this message come from a timer?"""
    return _TIMER.search(said[:2000]) is not None


def only_thanks(said: str) -> bool:
    """Does it only acknowledge the other's message? Two agents can go on with that for ever."""
    return len(said) <= _COURTESY and "?" not in said and not is_timer(said) and _ACKNOWLEDGES.search(said) is not None
