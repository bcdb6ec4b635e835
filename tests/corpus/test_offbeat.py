"""Texts of less usual kinds pass the packs `default` and `calm`, and loops of less usual kinds are cut by `default`."""

from __future__ import annotations

from random import Random

import pytest

from .everyday import CHANNELS
from .offbeat import OFFBEAT
from .plays import assert_cut, first, hit_on
from .ruts import RUTS

UNSEEN = {"code_ifs": "branches of code in any order: little new is the rule in code"}
"""Loops that `default` does not see, and why."""


def test_the_corpus_is_wide_enough() -> None:
    assert len(OFFBEAT) >= 60
    assert len(RUTS) >= 60


@pytest.mark.parametrize("name", OFFBEAT)
def test_an_offbeat_text_passes(name: str) -> None:
    assert hit_on(name, OFFBEAT[name]) is None


@pytest.mark.parametrize("name", [name for name in OFFBEAT if len(name) % 4 == 0])
def test_a_calmer_pack_passes_it_too(name: str) -> None:
    make, _, _ = OFFBEAT[name]
    assert first("calm", CHANNELS["t"], make(Random(2))) is None


@pytest.mark.parametrize("name", [name for name in RUTS if name not in UNSEEN])
def test_a_rut_is_cut(name: str) -> None:
    assert_cut(name, RUTS[name])
