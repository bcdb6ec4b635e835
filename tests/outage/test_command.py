"""`make bench-outage`: what it shows, and its exit codes."""

import asyncio
import json
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.outage import __main__ as command
from benchmarks.outage import plan
from benchmarks.outage.measure import Broken, measure
from benchmarks.outage.row import Met, Row
from benchmarks.outage.scenario import SCENARIOS


@pytest.fixture
def call(monkeypatch):
    """Runs the command; what each row is to measure is given, a healthy row where nothing is."""

    def calling(*argv, found=lambda run: (run.agents, run.agents)):
        async def measure(runs, _jobs, done):
            rows, broken = [], []
            for run in runs:
                if found(run) is None:
                    broken.append(Broken(run, "OSError: no"))
                    continue
                direct, through = found(run)
                rows.append(
                    Row(run.scenario, run.down, run.client, run.agents, Met(direct, 6, 14.0), Met(through, 6, 14.0))
                )
                done(run)
            return rows, broken

        monkeypatch.setattr(command, "measure", measure)
        return CliRunner().invoke(command.app, list(argv))

    return calling


def test_a_good_bench_ends_with_zero(call):
    result = call("--client", "openai-py-*", "--scenario", "5*", "--down", "3", "--agents", "1")
    assert result.exit_code == 0
    assert "no row fails" in result.stdout and "openai-py-2" in result.stdout


def test_a_row_that_fails_is_shown_and_ends_with_one(call):
    result = call(
        "--client", "openai-py-2", "--scenario", "500,cut", "--down", "3", "--agents", "5", "--failed",
        found=lambda run: (5, 4 if run.scenario == "cut" else 5),
    )  # fmt: skip
    assert result.exit_code == 1
    assert "FAIL died" in result.stdout and "5 → 4" in result.stdout and "1 of 2 rows fail" in result.stdout
    assert " 500 " not in result.stdout


def test_what_could_not_be_measured_is_told_and_ends_with_one(call):
    result = call(
        "--client", "openai-py-2", "--scenario", "500,cut", "--down", "3", "--agents", "1",
        found=lambda run: None if run.scenario == "cut" else (1, 1),
    )  # fmt: skip
    assert result.exit_code == 1
    assert "not measured: openai-py-2, cut, 3 s: OSError: no" in result.stderr and "no row fails" in result.stdout


def test_json_has_every_row_and_what_was_left_out(call, monkeypatch):
    monkeypatch.setattr(command, "missing", lambda name: "not here" if name == "Codex" else None)
    result = call("--client", "openai-py-2,codex", "--scenario", "500", "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 0 and told["left_out"] == {"Codex": "not here"} and told["failed"] == 0
    assert [row["client"] for row in told["rows"]] == ["openai-py-2", "openai-py-2"]
    assert told["rows"][0]["verdict"] == "even"


def test_a_missing_client_is_told(call, monkeypatch):
    monkeypatch.setattr(command, "missing", lambda name: "not here" if name == "Codex" else None)
    result = call("--client", "codex")
    assert result.exit_code == 2
    assert "left out: Codex: not here" in result.stderr and "nothing is left to run" in result.stderr


@pytest.mark.parametrize(
    "argv", [["--client", "nobody"], ["--scenario", "rain"], ["--down", "x"], ["--down", "0"], ["--agents", "-1"]]
)
def test_what_makes_no_sense_is_refused(call, argv):
    result = call(*argv)
    assert result.exit_code == 2 and "error:" in result.stderr


def test_the_list_names_every_client_and_scenario(call):
    shown = call("--list").stdout
    assert all(name in shown for name in (*plan.NAMES, *SCENARIOS))


def test_help_teaches(call):
    shown = call("--help").stdout
    assert "make bench-outage ARGS=--full" in shown and "FAIL died" in shown


# --- what is run ------------------------------------------------------------------------------------------------------
def test_everything_is_in_the_full_plan():
    runs = plan.plan(["openai-py-2"], None, None, None, full=True)
    assert len(runs) == len(SCENARIOS) * 4 * 3
    assert len(set(runs)) == len(runs)


def test_programs_get_the_crowds_that_a_machine_bears():
    runs = plan.plan(["Claude Code"], ["500"], None, None, full=True)
    assert {run.agents for run in runs} == {1, 2}
    assert all(run.real for run in runs)
    quick = plan.plan(["Claude Code"], None, None, None, full=False)
    assert {run.scenario for run in quick} == set(plan.QUICK_SCENARIOS)


def test_what_is_named_is_run():
    runs = plan.plan(["~codex"], ["500"], [7.0], [3], full=False)
    assert runs == [plan.Run("500", 7.0, "~codex", 3)]
    assert plan.chosen("OPENAI-py-2, ~c*", plan.NAMES) == ["openai-py-2", "~claude-code", "~codex"]


def test_a_program_that_does_not_start_does_not_end_the_bench(monkeypatch):
    async def real(run):
        if run.scenario == "cut":
            raise RuntimeError("streamfuse did not start")
        return Row(run.scenario, run.down, run.client, run.agents, Met(1, 6, 14.0), Met(1, 6, 14.0))

    monkeypatch.setattr("benchmarks.outage.measure.real", real)
    runs = [plan.Run("cut", 3.0, "Codex", 1), plan.Run("500", 3.0, "Codex", 1)]
    heard: list[Any] = []
    rows, broken = asyncio.run(measure(runs, 1, heard.append))
    assert [row.scenario for row in rows] == ["500"] and heard == runs
    assert broken == [Broken(runs[0], "RuntimeError: streamfuse did not start")]
