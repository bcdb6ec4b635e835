"""Loops across steps: what is read from the history that each request carries, and what is done about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import ValidationError, model_validator

from rules import STEP_DETECTORS, Mode

from ..base import Seconds, Section, field


class DetectorOver(Section):
    """What differs for one habit."""

    mode: Mode | None = field(None, "off, watch or on for this habit.")
    most: Literal["warn", "steer", "cancel"] | None = field(None, "The strongest it may do, whatever the ladder says.")
    params: Mapping[str, Any] = field({}, "Its thresholds, by name (streamfuse rules lists them).")


class LadderSteps(Section):
    """What the first, second and third finding of one habit do: warn (tell only), steer (remind), cancel (refuse)."""

    first: Literal["warn", "steer", "cancel"] = field("steer", "A reminder is added to the request.")
    second: Literal["warn", "steer", "cancel"] = field("steer", "A stronger one: drop the approach, make a new plan.")
    third: Literal["warn", "steer", "cancel"] = field(
        "cancel",
        "The request is answered with an error that no client retries; a new user message goes on. Until then, and "
        "wherever something may be waited for, it is reminded.",
    )
    refuse_after: int = field(
        12,
        "Equal steps before a third finding refuses; half as many again where a wait cannot be ruled out. 0: at once, "
        "whatever the steps do.",
        ge=0,
        le=64,
    )
    apart: Seconds = field(60.0, "Nothing is refused where two of the equal steps lie so far apart.", gt=0)


class CropSteps(Section):
    """Takes streaks of equal thinking (else equal calls) out of the request."""

    also: ClassVar[Mapping[str, str]] = {"trigger_count": "trigger"}

    enabled: bool = field(
        False, "Crop such streaks.", danger="What is taken out of the middle can cost the provider's prompt cache."
    )
    trigger: int = field(3, "Equal steps in a row that make a streak.", ge=2, le=1000)
    max_span: int = field(64, "Most steps cropped of one streak, the newest.", ge=2, le=10_000)


class FollowUpCounts(Section):
    """Asking again for a better answer, each kind so many times; answers are then held until they are whole."""

    length: int = field(0, "Continue an answer that hit its token limit (seed: 3).", ge=0, le=10)
    think_only: int = field(0, "Ask again after reasoning alone or nothing (seed: 2).", ge=0, le=10)
    text_tool_call: int = field(0, "Ask again after a tool call written as text (seed: 2).", ge=0, le=10)
    json_schema: int = field(0, "Ask again after an answer that is not the JSON asked for (seed: 2).", ge=0, le=10)


class HistorySettings(Section):
    """Loops across the steps of one run, read from the history that each request carries."""

    also: ClassVar[Mapping[str, str]] = {"loop_streak_recovery": "crop"}

    mode: Mode = field(Mode.ON, "off, watch (report only) or on; the weaker of this and the request's mode counts.")
    habits: Mapping[str, DetectorOver] = field({}, "By habit name: what differs from its defaults.")
    ladder: LadderSteps = field(LadderSteps(), "What is done at the first, second and third finding.")
    language: Literal["en", "zh"] = field("en", "Language of reminders.")
    hygiene: bool = field(True, "Send answers that we cut on as their healthy start and one copy, without our notices.")
    collapse: bool = field(
        False,
        "Shorten looping texts in other assistant turns too.",
        danger="Changes history that streamfuse did not cut itself.",
    )
    crop: CropSteps = field(CropSteps(), "Crop streaks of equal steps.")
    follow_ups: FollowUpCounts = field(FollowUpCounts(), "Ask again for a better answer, before anything is shown.")

    @model_validator(mode="after")
    def _known_habits(self) -> HistorySettings:
        names = ", ".join(kind.name for kind in STEP_DETECTORS)
        for name, over in self.habits.items():
            kind = next((kind for kind in STEP_DETECTORS if kind.name == name), None)
            if kind is None:
                raise ValueError(f"habits.{name}: there is no such habit (known: {names})")
            try:
                kind.params(**over.params)
            except ValidationError as wrong:
                first = wrong.errors(include_url=False, include_input=False)[0]
                where = ".".join(map(str, first["loc"]))
                known = ", ".join(kind.params.model_fields)
                raise ValueError(f"habits.{name}.params.{where}: {first['msg']} (known: {known})") from None
        return self
