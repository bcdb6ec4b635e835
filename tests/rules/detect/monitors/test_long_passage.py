"""The third copy of a long passage."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from rules.detect.monitors.long_passage import MONITOR, LongPassage, LongPassageParams
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit


def passage(seed: int, lines: int) -> str:
    rnd = random.Random(seed)
    words = ["river", "stone", "lamp", "goat", "north", "copper", "letter", "seven", "under", "window"]
    return "".join(" ".join(rnd.choices(words, k=9)) + f" {rnd.randint(0, 9999)}.\n\n" for _ in range(lines))


def run(text: str, prompt: str = "", **params: float) -> Hit | None:
    return LongPassage(LongPassageParams.model_validate(params), Brief(prompt)).feed(text, Channel.TEXT)


def test_a_period_far_over_every_window() -> None:
    block = passage(1, 300)
    assert len(block) > 15_000
    hit = run("Once.\n" + block * 3)
    assert hit is not None
    assert hit.period is not None and abs(hit.period - len(block)) < 16
    assert hit.copies is not None and 2.2 <= hit.copies < 2.3
    assert hit.since <= 6 + 400  # a collision of digests hides a few sentences


def test_two_copies_are_no_loop() -> None:
    block = passage(2, 200)
    assert run(block + block) is None
    assert run(block + passage(3, 20) + block + passage(4, 20)) is None


def test_short_loops_are_left_to_others() -> None:
    assert run("So be it. " * 100) is None


def test_what_the_request_holds_has_more_room() -> None:
    block = passage(5, 40)
    assert run(block * 3) is not None
    assert run(block * 3, prompt=block) is None


@settings(max_examples=40)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=30))
def test_the_same_verdict_at_the_same_character_for_every_cutting(sizes: list[int]) -> None:
    block = passage(6, 30) + "x" * 5000 + "\n"
    text = "Well.\n" + block * 3
    whole = run(text)
    assert whole is not None
    monitor, at, turn, hit = LongPassage(LongPassageParams(), Brief()), 0, 0, None
    while at < len(text) and hit is None:
        size = sizes[turn % len(sizes)]
        hit = monitor.feed(text[at : at + size], Channel.TEXT)
        at += size
        turn += 1
    assert hit == whole


def test_nothing_grows() -> None:
    monitor = MONITOR.start(MONITOR.params(), Brief())
    assert isinstance(monitor, LongPassage)
    for _ in range(400):
        monitor.feed("no end in sight " * 10, Channel.TEXT)
        assert len(monitor.carry) < 2048 + 160


def _drafts(count: int) -> str:
    """Versions of one answer: half of the sentences come again in each, the others are new."""
    rnd = random.Random(7)
    kept = [_plain(rnd) for _ in range(8)]
    return "".join(
        "Here is a version that is clearer and more to the point than the one before it.\n"
        + "".join(rnd.choice((one, _plain(rnd))) + "\n" for one in kept)
        for _ in range(count)
    )


def _plain(rnd: random.Random) -> str:
    names = (
        "harbour",
        "ledger",
        "morning",
        "captain",
        "orange",
        "piano",
        "crate",
        "window",
        "garden",
        "letter",
        "bridge",
    )
    one, two, three, four = (rnd.choice(names) for _ in range(4))
    return f"The {one} of the {two} kept a {three} near every {four}."


def test_drafts_without_an_end_are_seen_by_their_sentences() -> None:
    hit = run(_drafts(40))
    assert hit is not None and hit.evidence["known"] >= hit.bars["known"] == 1800
    assert hit.period is None and 0 < hit.since < hit.at
    assert run(_drafts(4)) is None
    song = "Write a song about the harbour"
    assert run(_drafts(40), prompt=song) is not None
    assert run(_drafts(40), prompt=song, verse=90.0) is None


def test_lines_of_code_and_data_are_no_sentences() -> None:
    rnd = random.Random(3)
    rows = [
        "    self.assertEqual(reply.status_code, 200)  # as before\n",
        "INSERT INTO t (a, b) VALUES (1, 'x', NULL);\n",
    ]
    assert run("".join(rnd.choice(rows) + f"    call_{rnd.getrandbits(60):x}()\n" for _ in range(300))) is None
