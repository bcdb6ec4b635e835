"""The rules at work on one answer: text comes in, findings come out.

A Watch makes monitors when a channel appears. Its state is bounded: where an upstream opens choices or calls without
end, it forgets the oldest. Each rule reports at most one finding in each scope; the strongest finding comes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..values.brief import Brief
from ..values.delta import Channel
from ..values.verdict import Action, Finding, Hit, Mode, NearMiss
from .due import Dues, dues, first_due
from .monitors.base import SHOWN, MonitorKind, MonitorScope, StreamMonitor
from .rule import Armed, Rule
from .slots import MonitorSlot, ScopeKey, Watched

CHOICES = 128
"""Choices watched at once; OpenAI allows n up to 128. A newer one replaces the oldest."""
NEAR_MISS = 0.5
"""The suspicion from which a repetition that ended by itself is reported as a near miss, and from which text waits."""
WIDE = SHOWN // 8
"""The most characters of text that is not ASCII that are collected before the monitors see them."""
OVER = 2000
"""A channel or call is over when so many characters have come in others since: its monitors are freed (26 KiB), and if
it goes on after all, it is watched from there on."""
CALLS = 4
"""Tool calls watched at once in one choice: they stream one after the other, rarely interleaved."""


class Watch:
    """One answer watched by a rule set."""

    __slots__ = (
        "_armed", "_brief", "_choices", "_dues", "_late", "_mode", "_slots", "_speaking", "broken", "by_piece",
        "doubt", "gathers",
    )  # fmt: skip

    def __init__(
        self,
        armed: tuple[Armed, ...],
        brief: Brief,
        mode: Mode,
        by_piece: bool | None = None,
        gathers: bool | None = None,
        due: Dues | None = None,
    ) -> None:
        """`by_piece`, `gathers`, `due`: as the rule set has computed them; None: compute them here."""
        self._dues = due
        self.by_piece = any(kind.by_piece for _, _, kind in armed) if by_piece is None else by_piece
        """Does a rule depend on how the text is cut into pieces?"""
        self.gathers = all(kind.gathers for _, _, kind in armed) if gathers is None else gathers
        """Do all monitors say when they need to see more, so that the watch itself collects text?"""
        self._armed = armed
        self._brief = brief
        self._mode = mode
        self._choices: dict[int, Watched] = {}
        self._slots: dict[tuple[int, Channel, str], MonitorSlot] = {}
        self._late: list[Finding] = []
        self._speaking: MonitorSlot | None = None
        self.doubt = False
        """A rule that would act is at least half convinced by the block that was fed last."""
        self.broken: dict[str, str] = {}
        """Rules whose monitor raised (rule → exception's class): disarmed, because a fuse must fail open."""

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        """More text of one block; findings, strongest first, () when calm. Never raises."""
        slot = self._slots.get((choice, channel, key)) or self._open(choice, channel, key)
        if slot is not self._speaking:
            slot = self._turn(choice, channel, key, slot)
        text = slot.kept + text
        if len(text) < (slot.plain if text.isascii() else slot.need):
            slot.kept = text
            self.doubt = slot.doubt
            return ()
        found = self._show(choice, channel, slot, text) if text else ()
        self.doubt = slot.doubt
        return found

    def feed_all(self, choice: int, channel: Channel, key: str, texts: Sequence[str]) -> tuple[int, Sequence[Finding]]:
        """Feed these texts one after the other, up to the first that finds something or leaves a doubt. Returns (how
        many were fed, what the last one found). A text that no monitor need see yet costs one addition (5 calls through
        `feed`)."""
        slot = self._slots.get((choice, channel, key)) or self._open(choice, channel, key)
        if slot is not self._speaking:
            slot = self._turn(choice, channel, key, slot)
        if slot.doubt:
            return 1, self.feed(choice, channel, key, texts[0])
        begun = 0
        kept = slot.kept
        size, ascii = len(kept), "".join(texts).isascii()
        plain = ascii and kept.isascii()
        for at, more in enumerate(map(len, texts)):
            size += more
            if not ascii:
                plain = plain and texts[at].isascii()
            if size < (slot.plain if plain else slot.need):
                continue
            kept += "".join(texts[begun : at + 1])
            begun = at + 1
            found = self._show(choice, channel, slot, kept) if kept else ()
            if found or slot.doubt:
                self.doubt = slot.doubt
                return begun, found
            kept = slot.kept
            size, plain = len(kept), kept.isascii()
        slot.kept = kept + "".join(texts[begun:])
        self.doubt = slot.doubt
        return len(texts), ()

    def _show(
        self, choice: int, channel: Channel, slot: MonitorSlot, text: str, everybody: bool = False
    ) -> Sequence[Finding]:
        size, plain = len(text), text.isascii()
        if slot.due:
            self._make(choice, channel, slot, size, plain)
        least = 0 if slot.due else size
        monitors, places = slot.monitors, slot.shown
        found: list[tuple[StreamMonitor, Hit]] | None = None
        for at, monitor in enumerate(monitors):
            shown = places[at]
            if shown == size:
                continue
            if not everybody:
                quiet = monitor.plain if plain else monitor.quiet
                if not plain and quiet > WIDE:
                    quiet = WIDE
                # Half is enough: whoever must look soon looks along (of 24 characters an event, 2 in 5 looks fewer).
                if size < shown + (quiet + 1 >> 1):
                    if shown < least:
                        least = shown
                    continue
            places[at] = size
            try:
                hit = monitor.feed(text[shown:] if shown else text, channel)
            except Exception as e:
                self._drop(choice, monitor, e)
                continue
            if hit is not None:
                found = found or []
                found.append((monitor, hit))
        if slot.monitors is not monitors:  # one broke
            slot.shown = [shown for shown, one in zip(places, monitors, strict=True) if one in slot.monitors]
        slot.kept = text[least:]
        if slot.past // OVER != (slot.past + least) // OVER and slot is self._speaking:
            slot.past += least
            self._free_others(choice, slot)
        else:
            slot.past += least
        slot.need, slot.plain = first_due(slot.due) if slot.due else (SHOWN, SHOWN)
        for at, monitor in enumerate(slot.monitors):
            shown = slot.shown[at] = slot.shown[at] - least
            need, enough = shown + (monitor.quiet if monitor.quiet < WIDE else WIDE), shown + monitor.plain
            if need < slot.need:
                slot.need = need
            if enough < slot.plain:
                slot.plain = enough
        try:
            slot.doubt = False
            for monitor in slot.acting:
                if monitor.suspicion() >= NEAR_MISS:
                    slot.doubt = True
                    break
        except Exception:  # a guard must not break what it guards
            slot.doubt = False
        return () if found is None else self._found(choice, channel, found)

    def called(self, choice: int, name: str, arguments: str) -> Sequence[Finding]:
        """A tool call is complete. Only rules on the tool channel whose monitor looks at whole answers hear of it."""
        watched = self._choices.get(choice) or self._choice(choice)
        found: list[tuple[StreamMonitor, Hit]] = []
        for at, rule, kind in self._armed:
            if kind.scope is MonitorScope.CHOICE and Channel.TOOL in rule.channels:
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

    def drain(self) -> Sequence[Finding]:
        """Findings that were made while nobody asked. Collected text cannot convict, else it would not have been
        collected, so it is not shown to the monitors (55 calls an event that is no text)."""
        if not self._late:
            return ()
        late, self._late = self._late, []
        return late

    def _show_all(self) -> None:
        """Show all collected text to the monitors: it may raise a suspicion."""
        for choice, watched in self._choices.items():
            for (channel, _), slot in [*watched.slots.items()]:
                if slot.kept and slot.monitors:
                    self._late += self._show(choice, channel, slot, slot.kept, everybody=True)

    def suspicion(self, choice: int) -> float:
        """0 calm … 1 about to fire: the most suspicious rule that would act."""
        self._show_all()
        watched = self._choices.get(choice)
        if watched is None or self._mode is not Mode.ON:
            return 0.0
        acting = {at for at, rule, _ in self._armed if rule.mode is Mode.ON and rule.action >= Action.CUT}
        return max((m.suspicion() for (at, _, _), m in watched.live.items() if at in acting), default=0.0)

    def near_misses(self, *, now: bool = False) -> Sequence[NearMiss]:
        """Where a rule, acting or watching, was at least half convinced, or (`now`) is so at this moment: the most
        suspicious one of each channel of each choice. To be asked once, when an answer has ended. Never raises."""
        self._show_all()
        found: dict[tuple[int, Channel], NearMiss] = {}
        for choice, watched in self._choices.items():
            for scope, level in () if now else watched.missed.items():
                self._miss(found, choice, scope, level)
            for scope, monitor in watched.live.items():
                try:
                    level = monitor.suspicion() if now else monitor.peak()
                except Exception:  # as in feed: a guard must not break what it guards
                    continue
                if level < NEAR_MISS:
                    continue
                self._miss(found, choice, scope, level)
        return tuple(found.values())

    def _miss(self, found: dict[tuple[int, Channel], NearMiss], choice: int, scope: ScopeKey, level: float) -> None:
        """Note this near miss if it is its channel's most suspicious one."""
        rule = self._rule(scope)
        channel = Channel(scope[1]) if scope[1] >= 0 else rule.channels[0]
        known = found.get((choice, channel))
        if known is None or known.suspicion < level:
            found[choice, channel] = NearMiss(rule.name, channel, choice, level)

    # the rare paths ------------------------------------------------------------------------------------------
    def _turn(self, choice: int, channel: Channel, key: str, slot: MonitorSlot) -> MonitorSlot:
        """Another slot speaks than the last time: itself, or a fresh one if its channel was over."""
        watched = self._choices[choice]
        before = watched.speaking
        if before is not slot:
            if before is not None:
                before.left = watched.others(before)
            if slot.past + len(slot.kept) and watched.others(slot) - slot.left >= OVER:
                self._free(choice, slot)
                slot = self._open(choice, channel, key)
        self._speaking = watched.speaking = slot
        return slot

    def _free_others(self, choice: int, slot: MonitorSlot) -> None:
        """Free the slots of this choice that are over."""
        watched = self._choices[choice]
        if len(watched.slots) > 1:
            for one in [*watched.slots.values()]:
                if one is not slot and watched.others(one) - one.left >= OVER:
                    self._free(choice, one)

    def _free(self, choice: int, slot: MonitorSlot) -> None:
        """Forget the monitors of this slot, but for those that watch the whole choice."""
        watched = self._choices[choice]
        channel, call = next(at for at, one in watched.slots.items() if one is slot)
        if slot.kept and slot.monitors:
            self._late += self._show(choice, channel, slot, slot.kept, everybody=True)
        for scope, monitor in [*watched.live.items()]:
            if scope[1] == int(channel) and scope[2] == call:
                del watched.live[scope]
                try:
                    level = monitor.peak()
                except Exception:  # as in feed: a guard must not break what it guards
                    continue
                if level >= NEAR_MISS:
                    watched.missed[scope] = max(level, watched.missed.get(scope, 0.0))
        del watched.slots[channel, call]
        watched.gone += slot.past + len(slot.kept)
        self._slots = {block: one for block, one in self._slots.items() if one is not slot}

    def _choice(self, choice: int) -> Watched:
        if len(self._choices) >= CHOICES:
            oldest = next(iter(self._choices))
            del self._choices[oldest]
            self._slots = {block: slot for block, slot in self._slots.items() if block[0] != oldest}
        watched = self._choices[choice] = Watched()
        return watched

    def _forget(self, choice: int) -> None:
        """A monitor of this choice is gone: remove it from the slots."""
        watched = self._choices.get(choice)
        for slot in watched.slots.values() if watched is not None else ():
            left = watched.live.values()  # type: ignore[union-attr]
            slot.shown = [shown for shown, one in zip(slot.shown, slot.monitors, strict=True) if one in left]
            slot.monitors = tuple(one for one in slot.monitors if one in left)
            slot.acting = tuple(one for one in slot.acting if one in left)

    def _open(self, choice: int, channel: Channel, key: str) -> MonitorSlot:
        """Find or begin the watch over a block, and remember it under its key."""
        watched = self._choices.get(choice) or self._choice(choice)
        call = key if channel is Channel.TOOL else ""
        if channel is Channel.TOOL and call not in watched.calls:
            watched.calls.append(call)
            if len(watched.calls) > CALLS:
                self._end_call(choice, watched, watched.calls.pop(0))
        slot = watched.slots.get((channel, call))
        if slot is None:
            if self._dues is None:
                self._dues = dues(self._armed)
            slot = watched.slots[channel, call] = MonitorSlot(call, *self._dues[channel])
        if len(self._slots) >= 4 * CHOICES:  # an upstream may invent keys without end
            self._slots.clear()
        self._slots[choice, channel, key] = slot
        return slot

    def _make(self, choice: int, channel: Channel, slot: MonitorSlot, size: int, plain: bool) -> None:
        """Make the monitors of a block that are due with so many characters, which are ASCII or not (`plain`), and
        keep all of its monitors in the order of their rules."""
        later = [one for one in slot.due if size <= (one.calm_ascii if plain else one.calm)]
        if len(later) == len(slot.due):
            return
        assert self._dues is not None
        slot.due = tuple(later)
        watched, number = self._choices[choice], int(channel)
        shown = dict(zip(map(id, slot.monitors), slot.shown, strict=True))
        made: list[StreamMonitor] = []
        acting: list[StreamMonitor] = []
        for one in self._dues[channel][0]:
            if later and one is later[0]:
                del later[0]
                continue
            at, rule, kind = one.armed
            scope = (at, -1, "") if kind.scope is MonitorScope.CHOICE else (at, number, slot.call)
            if (monitor := self._monitor(watched, scope, rule, kind)) is None:
                continue
            made.append(monitor)
            if self._mode is Mode.ON and rule.mode is Mode.ON and rule.action >= Action.CUT:
                acting.append(monitor)
        slot.monitors, slot.acting = tuple(made), tuple(acting)
        slot.shown = [shown.get(id(monitor), 0) for monitor in made]

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
        watched.fired -= {s for s in watched.fired if s[1] == tool and s[2] == call}
        if (slot := watched.slots.pop((Channel.TOOL, call), None)) is not None:
            watched.gone += slot.past + len(slot.kept)
        self._slots.pop((choice, Channel.TOOL, call), None)

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
            watched.fired |= {scope}
            rule = self._rule(scope)
            mode = rule.mode.at_most(self._mode)
            findings.append(Finding(rule.name, rule.action, mode, channel, choice, hit))
        self._forget(choice)
        # by place, so that of equal findings the first is the same however the text was cut
        findings.sort(key=lambda f: (not f.acts, -f.action, f.hit.at))
        return findings
