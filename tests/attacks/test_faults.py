"""A fixed sample of the fault matrix; `make faults` runs all of it."""

from __future__ import annotations

from collections import Counter

from .faults import ENDS, KINDS, PLACES, Case, cases, run_all
from .healthy import WIRES


def sample() -> list[Case]:
    """Every kind at every place: each pair once, with wire, framing, and how often taken in turn."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases():
        if case.kind not in ("silence", "17 MB"):  # they wait, or are costly
            groups.setdefault((case.kind, case.place), []).append(case)
    return [group[(7 * n) % len(group)] for n, group in enumerate(groups.values())]


async def test_a_sample() -> None:
    chosen = sample()
    results = await run_all(chosen, idle="30s")
    assert len(results) == len(chosen) > 200
    assert [f"{case}: {why}" for case, _, why in results if why] == []
    assert {result for _, result, _ in results} == {"whole", "error", "refused"}


def test_the_matrix_is_whole() -> None:
    every = list(cases())
    assert len(every) == len(set(every)) > 4000
    assert {case.wire for case in every} == set(WIRES)
    assert {case.kind for case in every} == set(KINDS)
    for kind in ENDS:
        places = {case.place for case in every if case.kind == kind}
        assert places >= set(PLACES) - {"before the head"}


def test_the_sample_holds_all_wires_and_framings() -> None:
    drawn = Counter(case.wire for case in sample())
    assert drawn.keys() == WIRES.keys() and min(drawn.values()) > 15
    assert len({case.framing for case in sample()}) == 4
    assert {case.always for case in sample()} == {case.split for case in sample()} == {True, False}
