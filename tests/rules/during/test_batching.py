"""Joined pieces change nothing but when a finding is told: same rule, same character, same order of what is heard."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.detect.packs import assemble
from rules.detect.ruleset import RuleSet
from rules.detect.watch import Watch
from rules.during.batching import ENOUGH, Batch
from rules.values.delta import Channel
from rules.values.verdict import Finding

TEXT, REASONING, TOOL = Channel.TEXT, Channel.REASONING, Channel.TOOL
SENTENCE = "Let me check the file once more to be sure. "


def all_of(watch: Watch | Batch, pieces: list[tuple[Channel, str]]) -> list[tuple[str, int, int]]:
    found: list[Finding] = []
    for channel, text in pieces:
        found += watch.feed(0, channel, channel.label, text)
    found += watch.drain()
    return sorted((f.rule, f.hit.at, f.hit.since) for f in found)


@pytest.mark.parametrize("pack", ["default", "seeds"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_same_verdict_at_the_same_character(pack: str, data: st.DataObject) -> None:
    rules = RuleSet(rule for rule in assemble([pack]).rules if not rule.kind.by_piece)
    text = "Once upon a time there was a fuse. " + SENTENCE * 60
    cuts = sorted(data.draw(st.lists(st.integers(1, len(text) - 1), max_size=200)))
    pieces = [(TEXT, text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if a < b]
    got = all_of(Batch(rules.watch()), pieces)
    assert got and got == all_of(rules.watch(), [(TEXT, text)])


def test_what_is_pending_is_heard_before_another_block_speaks() -> None:
    heard: list[tuple[Channel, str]] = []

    class Ear(Watch):
        def feed(self, choice: int, channel: Channel, key: str, text: str) -> tuple[()]:
            heard.append((channel, text))
            return ()

    watch = Batch(Ear((), None, None))  # type: ignore[arg-type]
    for channel, text in [(REASONING, "a"), (REASONING, "b"), (TEXT, "c"), (TEXT, "d" * ENOUGH), (TEXT, "e")]:
        watch.feed(0, channel, "k", text)
    assert heard == [(REASONING, "ab"), (TEXT, "c" + "d" * ENOUGH)]
    watch.called(0, "f", "{}")
    assert heard[-1] == (TEXT, "e") and watch.drain() == ()


def test_no_piece_waits_longer_than_it_is_worth() -> None:
    rules = RuleSet(rule for rule in assemble(["default"]).rules)
    patient, whole = Batch(rules.watch()), rules.watch()
    late = None
    for n, letter in enumerate(SENTENCE * 60):
        if patient.feed(0, TEXT, "t", letter):
            late = n
            break
    (found, *_) = whole.feed(0, TEXT, "t", SENTENCE * 60)
    assert late is not None and found.hit.at <= late + 1 < found.hit.at + ENOUGH
