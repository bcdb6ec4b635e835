"""A few random inputs, and every input that once failed; `make fuzz` runs as many as are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from .fuzz import CORPUS, SHARES, TARGETS, Chance, draw, run, tried

ONCE_FAILED = sorted(CORPUS.iterdir())


@pytest.mark.parametrize("path", ONCE_FAILED, ids=[path.name for path in ONCE_FAILED])
def test_what_once_failed(path: Path) -> None:
    assert tried(path.suffix.removeprefix("."), path.read_bytes(), 0) == ""


def test_random_inputs() -> None:
    done, wrong = run(300, 7)
    assert wrong == {}
    assert done.keys() == TARGETS.keys() == SHARES.keys()


def test_a_seed_decides_everything() -> None:
    assert [draw(Chance(n)) for n in range(20)] == [draw(Chance(n)) for n in range(20)]


def test_a_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(raw: bytes, chance: Chance) -> None:
        raise ZeroDivisionError("here")

    monkeypatch.setitem(TARGETS, "decoder", broken)
    assert tried("decoder", b"x", 0).startswith("ZeroDivisionError at test_fuzz.py:")
