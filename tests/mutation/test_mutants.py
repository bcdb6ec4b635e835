"""A mutant is one change, it compiles, and it is put in place without a file being written."""

from __future__ import annotations

import ast
import importlib
from functools import partial
from pathlib import Path

import pytest

from .__main__ import TARGETS, function_lines, statement_lines, with_bodies
from .mutants import mutants

SOURCE = '''
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import os

KIND = Literal[3]
MOST = 3


def f(a: int, b: "1 < 2" = 4) -> int:
    """Says 1 < 2."""
    if a < b <= 9 and (c := a) is not None:
        return max(a, b) + 1
    g(a)
    return 7 if not a else 8


def g(a: int) -> None:
    raise ValueError
'''


def test_each_mutant_is_one_change_that_compiles() -> None:
    made = [mutant.of(SOURCE) for mutant in mutants(SOURCE)]
    assert len(made) == len(set(made)) and SOURCE not in made
    for text in made:
        ast.parse(text)
        assert ast.unparse(ast.parse(text)) != ast.unparse(ast.parse(SOURCE))


@pytest.mark.parametrize(
    "told",
    [
        "8: 3 → 4",
        "11: 4 → 5",
        "13: a < b <= 9 → (a <= b <= 9)",
        "13: a < b <= 9 → (a < b < 9)",
        "13: a < b <= 9 and (c := a) is not None → ((a < b <= 9) or ((c := a) is not None))",
        "14: max → min",
        "14: max(a, b) + 1 → (max(a, b) - 1)",
        "15: g(a) → pass",
        "16: not a → bool(a)",
        "20: raise ValueError → pass",
    ],
)
def test_what_is_changed(told: str) -> None:
    assert told in [mutant.told(SOURCE) for mutant in mutants(SOURCE)]


def test_types_imports_and_words_are_left_alone() -> None:
    assert not {2, 4, 5, 7, 12} & {mutant.line for mutant in mutants(SOURCE)}


def test_lines_are_told_apart_by_when_they_run() -> None:
    assert function_lines(SOURCE) == {12, 13, 14, 15, 16, 20}
    assert statement_lines("f(\n    1,\n    2,\n)\nif (\n    a\n    or b\n):\n    c\n") == {
        1: 1, 2: 1, 3: 1, 4: 1, 5: 5, 6: 5, 7: 5, 8: 5, 9: 9,
    }  # fmt: skip


def test_a_loaded_file_gets_other_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mutated_one.py"
    file.write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("mutated_one")
    assert module.f(1) == 5
    with_bodies(file, SOURCE.replace("max(a, b) + 1", "max(a, b) - 1"))
    assert module.f(1) == 3
    assert partial(module.f, 1)() == 3


def test_the_targets_and_their_tests_are_there() -> None:
    for file, tests in TARGETS.items():
        assert Path(file).exists() and all(Path(test).exists() for test in tests)
