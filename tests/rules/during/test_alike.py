"""Events of one read that differ in their text alone are looked at together, and nobody can tell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import wires
from rules.detect.packs import assemble
from rules.detect.ruleset import RuleSet
from rules.detect.watch import Watch
from rules.during.output import Forward, Halt, Noted, Output
from rules.during.stream import Stream
from rules.values.delta import Channel
from rules.wires.base import Ask

RULES = RuleSet(assemble(["default"]).rules)
END = b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def event(text: str, padding: str | None, raw: bool) -> bytes:
    more = "" if padding is None else f',"obfuscation":"{padding}"'
    said = json.dumps(text, ensure_ascii=not raw)
    choice = f'{{"index":0,"delta":{{"content":{said}}},"finish_reason":null}}'
    return f'data: {{"id":"c","choices":[{choice}]{more}}}\n\n'.encode()


TEXTS = st.one_of(
    st.sampled_from(["Let ", "me ", "look ", "again. ", "I ", "wait, ", "the file"]),
    st.sampled_from(
        ["\n", 'a "quoted" word', "back\\slash", "日本語", "😀", "é", "", "\x1f", "\u2028", " " * 40, "x" * 300]
    ),
)
READS = st.lists(st.tuples(TEXTS, st.sampled_from([None, "", "aZ09", "aZ09bY18", 'q"']), st.booleans()), max_size=40)


def outcome(rules: RuleSet | None, reads: list[bytes]) -> tuple[Any, ...]:
    stream = Stream(wires.get("openai_chat"), Ask("m", True), rules)
    out: list[Output] = []
    for data in reads:
        out += stream.feed(data, 1.0)
        while stream.busy:
            out += stream.more(1.0)
    out += stream.eof(1.0)
    sent = b"".join(one.raw for one in out if isinstance(one, Forward))
    said = [one for one in out if isinstance(one, Noted | Halt)]
    shown = stream.transcript
    return sent, said, stream.events, stream.malformed, shown.text(), shown.shown, shown.finished, stream.finding


@settings(max_examples=40)
@given(READS, st.booleans(), st.booleans(), st.lists(st.integers(0, 4000), max_size=4))
def test_one_read_says_what_many_say(
    drawn: list[tuple[str, str | None, bool]], padded: bool, loops: bool, cuts: list[int]
) -> None:
    events = [event(text, padding if padded else None, raw) for text, padding, raw in drawn]
    if loops:
        events += [
            event("I look at the file again and then I go on. "[n % 3 :], "ab" if padded else None, True)
            for n in range(3)
        ] * 9
    whole = b"".join([*events, END])
    pieces, at = [], 0
    for cut in sorted({cut for cut in cuts if cut < len(whole)}):
        pieces.append(whole[at:cut])
        at = cut
    for rules in (None, RULES):
        alone = outcome(rules, [*events, END])
        assert outcome(rules, [whole]) == alone
        assert outcome(rules, [piece for piece in (*pieces, whole[at:]) if piece]) == alone


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["aaaa", "ab ", "the file ", "日本", "\n", "x" * 40, " "]), min_size=1, max_size=60))
def test_a_watch_is_fed_a_run_as_it_is_fed_one_by_one(texts: list[str]) -> None:
    texts = texts * 3
    one, other = RULES.watch(), RULES.watch()
    assert isinstance(one, Watch) and isinstance(other, Watch)
    at = 0
    while at < len(texts):
        count, found = one.feed_all(0, Channel.TEXT, "text", texts[at:])
        assert count > 0
        for text in texts[at : at + count - 1]:
            assert not other.feed(0, Channel.TEXT, "text", text) and not other.doubt
        assert list(other.feed(0, Channel.TEXT, "text", texts[at + count - 1])) == list(found)
        assert one.doubt == other.doubt
        at += count
    assert one.near_misses() == other.near_misses()


def test_a_read_is_looked_at_in_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []
    plain = Watch.feed_all
    monkeypatch.setattr(Watch, "feed_all", lambda *given: fed.append(len(given[-1])) or plain(*given))
    words = [event(f"word{n} ", None, True) for n in range(21)]
    outcome(RULES, [b"".join([*words, END])])
    assert fed == [19], "the first begins the block, the second teaches the shape of the others"
