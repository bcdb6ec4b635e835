"""Odd answers become answers, legal errors, or statuses with a reason: a sample; `make faults` runs all of them."""

from __future__ import annotations

from collections import Counter

from benchmarks.outage import skipping

from .healthy import WIRES
from .odd import Odd, cases, run_all

HEAVY = ("20 MB", "10 MB", "a bomb", "2 MB", "100,000")
"""Costly."""


def sampled(odd: Odd) -> bool:
    """Each form on one wire, in turn; what is costly is left to `make faults`."""
    if any(word in odd.name for word in HEAVY):
        return False
    return list(WIRES)[sum(odd.name.encode()) % len(WIRES)] == odd.wire


def test_a_sample() -> None:
    results = skipping.run(run_all(sampled))
    assert len(results) > 200
    assert [f"{odd}: {why}" for odd, why in results if why] == []


def test_every_form_is_there() -> None:
    names = Counter((odd.wire, odd.name) for odd in cases() if odd.stream)
    assert set(names.values()) == {1}
    forms = Counter(wire for wire, _ in names)
    assert set(forms) == set(WIRES) and min(forms.values()) > 130
