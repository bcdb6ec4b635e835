"""A rule as people write it: a monitor and its numbers, the channels it watches, what a finding does, a description.

It is checked whole when it is made. For an unknown monitor, number, channel or action the error names the known ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
)

from ..values.delta import Channel
from ..values.verdict import Action, Mode
from . import monitors
from .monitors.base import MonitorKind, Params


class Rule(BaseModel):
    """One rule as people write it: the monitor and its numbers, the channels, the action, and a description."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)
    """Stable: metric label, journal field, and what `rules.off` names."""
    title: str = ""
    monitor: str
    channels: tuple[Channel, ...] = (Channel.TEXT, Channel.REASONING)
    params: SerializeAsAny[Params] = Field(default={}, validate_default=True)
    """The monitor's numbers; its own defaults where left out."""
    action: Action = Action.CUT
    mode: Mode = Mode.ON
    description: str = ""
    false_positives: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    fires: tuple[str, ...] = ()
    """Recordings it must fire on, by file name (checked by the tests of packaged packs)."""
    quiet: tuple[str, ...] = ()
    """Recordings it must stay quiet on."""

    @field_validator("monitor")
    @classmethod
    def _monitor(cls, name: str) -> str:
        try:
            return monitors.get(name).name
        except monitors.UnknownMonitor as e:
            raise ValueError(str(e)) from None

    @field_validator("params", mode="plain")
    @classmethod
    def _params(cls, given: Any, info: ValidationInfo) -> Params:
        if "monitor" not in info.data:  # already reported
            return Params()
        model = monitors.get(info.data["monitor"]).params
        try:
            return model.model_validate(given.model_dump() if isinstance(given, Params) else (given or {}))
        except ValidationError as e:
            raise ValueError("; ".join(f"{'.'.join(map(str, x['loc']))}: {x['msg']}" for x in e.errors())) from None

    @field_validator("channels", mode="before")
    @classmethod
    def _channels(cls, given: Any) -> Any:
        if isinstance(given, str | int):
            given = [given]
        if not isinstance(given, Iterable):
            return given
        return tuple(dict.fromkeys(_named(Channel, channel) for channel in given))

    @field_validator("action", mode="before")
    @classmethod
    def _action(cls, given: Any) -> Any:
        return _named(Action, given)

    @field_validator("mode", mode="before")
    @classmethod
    def _mode(cls, given: Any) -> Any:
        if isinstance(given, bool):  # YAML 1.1 reads a bare on and off as booleans
            return Mode.ON if given else Mode.OFF
        return given

    @field_validator("false_positives", "references", "fires", "quiet", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    @field_serializer("channels")
    def _channel_words(self, channels: tuple[Channel, ...]) -> list[str]:
        return [channel.label for channel in channels]

    @field_serializer("action")
    def _action_word(self, action: Action) -> str:
        return action.name.lower()

    @property
    def kind(self) -> MonitorKind:
        """The monitor behind it."""
        return monitors.get(self.monitor)


Armed: TypeAlias = tuple[int, Rule, MonitorKind]
"""(the rule's place in its set, the rule, its monitor): a rule that is on."""


def _named(enum: Any, given: Any) -> Any:
    """An IntEnum member by its lower-case word; anything else goes on to pydantic's own check."""
    if isinstance(given, str):
        try:
            return enum[given.upper()]
        except KeyError:
            words = ", ".join(member.name.lower() for member in enum)
            raise ValueError(f"{given!r} is none of {words}") from None
    return given
