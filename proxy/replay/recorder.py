"""Records the text of one answer as the rules saw it, and their findings. It wraps the rules, so that a stream, a whole
body and plain texts are recorded in the same way, and can be played again to other rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rules import Brief, Channel, Finding, Mode, MonitorScope, NearMiss, Rule, RuleSet, Watcher

AROUND = 240
"""Characters shown before and behind what repeats."""
MOST = 1_600
"""Characters shown of what repeats: its beginning and its end."""


class HeardText(NamedTuple):
    """A piece of text as a rule hears it."""

    choice: int
    channel: Channel
    key: str
    text: str


class Called(NamedTuple):
    """A tool call that is complete."""

    choice: int
    name: str
    arguments: str


class HeardFinding(NamedTuple):
    """A finding, the tool call it was found in ("" elsewhere), and the characters of its choice until then."""

    finding: Finding
    call: str
    sent: int


class Excerpt(NamedTuple):
    """The text around a finding, for the opt-in page: `copies` are what repeats, cut into its periods."""

    before: str
    copies: tuple[str, ...]
    left_out: int
    """Characters left out behind the first half of `copies`."""
    after: str


@dataclass(slots=True)
class Recorded:
    """One answer."""

    said: list[HeardText | Called] = field(default_factory=list)
    told: list[HeardFinding] = field(default_factory=list)
    chars: dict[int, int] = field(default_factory=dict)
    """Characters by choice."""
    instruction: str = ""

    @property
    def total(self) -> int:
        """Characters of all choices and channels."""
        return sum(self.chars.values())

    def heard_by(self, rule: Rule, told: HeardFinding) -> str:
        """The whole text that the rule's monitor saw, or would have seen, in the scope of a finding."""
        finding = told.finding
        whole = rule.kind.scope is MonitorScope.CHOICE
        return "".join(
            said.text
            for said in self.said
            if isinstance(said, HeardText)
            and said.choice == finding.choice
            and (said.channel in rule.channels if whole else said.channel is finding.channel)
            and (whole or finding.channel is not Channel.TOOL or said.key == told.call)
        )

    def excerpt(self, rule: Rule, told: HeardFinding) -> Excerpt:
        """The text around a finding."""
        text, hit = self.heard_by(rule, told), told.finding.hit
        at = min(hit.at, len(text))
        since = min(max(0, hit.since), at)
        body = text[since:at]
        left_out = max(0, len(body) - MOST)
        half = MOST // 2
        parts = [(0, body)] if not left_out else [(0, body[:half]), (len(body) - half, body[-half:])]
        period = hit.period or 0
        step = period if period >= 4 else max(1, len(body))
        copies: list[str] = []
        for begin, part in parts:
            ahead = -begin % step  # the second half may begin inside a copy
            copies += [part[:ahead]] if ahead else []
            copies += [part[n : n + step] for n in range(ahead, len(part), step)]
        return Excerpt(text[max(0, since - AROUND) : since], tuple(copies), left_out, text[at : at + AROUND])


class RecordingWatch:
    """A rule set that remembers what its watch hears."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.heard = Recorded()

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> Watcher:
        """As RuleSet.watch; for one answer only."""
        self.heard.instruction = brief.prompt if brief is not None else ""
        return Recorder(self.rules, self.rules.watch(brief, mode), self.heard)


class Recorder:
    """A watch that notes what goes in and what comes out."""

    def __init__(self, rules: RuleSet, watch: Watcher, heard: Recorded) -> None:
        self._rules, self._watch, self._heard = rules, watch, heard
        self._fed: dict[tuple[int, Channel, str], int] = {}

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        """More text; findings are noted with the very character at which they came."""
        found = self._watch.feed(choice, channel, key, text)
        if not text:
            return found
        heard, call = self._heard, key if channel is Channel.TOOL else ""
        sent = heard.chars.get(choice, 0)
        for finding in found:
            into = finding.hit.at - self._before(finding, channel, call)
            heard.told.append(HeardFinding(finding, call, sent + min(max(into, 0), len(text))))
        heard.said.append(HeardText(choice, channel, key, text))
        heard.chars[choice] = sent + len(text)
        scope = (choice, channel, call)
        self._fed[scope] = self._fed.get(scope, 0) + len(text)
        return found

    def called(self, choice: int, name: str, arguments: str) -> Sequence[Finding]:
        """A tool call is complete."""
        found = self._watch.called(choice, name, arguments)
        self._heard.said.append(Called(choice, name, arguments))
        self._heard.told += (HeardFinding(finding, "", self._heard.chars.get(choice, 0)) for finding in found)
        return found

    def drain(self) -> Sequence[Finding]:
        """Nothing is pending: every piece was looked at as it came."""
        return ()

    @property
    def doubt(self) -> bool:
        """As the watch behind it."""
        return self._watch.doubt

    def near_misses(self, *, now: bool = False) -> Sequence[NearMiss]:
        """As the watch behind it."""
        return self._watch.near_misses(now=now)

    def _before(self, finding: Finding, channel: Channel, call: str) -> int:
        """Characters that the finding's monitor had been fed before this piece."""
        rule = self._rules[finding.rule]
        if rule.kind.scope is not MonitorScope.CHOICE:
            return self._fed.get((finding.choice, channel, call), 0)
        return sum(
            n for (choice, other, _), n in self._fed.items() if choice == finding.choice and other in rule.channels
        )


def play(heard: Recorded, rules: RuleSet) -> Iterator[Finding]:
    """The same answer, piece by piece as it was heard, to other rules."""
    watch = rules.watch(Brief(heard.instruction))
    for said in heard.said:
        if isinstance(said, HeardText):
            yield from watch.feed(*said)
        else:
            yield from watch.called(*said)
