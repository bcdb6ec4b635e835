"""A fixed sample of the faults over breaker, line and fallback; `make faults` runs all of it."""

from __future__ import annotations

import pytest

from benchmarks.outage import skipping

from .faults import EARLY, ENDS, Case
from .healthy import WIRES
from .overload import GUARDS, every, run_all


def sample() -> list[Case]:
    """Each kind at each place, and each early end on each wire; often and once in turn."""
    groups: dict[tuple[str, str, str], list[Case]] = {}
    for case in every():
        if case.kind != "silence":  # it waits
            wire = case.wire if case.kind in ENDS and case.place in EARLY else ""
            groups.setdefault((case.kind, case.place, wire), []).append(case)
    return [group[(5 * n) % len(group)] for n, group in enumerate(groups.values())]


@pytest.mark.parametrize("guard", GUARDS)
def test_a_sample(guard: str) -> None:
    chosen = sample()[GUARDS.index(guard) :: len(GUARDS)]
    results = skipping.run(run_all(guard, chosen, idle="30s"))
    assert len(results) == len(chosen) > 40
    assert [f"{case}: {why}" for case, _, why in results if why] == []
    assert "whole" in {result for _, result, _ in results}


def test_the_sample_holds_every_early_end_on_every_wire() -> None:
    assert {case.wire for case in sample() if case.kind in ENDS and case.place in EARLY} == set(WIRES)
