"""The bench of detectors, on a loopbench of seven texts made here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import bench_detect
from benchmarks.detectors import DETECTORS, Broken, Detector, measure
from benchmarks.figures import Figures, in_short, sampled, set_aside
from benchmarks.measured import Measured, ResultCache

RUN = """
def run_one(factory, row):
    hit = factory(row.get("instruction")).feed(row["text"])
    return (hit, hit, 1e-6 * hit, 1e-3, "said") if hit else (None, len(row["text"]), 1e-6 * len(row["text"]), 1e-3, "")
"""
BASELINES = """
class Finds:
    def feed(self, text):
        if "broken" in text:
            raise ValueError("no such thing")
        return text.find("x") + 1 or None

def seeds(instruction=None): return Finds()
mimo = dsh = litellm = seeds
"""


def loop(name: str, text: str, onset: int, kind: str = "flood", **more: Any) -> dict[str, Any]:
    return {"id": name, "label": "loop", "onset": onset, "period": 1, "kind": kind, "ended": False, "model": "m",
            "text": text, **more}  # fmt: skip


ROWS = [
    loop("caught", "a" * 99 + "x" + "a" * 100, 50),
    loop("missed", "a" * 300, 100, "paragraph"),
    loop("early", "x" + "a" * 99, 50),
    loop("healed", "x" + "a" * 99, 50, ended=True),
    {"id": "unsure", "label": "unsure", "text": "x", "model": "m"},
    {"id": "good", "label": "healthy", "text": "all is well", "model": "m"},
    {"id": "cut", "label": "legit", "text": "1 2 3 x", "model": "m"},
]
FILES = [{"id": "file", "label": "file", "kind": ".css", "text": "b{}"}]


@pytest.fixture
def loopbench(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "loopbench"
    folder.mkdir()
    (folder / "run.py").write_text(RUN)
    (folder / "baselines.py").write_text(BASELINES)
    for name, rows in (("outputs.dev", ROWS), ("files.dev", FILES)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setattr(bench_detect, "MEMORY", tmp_path / "memory")
    return folder


def call(*args: object):
    return CliRunner().invoke(bench_detect.app, [str(a) for a in args])


def fired(at: int | None, text: str = "a" * 300) -> Measured:
    return Measured(at, at or len(text), 1e-4, 1e-3, "why")


# figures ----------------------------------------------------------------------------------------------------


def test_figures_are_loopbench_own():
    got = [fired(100), fired(None), fired(1), fired(1), fired(1), fired(None), fired(7)]
    figures = Figures.of(ROWS, got)
    assert figures.share() == (1, 3)
    assert figures.share("flood") == (1, 2)
    assert figures.early == 1
    assert figures.delays == [50]
    assert figures.delivered / figures.after == (50 + 200) / (150 + 200 + 50)
    assert (figures.cut, figures.texts) == ({"legit": 1}, {"healthy": 1, "legit": 1})
    assert [row["id"] for row, _ in figures.missed] == ["missed"]
    assert [row["id"] for row, _ in figures.false] == ["early", "cut"]
    assert in_short(figures).startswith("33.3 % of loops caught, healthy cut 0 of 1, legitimate cut 1 of 1")


def test_firing_just_before_the_onset_is_caught_with_no_delay():
    assert Figures.of(ROWS[:1], [fired(42)]).delays == [0]
    assert Figures.of(ROWS[:1], [fired(41)]).early == 1


def test_figures_of_nothing_are_empty():
    figures = Figures.of([], [])
    assert [tell(figures) for _, tell in bench_detect.ROWS if tell(figures)] == []
    assert in_short(figures) == ""
    assert figures.as_json()["recall"] is None


def test_halves_are_by_model_and_together_all():
    rows = [loop(str(n), "aaaa", 1, model=f"model-{n}") for n in range(50)]
    aside, others = bench_detect._parts([*rows, *FILES])
    assert sum(aside) + sum(others) == 50
    assert 10 < sum(aside) < 30
    assert aside[:50] == [set_aside(str(row["model"])) for row in rows]


def test_a_sample_is_always_the_same_part_of_each_label():
    rows = [{"id": f"{label}{n}", "label": label} for label in ("loop", "healthy") for n in range(40)]
    some = sampled(rows, 4)
    assert [sum(r["label"] == label for r in some) for label in ("loop", "healthy")] == [10, 10]
    assert some == sampled(rows[::-1], 4)[::-1]
    assert {r["id"] for r in sampled(rows, 8)} <= {r["id"] for r in some}
    assert sampled(rows, 1) == rows


# memory -----------------------------------------------------------------------------------------------------


def test_what_was_measured_is_remembered_by_text_and_code(tmp_path):
    memory = ResultCache(tmp_path)
    with memory.book("d", "1") as book:
        book.add(ROWS[0], fired(3))
    with memory.book("d", "1") as book:
        assert book[ROWS[0]] == fired(3)
        assert ROWS[1] not in book
        assert {**ROWS[0], "text": "other"} not in book
        assert {**ROWS[0], "label": "legit"} in book  # another label is no other verdict
    with memory.book("d", "2") as book:
        assert ROWS[0] not in book
    with memory.book("d", "1", again=True) as book:
        assert ROWS[0] not in book


def test_a_line_that_was_cut_off_costs_one_answer(tmp_path):
    memory = ResultCache(tmp_path)
    with memory.book("d", "1") as book:
        book.add(ROWS[0], fired(3))
        book.add(ROWS[1], fired(None))
    path = tmp_path / "d@1.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    with memory.book("d", "1") as book:
        assert ROWS[0] in book and ROWS[1] not in book
        book.add(ROWS[1], fired(5))
    with memory.book("d", "1") as book:
        assert book[ROWS[1]] == fired(5)


def test_only_the_newest_states_of_the_code_are_kept(tmp_path):
    memory = ResultCache(tmp_path)
    for code in range(9):
        with memory.book("d", str(code)):
            pass
    with memory.book("other", "1"):
        pass
    assert len(list(tmp_path.glob("d@*"))) == 4
    assert len(list(tmp_path.glob("other@*"))) == 1


# the command ------------------------------------------------------------------------------------------------


def test_the_table_has_every_detector_side_by_side_and_a_second_call_measures_nothing(loopbench, monkeypatch):
    first = call(loopbench, "--only", "default,ref-seeds", "--jobs", 1)
    assert first.exit_code == 0, first.output
    assert "default: 0.0 % of loops caught" in first.stderr
    assert "ref-seeds: 33.3 % of loops caught" in first.stderr
    lines = {line.split("|")[1].strip(): line for line in first.stdout.splitlines() if line.startswith("|")}
    assert lines["figure"].split("|")[2:4] == [s for s in lines["figure"].split("|")[2:4] if s.strip()]
    assert "33.3 % (1/3)" in lines["loops caught"]
    assert "1 of 1" in lines["hard legitimate cut"]
    monkeypatch.setattr(bench_detect, "measure", lambda *_: pytest.fail("measured again") if _[2] else iter(()))
    second = call(loopbench, "--only", "default,ref-seeds", "--jobs", 1)
    assert second.stdout == first.stdout
    assert second.stderr.count("(remembered)") == 2


def test_json_has_the_figures_of_all_and_of_each_half(loopbench):
    got = json.loads(call(loopbench, "--only", "ref-mimo", "--jobs", 1, "--json").stdout)
    mine = got["detectors"]["ref-mimo"]
    assert (got["rows"], mine["caught"], mine["loops"], mine["delay_median"]) == (8, 1, 3, 50)
    assert mine["missed"] == ["missed"]
    halves = (mine["models_set_aside"]["loops"], mine["other_models"]["loops"])
    assert sorted(halves) == [0, 3]


def test_an_interrupted_call_goes_on_where_it_stopped(loopbench, monkeypatch):
    asked: list[list[str]] = []

    def interrupted(_one, _folder, rows, _jobs):
        asked.append([row["id"] for row in rows])
        for row in rows:
            if len(asked) == 1 and row["id"] == "early":
                raise KeyboardInterrupt
            yield row, fired(None)

    monkeypatch.setattr(bench_detect, "measure", interrupted)
    first = call(loopbench, "--only", "ref-mimo")
    assert first.exit_code == 130
    assert "goes on from here" in first.stderr
    assert call(loopbench, "--only", "ref-mimo").exit_code == 0
    assert len(asked[0]) == 8
    assert asked[1] == asked[0][asked[0].index("early") :]


def test_missed_loops_and_wrong_cuts_are_named_on_request(loopbench):
    said = call(loopbench, "--only", "ref-mimo", "--jobs", 1, "--missed", 5).stdout
    assert "ref-mimo: missed missed (paragraph)" in said
    assert "ref-mimo: cut wrongly cut (legit) at 7 by said" in said


@pytest.mark.parametrize(
    ("lacks", "says"),
    [(None, "there is no such folder"), ("run.py", "lacks run.py"), ("outputs.dev.jsonl.gz", "lacks outputs")],
)
def test_what_is_no_loopbench_is_one_sentence(loopbench, tmp_path, lacks, says):
    folder = tmp_path / "nowhere" if lacks is None else loopbench
    if lacks:
        (folder / "files.dev.jsonl.gz").unlink()
        (folder / lacks).unlink()
    got = call(folder)
    assert (got.exit_code, got.stdout) == (2, "")
    assert says in got.stderr


def test_no_folder_and_broken_data_are_one_sentence(loopbench, monkeypatch):
    monkeypatch.delenv("LOOPBENCH", raising=False)
    assert "Say LOOPBENCH=folder" in call().stderr
    (loopbench / "files.dev.jsonl.gz").write_bytes(b"no gzip")
    got = call(loopbench)
    assert got.exit_code == 2
    assert "files.dev.jsonl.gz cannot be read" in got.stderr


@pytest.mark.parametrize("wrong", [("--only", "nobody"), ("--sample", "3"), ("--sample", "1/0"), ("--jobs", "x")])
def test_wrong_options_are_wrong_usage(loopbench, wrong):
    assert call(loopbench, *wrong).exit_code == 2


def test_a_detector_that_fails_says_on_which_text(loopbench):
    with pytest.raises(Broken, match=r"baselines:seeds fails on bad: ValueError: no such thing"):
        list(measure(DETECTORS[3], loopbench, [{"id": "bad", "text": "broken"}], 1))


def test_code_that_is_not_a_detectors_does_not_change_its_digest(loopbench):
    ours, theirs = Detector("o", "loopbench:default"), Detector("t", "baselines:seeds")
    before = ours.digest(loopbench), theirs.digest(loopbench)
    (loopbench / "baselines.py").write_text(BASELINES + "# changed\n")
    after = ours.digest(loopbench), theirs.digest(loopbench)
    assert (before[0] == after[0], before[1] == after[1]) == (True, False)
