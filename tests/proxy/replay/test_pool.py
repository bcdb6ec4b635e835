"""Files judged by several processes: the same report, in the same order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proxy.replay import JudgingConfig, run
from proxy.replay.pool import WORTH, Pool, wanted
from rules.detect import packs

RULES = packs.assemble(["default"])
LOOP = "the same line again. " * 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for n in range(4):
        rows = [{"text": f"calm {n}"}, {"text": LOOP}] if n % 2 else [{"text": "calm " * (n + 1)}]
        (tmp_path / f"{n}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "5.jsonl").write_text("{broken\n")
    return tmp_path


def test_many_processes_say_what_one_says(folder: Path) -> None:
    steps: list[tuple[int, int, str]] = []
    alone = run([folder], JudgingConfig(RULES), excerpts=True)
    many = run([folder], JudgingConfig(RULES), excerpts=True, jobs=2, step=lambda *step: steps.append(step))
    assert many == alone
    assert len(many.fired) == 2
    assert len(many.unreadable) == 1
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert (steps[0], steps[-1][:2], len(steps)) == ((0, size, ""), (size, size), 6)


def test_ctrl_c_keeps_what_had_come(folder: Path) -> None:
    def step(done: int, _all: int, _name: str) -> None:
        if done:
            raise KeyboardInterrupt

    report = run([folder], JudgingConfig(RULES), jobs=2, step=step)
    assert (report.stopped, report.exit_code) == (True, 130)
    assert 0 < len(report.seen) + len(report.unreadable) < 7


def fails(path: Path) -> str:
    raise ValueError(path.name)


def test_what_goes_wrong_in_a_process_is_raised_here(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a"):
        Pool(fails, 2).work([(tmp_path / "a", 1)])


@pytest.mark.parametrize(
    ("asked", "sizes", "many"),
    [
        (0, [WORTH // 2] * 3, True),
        (0, [WORTH // 4] * 3, False),
        (0, [WORTH * 9], False),
        (2, [1, 1], True),
        (9, [1], False),
    ],
)
def test_a_second_process_where_it_is_worth_it(
    asked: int, sizes: list[int], many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.replay.pool.cores", lambda: 4)
    got = wanted(asked, [(Path(str(n)), size) for n, size in enumerate(sizes)])
    assert (got > 1) is many
    assert got <= len(sizes)
