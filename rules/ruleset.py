"""Rules: monitors with numbers, a passport and an action; and the watch that feeds them with one answer.

A Watch makes its monitors as channels appear and forgets the oldest where an upstream opens without end, so its
state is bounded whatever comes. Every finding comes once per rule and scope, the strongest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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

from . import monitors
from .brief import Brief
from .delta import Channel
from .monitors.base import MonitorKind, Params, Scope, StreamMonitor
from .verdict import Action, Finding, Hit, Mode, Stutter

CHOICES = 128
"""Choices watched at once; OpenAI allows n up to 128. A newer one replaces the oldest."""
STUTTER = 0.5
"""From this suspicion on a repetition that ends by itself is told: where a shell may begin to hold text back."""
CALLS = 4
"""Tool calls watched at once in one choice: they stream one after the other, rarely interleaved."""


class Rule(BaseModel):
    """One rule as people write it: what to look at, when to speak up, what to do, and its passport."""

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
            monitors.get(name)
        except monitors.UnknownMonitor as e:
            raise ValueError(str(e)) from None
        return name

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


class RuleSet:
    """Rules in order of precedence, ready to watch answers."""

    __slots__ = ("armed", "rules")

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        """Raises ValueError where two rules have one name."""
        self.rules: tuple[Rule, ...] = tuple(rules)
        twice = {r.name for r in self.rules if sum(o.name == r.name for o in self.rules) > 1}
        if twice:
            raise ValueError(f"two rules are called {', '.join(sorted(twice))}")
        self.armed: tuple[Armed, ...] = tuple(
            (i, r, r.kind) for i, r in enumerate(self.rules) if r.mode is not Mode.OFF and r.channels
        )

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> Watch:
        """Fresh monitors for one answer. `mode` is the weakest of global, provider and request mode."""
        return Watch(self.armed if mode is not Mode.OFF else (), brief or Brief(), mode)

    def without(self, off: Iterable[str]) -> RuleSet:
        """The same rules but these. Raises ValueError for a name that is not here."""
        gone = set(off)
        unknown = gone - {rule.name for rule in self.rules}
        if unknown:
            raise ValueError(f"no rule is called {', '.join(sorted(unknown))}")
        return RuleSet(rule for rule in self.rules if rule.name not in gone)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, name: str) -> Rule:
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(name)


Armed: TypeAlias = tuple[int, Rule, MonitorKind]
Feed: TypeAlias = Callable[[str, Channel], "Hit | None"]
ScopeKey: TypeAlias = tuple[int, int, str]
"""(rule's place, channel or -1 for a whole choice, tool call's key or "")."""


class Watched:
    """The monitors of one choice."""

    __slots__ = ("calls", "feeds", "fired", "live")

    def __init__(self) -> None:
        self.live: dict[ScopeKey, StreamMonitor] = {}
        self.fired: set[ScopeKey] = set()
        self.feeds: dict[tuple[int, str], tuple[Feed, ...]] = {}
        self.calls: list[str] = []


class Watch:
    """One answer under the eyes of a rule set."""

    __slots__ = ("_armed", "_brief", "_choices", "_feeds", "_mode", "broken")

    def __init__(self, armed: tuple[Armed, ...], brief: Brief, mode: Mode) -> None:
        self._armed = armed
        self._brief = brief
        self._mode = mode
        self._choices: dict[int, Watched] = {}
        self._feeds: dict[tuple[int, Channel, str], tuple[Feed, ...]] = {}
        self.broken: dict[str, str] = {}
        """Rules whose monitor raised (rule → exception's class): disarmed, because a fuse must fail open."""

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        """More text of one block; findings, strongest first, () when calm. Never raises."""
        feeds = self._feeds.get((choice, channel, key))
        if feeds is None:
            feeds = self._open(choice, channel, key)
        if not text:
            return ()
        found: list[tuple[StreamMonitor, Hit]] | None = None
        for feed in feeds:
            try:
                hit = feed(text, channel)
            except Exception as e:
                self._drop(choice, feed.__self__, e)  # type: ignore[attr-defined]
                continue
            if hit is not None:
                found = found or []
                found.append((feed.__self__, hit))  # type: ignore[attr-defined]
        return () if found is None else self._found(choice, channel, found)

    def called(self, choice: int, name: str, arguments: str) -> Sequence[Finding]:
        """A tool call is complete. Only rules on the tool channel whose monitor looks at whole answers hear of it."""
        watched = self._choices.get(choice) or self._choice(choice)
        found: list[tuple[StreamMonitor, Hit]] = []
        for at, rule, kind in self._armed:
            if kind.scope is Scope.CHOICE and Channel.TOOL in rule.channels:
                monitor = self._monitor(watched, (at, -1, ""), rule, kind)
                if monitor is None:
                    continue
                try:
                    hit = monitor.called(name, arguments)
                except Exception as e:
                    self._drop(choice, monitor, e)
                    continue
                if hit is not None:
                    found.append((monitor, hit))
        return self._found(choice, Channel.TOOL, found) if found else ()

    @property
    def by_piece(self) -> bool:
        """Does a rule look at the pieces themselves?"""
        return any(kind.by_piece for _, _, kind in self._armed)

    def drain(self) -> Sequence[Finding]:
        """Nothing is ever pending here (rules/patience.py gathers)."""
        return ()

    def suspicion(self, choice: int) -> float:
        """0 calm … 1 about to fire: the most suspicious rule that would act."""
        watched = self._choices.get(choice)
        if watched is None or self._mode is not Mode.ON:
            return 0.0
        acting = {at for at, rule, _ in self._armed if rule.mode is Mode.ON and rule.action >= Action.CUT}
        return max((m.suspicion() for (at, _, _), m in watched.live.items() if at in acting), default=0.0)

    def stutters(self, *, now: bool = False) -> Sequence[Stutter]:
        """Where a rule, acting or watching, was at least half convinced, or (`now`) is so at this moment: the most
        suspicious one of each channel of each choice. To be asked once, when an answer has ended. Never raises."""
        found: dict[tuple[int, Channel], Stutter] = {}
        for choice, watched in self._choices.items():
            for scope, monitor in watched.live.items():
                try:
                    level = monitor.suspicion() if now else monitor.peak()
                except Exception:  # as in feed: a guard must not break what it guards
                    continue
                if level < STUTTER:
                    continue
                rule = self._rule(scope)
                channel = Channel(scope[1]) if scope[1] >= 0 else rule.channels[0]
                known = found.get((choice, channel))
                if known is None or known.suspicion < level:
                    found[choice, channel] = Stutter(rule.name, channel, choice, level)
        return tuple(found.values())

    # the rare paths ------------------------------------------------------------------------------------------
    def _choice(self, choice: int) -> Watched:
        if len(self._choices) >= CHOICES:
            oldest = next(iter(self._choices))
            del self._choices[oldest]
            self._forget(oldest)
        watched = self._choices[choice] = Watched()
        return watched

    def _forget(self, choice: int) -> None:
        """The short cuts to this choice's monitors are out of date."""
        self._feeds = {block: feeds for block, feeds in self._feeds.items() if block[0] != choice}

    def _open(self, choice: int, channel: Channel, key: str) -> tuple[Feed, ...]:
        """Find or make the monitors of a block, and remember the way to them."""
        watched = self._choices.get(choice) or self._choice(choice)
        call = key if channel is Channel.TOOL else ""
        if channel is Channel.TOOL and call not in watched.calls:
            watched.calls.append(call)
            if len(watched.calls) > CALLS:
                self._end_call(choice, watched, watched.calls.pop(0))
        feeds: list[Feed] = []
        for at, rule, kind in self._armed:
            if channel in rule.channels:
                scope = (at, -1, "") if kind.scope is Scope.CHOICE else (at, int(channel), call)
                monitor = self._monitor(watched, scope, rule, kind)
                if monitor is not None:
                    feeds.append(monitor.feed)
        if len(self._feeds) >= 4 * CHOICES:  # keys without end share monitors, but the short cuts must not pile up
            self._feeds.clear()
        made = self._feeds[choice, channel, key] = tuple(feeds)
        return made

    def _monitor(self, watched: Watched, scope: ScopeKey, rule: Rule, kind: MonitorKind) -> StreamMonitor | None:
        if scope in watched.fired or rule.name in self.broken:
            return None
        monitor = watched.live.get(scope)
        if monitor is None:
            try:
                monitor = watched.live[scope] = kind.start(rule.params, self._brief)
            except Exception as e:
                self.broken[rule.name] = type(e).__name__
        return monitor

    def _end_call(self, choice: int, watched: Watched, call: str) -> None:
        tool = int(Channel.TOOL)
        for scope in [s for s in watched.live if s[1] == tool and s[2] == call]:
            del watched.live[scope]
        watched.fired = {s for s in watched.fired if not (s[1] == tool and s[2] == call)}
        self._forget(choice)

    def _drop(self, choice: int, monitor: StreamMonitor, error: Exception) -> None:
        watched = self._choices[choice]
        for scope in [s for s, m in watched.live.items() if m is monitor]:
            del watched.live[scope]
            self.broken[self._rule(scope).name] = type(error).__name__
        self._forget(choice)

    def _rule(self, scope: ScopeKey) -> Rule:
        return next(rule for at, rule, _ in self._armed if at == scope[0])

    def _found(self, choice: int, channel: Channel, found: list[tuple[StreamMonitor, Hit]]) -> list[Finding]:
        watched = self._choices[choice]
        findings: list[Finding] = []
        for monitor, hit in found:
            scope = next(s for s, m in watched.live.items() if m is monitor)
            del watched.live[scope]
            watched.fired.add(scope)
            rule = self._rule(scope)
            mode = rule.mode.at_most(self._mode)
            findings.append(Finding(rule.name, rule.action, mode, channel, choice, hit))
        self._forget(choice)
        # by place, so that of equal findings the first is the same however the text was cut
        findings.sort(key=lambda f: (not f.acts, -f.action, f.hit.at))
        return findings


def _named(enum: Any, given: Any) -> Any:
    """An IntEnum member by its lower-case word; anything else goes on to pydantic's own check."""
    if isinstance(given, str):
        try:
            return enum[given.upper()]
        except KeyError:
            words = ", ".join(member.name.lower() for member in enum)
            raise ValueError(f"{given!r} is none of {words}") from None
    return given
