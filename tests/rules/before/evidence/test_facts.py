"""What a result says about a call: an error, nothing, still going on, or plain content."""

from __future__ import annotations

import pytest

from rules.before.evidence import facts as asked
from rules.before.evidence.facts import call_facts, facts
from rules.before.evidence.states import GOES_ON
from rules.values.steps import Step, ToolCall


def of(result: str | None, failed: bool | None = None, name: str = "bash") -> tuple[bool, bool, bool]:
    found = call_facts(ToolCall("1", name, "{}", result, failed))
    return found.failed, found.empty, found.pending


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("Error: no such file or directory", (True, False, False)),
        ("401 unauthorized", (True, False, False)),
        ("exit code 1", (True, False, False)),
        ("Process exited with code 2", (True, False, False)),
        ("Process exited with code 0", (False, False, False)),
        ("Chunk ID: 0f\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n", (False, True, False)),
        ("done\n<system-reminder>still pending, error</system-reminder>", (False, False, False)),
        ("文件不存在，错误", (True, False, False)),
        ("", (False, True, False)),
        ("[]", (False, True, False)),
        ("No results found for this query", (False, True, False)),
        ("0 matches", (False, True, False)),
        ("status: pending", (False, False, True)),
        ("任务进行中", (False, False, True)),
        ("no new output", (False, False, True)),
        ("all 14 tests passed", (False, False, False)),
        (None, (False, False, False)),
        ("The word error stands in this long page. " * 40, (False, False, False)),
    ],
)
def test_results(result: str | None, expected: tuple[bool, bool, bool]) -> None:
    assert of(result) == expected


def test_what_the_wire_says_wins() -> None:
    assert of("all fine", failed=True)[0] and not of("error: x", failed=False)[0]


@pytest.mark.parametrize("name", ["edit_file", "str_replace_editor", "WriteFile", "apply_patch", "fs.write"])
def test_tools_that_change_something(name: str) -> None:
    assert call_facts(ToolCall("1", name, "{}", "ok")).changes


@pytest.mark.parametrize("name", ["read", "grep", "bash", "search", "overwritten_by"])
def test_tools_that_look(name: str) -> None:
    assert not call_facts(ToolCall("1", name, "{}", "ok")).changes


def test_a_blank_text_has_no_key() -> None:
    assert facts(Step(text=" \n", calls=(ToolCall("1", "a", "{}"),))).text_key == ""
    assert facts(Step(text="Go", calls=(ToolCall("1", "a", "{}"),))).text_key == "go\0a:{}"


def test_patterns_are_linear_on_floods() -> None:
    for flood in ("1", " ", "-", ":", "no ", "0 ", "a", "\n", "\n-", "exit ", "error\n", "is running\n"):
        call_facts(ToolCall("1", "x" * 100, "{}", (flood * 600)[:600]))


@pytest.mark.parametrize("word", ["error", "exception", "traceback", "failed", "failure", "denied", "forbidden",
    "unauthorized", "unauthorised", "refused", "timed out", "timeout", "invalid", "cannot", "can't", "could not",
    "no such file", "not permitted", "unknown command", "unknown tool", "fatal", "panic", "exit status", "exit code 1",
    "exited with code 1", "401", "403", "404", "429", "500", "502", "503", "错误", "失败", "拒绝"])  # fmt: skip
def test_every_word_of_an_error_is_looked_for(word: str) -> None:
    assert asked._ERROR.search(word), "the pattern itself"
    assert call_facts(ToolCall("1", "bash", "{}", f"it says {word.upper()} here")).failed


@pytest.mark.parametrize("word", ["pending", "running", "in progress", "in-progress", "queued", "waiting", "not ready",
    "no new output", "still", "processing", "building", "starting", "scheduled", "retry later", "try again later",
    "进行中", "等待", "处理中", "排队", "运行中"])  # fmt: skip
def test_every_word_of_a_poll_is_looked_for(word: str) -> None:
    assert GOES_ON.search(word), "the pattern itself"
    assert call_facts(ToolCall("1", "bash", "{}", f"It is {word.upper()}!")).pending


@pytest.mark.parametrize(
    "result",
    [
        "Exit code: 1\nRunning 12 tests ...\n3 failed",
        "error: command failed while running tests",
        "Building wheel for lxml\nerror: command 'gcc' failed with exit status 1",
        "5 passing\n2 pending\n1 failing\nProcess exited with code 1",
        "FATAL: the tests are failing still",
        "Traceback (most recent call last):\n  File 'a.py', line 3, in starting_up\nValueError: x",
        "Starting server on :80\nError: listen EADDRINUSE\nexit 1",
        "Processing files\n\nerror: no input",
    ],
)
def test_a_failure_that_names_such_a_word_in_passing_is_no_poll(result: str) -> None:
    assert of(result) == (True, False, False)


@pytest.mark.parametrize(
    "result",
    [
        "Error: the job is still running, retry later",
        "error: job 17 is running",
        "error: timed out waiting for the condition\nexit code 1",
        'Error 409: {"state": "queued"}',
        "exit code 1\nstatus: pending",
        "ERROR\nrunning\nexit status 1",
        "error: the report is not ready",
        "error: deployment in progress",
        "Running the build\nexit code 124",
        "Running, 0 failed, 0 errors so far",
        "build running; last exit code 0",
        "错误: 运行中",
    ],
)
def test_a_failed_look_at_something_that_goes_on_is_a_poll(result: str) -> None:
    assert of(result)[2]
