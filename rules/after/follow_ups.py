"""Follow-ups: another call for a better answer, only while the client was shown nothing.

Each kind is an option with a count of its own. All are off by default, because each costs another call. The kinds are
MiMo-Code's (docs/sources.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..before.reminders import Language
from ..histories.base import History, Json
from ..values.notices import marked
from ..values.steps import StepKind


class FollowUps(BaseModel):
    """How often each kind may be followed up in one logical request; 0 = never. MiMo-Code: 3, 2, 2 and 2."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    length: int = Field(default=0, ge=0, le=10)
    """Continue an answer that ended at its token limit."""
    think_only: int = Field(default=0, ge=0, le=10)
    """Ask again after an answer of reasoning alone, or an empty one."""
    text_tool_call: int = Field(default=0, ge=0, le=10)
    """Ask again after a tool call written as text; the bad reply is left out of the history."""
    json_schema: int = Field(default=0, ge=0, le=10)
    """Ask again after an answer that is not the JSON that was asked for."""

    @property
    def any(self) -> bool:
        """Is any kind on? Then answers are held until they are complete."""
        return bool(self.length or self.think_only or self.text_tool_call or self.json_schema)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """One more call: the name of its count, its body, and whether its answer continues the one before."""

    name: str
    body: Json
    continues: bool = False


_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "length": "Your answer was cut off at the length limit. Go on exactly where it stopped: no recap, no restart.",
        "think_only": "Your last answer held no text and no tool call. Give the final answer or make a valid call; "
        "reasoning alone is not an answer.",
        "text_tool_call": "Your last answer wrote a tool call as text. Make it through the tool interface instead.",
        "json_schema": "Your last answer was not the JSON that was asked for. Answer with that JSON and nothing else.",
    },
    "zh": {
        "length": "你的回答因长度限制被截断。请从停下的地方继续：不要重述，不要重新开始。",
        "think_only": "你上一次的回答没有正文也没有工具调用。请给出最终答案或进行有效的工具调用；仅有思考不算回答。",
        "text_tool_call": "你上一次把工具调用写成了文本。请通过工具接口进行调用。",
        "json_schema": "你上一次的回答不是所要求的 JSON。请只输出该 JSON。",
    },
}


def follow_up(
    kind: StepKind,
    *,
    history: History,
    body: Json,
    text: str,
    wants_json: bool,
    valid_json: bool,
    spent: Mapping[str, int],
    settings: FollowUps,
    language: Language = "en",
) -> FollowUp | None:
    """The next call after an answer of this kind, or None. `text`: the answer's visible text, all of it."""
    if kind is StepKind.TRUNCATED and text:
        name = "length"
    elif kind in (StepKind.THINK_ONLY, StepKind.INVALID):
        name = "think_only"
    elif kind is StepKind.TEXT_TOOL_CALL:
        name = "text_tool_call"
    elif wants_json and not valid_json and kind in (StepKind.FINAL, StepKind.DEGRADED):
        name = "json_schema"
    else:
        return None
    if spent.get(name, 0) >= getattr(settings, name):
        return None
    given = body.get(history.member)
    items: list[Any] = [history.user(given)] if isinstance(given, str) else list(history.items(body))
    if name in ("length", "json_schema"):
        items.append(history.assistant(text))
    items.append(history.user(marked(_WORDS[language][name])))
    return FollowUp(name, {**body, history.member: items}, continues=name == "length")
