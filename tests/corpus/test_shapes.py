"""The repository's own corpus against the default pack: floors on recall, false cuts and delay.

The shapes come from public bug reports, the words from a seeded generator; three seeds, so no number is luck.
"""

from __future__ import annotations

import statistics

import pytest

from rules.detect import packs
from rules.values.brief import Brief
from rules.values.verdict import Hit

from .shapes import HEALTHY, LOOPS, Shape, shapes

SEEDS = (1, 2, 3)


def judge(shape: Shape, pack: str = "default", size: int = 7) -> Hit | None:
    """The first hit, fed as a provider streams it."""
    watch = packs.assemble([pack]).watch(Brief(shape.prompt))
    for at in range(0, len(shape.text), size):
        found = watch.feed(0, shape.channel, "0", shape.text[at : at + size])
        if found:
            return found[0].hit
    return None


@pytest.fixture(scope="module", params=SEEDS)
def judged(request: pytest.FixtureRequest) -> list[tuple[Shape, Hit | None]]:
    return [(shape, judge(shape, size=64)) for shape in shapes(request.param)]


def test_the_corpus_is_wide_enough() -> None:
    assert len(LOOPS) >= 40
    assert len(HEALTHY) >= 35


def test_no_healthy_shape_is_cut(judged: list[tuple[Shape, Hit | None]]) -> None:
    assert [(shape.name, hit) for shape, hit in judged if not shape.loop and hit] == []


def test_every_loop_is_cut(judged: list[tuple[Shape, Hit | None]]) -> None:
    assert [shape.name for shape, hit in judged if shape.loop and not hit] == []


def test_never_before_the_loop_begins(judged: list[tuple[Shape, Hit | None]]) -> None:
    assert [shape.name for shape, hit in judged if shape.loop and hit and hit.at < len(shape.lead)] == []


def test_the_onset_is_told_within_a_copy(judged: list[tuple[Shape, Hit | None]]) -> None:
    for shape, hit in judged:
        if shape.loop and hit and shape.lead and hit.evidence.get("span"):
            assert hit.since <= len(shape.lead) + max(64, 2 * (hit.period or 0)), (shape.name, hit)


def test_the_delay_is_short(judged: list[tuple[Shape, Hit | None]]) -> None:
    delays = sorted(hit.at - len(shape.lead) for shape, hit in judged if shape.loop and hit)
    assert statistics.median(delays) <= 960  # half of the shapes drift or are pools; tool arguments wait longer
    assert delays[int(0.9 * len(delays))] <= 5_400  # long blocks need their third copy


def test_findings_explain_themselves(judged: list[tuple[Shape, Hit | None]]) -> None:
    for shape, hit in judged:
        if hit:
            assert set(hit.bars) <= set(hit.evidence), shape.name
            assert all(hit.evidence[name] >= bar for name, bar in hit.bars.items()), (shape.name, hit)


@pytest.mark.parametrize("size", [1, 5, 8, 333, 1_000_000])
def test_pieces_do_not_matter(size: int) -> None:
    for shape in shapes(1)[::6]:
        assert judge(shape, size=size) == judge(shape, size=64), shape.name
