"""How an answer that loops is ended."""

from __future__ import annotations

from typing import Literal

from ..base import MaybeText, Section, field


class CutSettings(Section):
    """The end of an answer that was cut."""

    finish: str = field(
        "stop",
        "Finish reason on chat and completions; Messages and Responses end with their own quiet one.",
        danger="length, content_filter or a word of your own makes agents ask again, some without end.",
        min_length=1,
    )
    notice: bool | Literal["always"] = field(
        True,
        "A sentence in the cut answer: true (where nothing visible was sent: no answer is empty), always or false.",
    )
    notice_text: MaybeText = field(
        None,
        "The sentence. {rule}, {channel}, {chars} and {copies} are filled in; null takes the built-in one.",
        danger="Never tell the model to conclude: it will then give up its task.",
    )
    hold: bool = field(
        True,
        "Text waits while a rule is half convinced, 2,048 characters or 5 seconds at most: then a cut shows less of "
        "the loop. x-streamfuse-hold: off does without it for one request.",
    )
    language: Literal["auto", "en", "zh"] = field(
        "auto", "Language of the built-in sentences; auto follows the answer."
    )
