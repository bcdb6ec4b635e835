"""Two configs side by side."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from proxy.commands.offline import replay
from proxy.replay import JudgingConfig
from proxy.replay.report.comparison import Difference, compare, diff_json
from rules.detect import packs
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.values.verdict import Mode

from ..answers import CALM, LOOP

CYCLE, REPEATED = "text-cycle", "repeated-block"
A = JudgingConfig(packs.assemble(["seeds"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"text": CALM}, {"text": LOOP * 20}, {"text": LOOP * 20, "channel": "reasoning"}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def shape(told: Difference) -> tuple[int, int, int, int]:
    return len(told.only_a), len(told.only_b), len(told.both), told.exit_code


def test_a_config_is_like_itself(folder: Path) -> None:
    told = compare([folder], A, A)
    assert shape(told) == (0, 0, 2, 0)
    assert all(pair.same for pair in told.both)


def test_what_only_one_finds(folder: Path) -> None:
    less = JudgingConfig(A.rules.without(["reasoning-cycle", REPEATED]))
    assert shape(compare([folder], A, less)) == (1, 0, 1, 1)
    assert shape(compare([folder], less, A)) == (0, 1, 1, 1)


def test_another_rule_at_the_same_place_is_the_same_finding_elsewhere(folder: Path) -> None:
    other = JudgingConfig(RuleSet([Rule(name="other", monitor="cycle", params={"span": 400})]))
    told = compare([folder], A, other)
    text = told.both[0]
    assert text.a and text.b and not text.same
    assert (text.a.finding.rule, text.b.finding.rule) == (CYCLE, "other")
    assert text.b.finding.hit.at - text.a.finding.hit.at == 400 - 256
    assert told.saved[0] > told.saved[1] > 0


def test_telling_only_is_different_from_cutting(folder: Path) -> None:
    told = compare([folder], A, JudgingConfig(A.rules, mode=Mode.WATCH))
    assert shape(told)[2:] == (2, 1)
    assert told.saved[1] == 0
    assert shape(compare([folder], A, JudgingConfig(A.rules, mode=Mode.OFF))) == (2, 0, 0, 1)


@pytest.mark.parametrize("as_json", [False, True])
def test_it_is_printed_without_a_character_of_the_texts(folder: Path, as_json: bool) -> None:
    out = StringIO()
    console = Console(file=out, width=200, color_system=None)
    less = JudgingConfig(A.rules.without(["reasoning-cycle", REPEATED]))
    assert replay([folder], A, None, json=as_json, out=console, err=Console(file=StringIO()), other=less) == 1
    said = out.getvalue()
    assert "function" not in said
    if as_json:
        told = json.loads(said)
        assert set(told) == {"format", "recordings", "stopped", "saved", "only_a", "only_b", "both", "unreadable"}
        assert told == json.loads(json.dumps(diff_json(compare([folder], A, less))))
        assert told["only_a"][0]["rule"] in ("reasoning-cycle", REPEATED)
        assert told["both"][0]["same"] is True
    else:
        assert "A only" in said and "only A finds 1, only B 0, both 1 (1 of them alike)" in said


def test_nothing_readable_is_2(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{")
    assert compare([tmp_path], A, A).exit_code == 2


def test_a_narrow_terminal_gets_lines(folder: Path) -> None:
    out = StringIO()
    less = JudgingConfig(A.rules.without(["reasoning-cycle", REPEATED]))
    narrow = Console(file=out, width=70, color_system=None, soft_wrap=True)
    assert replay([folder], A, None, json=False, out=narrow, err=Console(file=StringIO()), other=less) == 1
    assert any(
        line.startswith("  A only, in reasoning: reasoning-cycle (cut at ") for line in out.getvalue().splitlines()
    )


def test_ctrl_c_leaves_what_was_compared_until_then(folder: Path) -> None:
    def step(_done: int, _all: int, _name: str) -> None:
        raise KeyboardInterrupt

    told = compare([folder], A, A, step=step)
    assert (told.recordings, told.exit_code) == (0, 130)
