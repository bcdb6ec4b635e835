"""What repeated, for `privacy.show_excerpts`: a few characters of the answer beside a finding, on the page and in
/-/recent only, and only where that is switched on. Nothing here runs otherwise.

What looks like a credential is masked first. That is a net, not a promise: the page is for the operator's own eyes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rules import Armed, Brief, Channel, Finding, Hit, Mode, MonitorScope, RuleSet, StreamMonitor, Watch

MOST: Final = 240
"""Characters of an excerpt."""
KEPT: Final = 1_024
"""Characters of a block that are kept to take excerpts from: more than is shown, so that a key whose head would be cut
off is still seen whole."""
BLOCKS: Final = 16
"""Blocks of an answer that are remembered, the newest."""
MASK: Final = "•"

_CREDENTIAL = re.compile(
    r"""
      \b(?:sk|pk|rk|gsk|hf|xai|gh[a-z]|glpat|github_pat|xox[a-z])[-_][-_.A-Za-z0-9]{8,400}
    | \b(?:AKIA|ASIA|AIza|ya29\.|eyJ)[-_.A-Za-z0-9]{12,800}
    | -----BEGIN[ A-Z]{0,40}-----[^-]{0,4000}
    | (?P<name> (?i: (?:authorization|token|secret|passw(?:or)?d|pwd|api[-_ ]?key|access[-_ ]?key|cookie)
        ["']? \s{0,4} [:=] \s{0,4} ["']? (?:(?:bearer|basic)\s{1,4})? | \b(?:bearer|basic) \s{1,4} (?=\S{0,400}[0-9]) ))
      [^\s"',;]{6,400}
    | (?<=://) [^\s/@:]{1,200}:[^\s/@]{1,200} (?=@)
    | \b[0-9A-Fa-f]{32,400}\b
    | \b(?=[A-Za-z_+=-]{0,400}[0-9])(?=[a-z0-9_+=-]{0,400}[A-Z])(?=[A-Z0-9_+=-]{0,400}[a-z]) [A-Za-z0-9_+=-]{20,400}
    """,
    re.VERBOSE,
)


def masked(text: str) -> str:
    """The text with every character of what looks like a credential replaced, so that lengths stay."""
    return _CREDENTIAL.sub(_mask, text)


def _mask(found: re.Match[str]) -> str:
    name = found["name"] or ""
    return name + MASK * (len(found[0]) - len(name))


class Excerpts:
    """The excerpts of one exchange, over all its attempts."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: list[tuple[Finding, str]] = []

    def over(self, rules: RuleSet) -> RuleSet:
        """The same rules, whose watches remember what they saw when one fired."""
        return _ExcerptRules(rules, self)

    def of(self, finding: Finding) -> str:
        """What repeated, "" where no text is known (a finding across steps)."""
        return next((text for one, text in self._known if one is finding), "")

    def note(self, finding: Finding, text: str) -> None:
        """`text`: what the rule had seen, up to where it fired."""
        period = finding.hit.period or MOST
        said = masked(text)[-min(period, MOST) :]
        self._known.append((finding, re.sub(MASK + "{4,}", MASK * 3, said)))


class _ExcerptRules(RuleSet):
    __slots__ = ("_excerpts",)

    def __init__(self, rules: RuleSet, excerpts: Excerpts) -> None:
        super().__init__(rules)
        self._excerpts = excerpts

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> Watch:
        return _ExcerptWatch(self.armed if mode is not Mode.OFF else (), brief or Brief(), mode, self._excerpts, self)


class _ExcerptWatch(Watch):
    __slots__ = ("_excerpts", "_key", "_rules", "_tails")

    def __init__(self, armed: tuple[Armed, ...], brief: Brief, mode: Mode, excerpts: Excerpts, rules: RuleSet) -> None:
        super().__init__(armed, brief, mode)
        self._excerpts = excerpts
        self._rules = rules
        self._tails: dict[tuple[int, Channel, str], tuple[str, int]] = {}
        """The end of each block, and the characters of it so far."""
        self._key = ""

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        block = (choice, channel, key if channel is Channel.TOOL else "")
        self._key = block[2]
        tail, fed = self._tails.pop(block, ("", 0))
        whole = self._tails[block] = (tail + text, fed + len(text))
        found = super().feed(choice, channel, key, text)
        self._tails[block] = (whole[0][-KEPT:], whole[1])
        if len(self._tails) > BLOCKS:
            del self._tails[next(iter(self._tails))]
        return found

    def _found(self, choice: int, channel: Channel, found: list[tuple[StreamMonitor, Hit]]) -> list[Finding]:
        findings = super()._found(choice, channel, found)
        tail, fed = self._tails.get((choice, channel, self._key if channel is Channel.TOOL else ""), ("", 0))
        for finding in findings:
            # A rule over all channels counts characters that are not of this block.
            alone = self._rules[finding.rule].kind.scope is not MonitorScope.CHOICE
            behind = max(0, fed - finding.hit.at) if alone else 0
            self._excerpts.note(finding, tail[: len(tail) - behind] if behind else tail)
        return findings
