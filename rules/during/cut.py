"""Settings of a cut: its finish reason, its notice, and the sizes that bound an answer."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..detect.because import because
from ..values.delta import Channel
from ..values.notices import MARK, marked
from ..values.verdict import Finding
from ..wires.base import Ending

_PARTS = {
    "en": {
        Channel.TEXT: "visible output",
        Channel.REASONING: "reasoning",
        Channel.TOOL: "tool arguments",
        Channel.REFUSAL: "refusal",
        Channel.STEPS: "steps",
    },
    "zh": {
        Channel.TEXT: "可见输出",
        Channel.REASONING: "思考内容",
        Channel.TOOL: "工具参数",
        Channel.REFUSAL: "拒绝说明",
        Channel.STEPS: "步骤",
    },
}

# dsh-loop-guard's wording: say which part repeated and how much, ask the model not to repeat it and to carry on.
# "Conclude" or "answer now" would make an agent stop in the middle of its task.
_TEXTS = {
    "en": "A repetition of {chars} characters in the {channel} was cut here. Do not repeat it; carry on with the task.",
    "zh": "{channel}重复了 {chars} 个字符，已在此处截断。请不要再重复，继续完成任务。",
}

_HAN = re.compile("[\u3400-\u9fff]")


class Cut(BaseModel):
    """How a cut answer ends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    finish: str = "stop"
    """The finish reason on chat and completions. `stop` is the only one on which no client asks again."""
    notice: bool | Literal["always"] = True
    """When the notice is shown. True = only where the client would get an empty answer without it: several agents ask
    again or fail on one (docs/sources.md)."""
    notice_text: str | None = Field(default=None, max_length=2000)
    """Text of the notice; {rule}, {channel}, {chars} and {copies} are filled in. The mark `[streamfuse]` is put in
    front: by it a notice is recognised and removed when the client sends the answer back."""
    language: Literal["auto", "en", "zh"] = "auto"
    """Language of the built-in notice; `auto` follows the answer."""
    hold: bool = True
    """Text waits while a rule is half convinced (`detect.doubt`)."""

    def text(self, finding: Finding, sample: str = "") -> str:
        """The notice for this finding: which part repeated and for how many characters, never its content.

        `sample`: a piece of the answer, used to choose the language only.
        """
        language = self.language if self.language != "auto" else ("zh" if _HAN.search(sample) else "en")
        copies = finding.hit.copies
        facts = {
            "{rule}": finding.rule,
            "{channel}": _PARTS[language][finding.channel],
            "{chars}": str(finding.hit.span),
            "{copies}": "" if copies is None else f"{round(copies, 2):g}",
        }
        text = self.notice_text or _TEXTS[language]
        for name, fact in facts.items():
            text = text.replace(name, fact)
        return text if text.startswith(MARK) else marked(text)

    def ending(
        self, finding: Finding, *, visible: bool, plain: bool = True, sample: str = "", attempts: int = 1
    ) -> Ending:
        """The Ending after this finding. `visible`: the client has text or a call. `plain`: the answer may hold prose;
        False where JSON was asked for, because a notice would break the client's parser."""
        wanted = plain and (self.notice == "always" or (self.notice is True and not visible))
        return Ending(
            notice=self.text(finding, sample) if wanted else None,
            marker=marker(finding, attempts),
            finish=None if self.finish == "stop" else self.finish,
        )


class Limits(BaseModel):
    """Sizes, in bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    event: int = Field(default=16 << 20, ge=1024)
    """One SSE event. Images in Responses are megabytes; an endless event must still end."""
    hold: int = Field(default=4 << 20, ge=0)
    """Events of tool calls that are held until complete, in bytes of the wire (300 bytes may carry 4 characters). A
    longer call is forwarded piece by piece, and an answer that breaks off in it ends with an error. 0 = hold
    nothing."""


CUT = Cut()
LIMITS = Limits()


def marker(finding: Finding, attempts: int = 1) -> dict[str, Any]:
    """The facts of a cut for the extra `streamfuse` object: numbers and names only, copies to 2 decimals."""
    hit = finding.hit
    facts: dict[str, Any] = {
        "rule": finding.rule,
        "action": finding.action.name.lower(),
        "channel": finding.channel.label,
        "choice": finding.choice,
        "since": hit.since,
    }
    if hit.period is not None:
        facts["period"] = hit.period
    if hit.copies is not None:
        facts["copies"] = round(hit.copies, 2)
    facts["attempts"] = attempts
    if hit.evidence:
        facts["evidence"] = {name: round(value, 4) for name, value in hit.evidence.items()}
    if hit.bars:
        facts["bars"] = {name: round(value, 4) for name, value in hit.bars.items()}
    facts["because"] = because(hit)
    return facts
