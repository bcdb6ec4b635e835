"""User messages that nobody typed: results of written calls, and nudges. A stuck agent is seen across them."""

from __future__ import annotations

from typing import Any

import pytest

from rules.before.ladder import Pace
from rules.before.review import review
from rules.histories import HISTORIES
from rules.histories.automatic import bare_result, is_nudge, is_timer, only_thanks, written_call
from rules.values.verdict import Action

from ...conversations import FORMS, Line

FAST = Pace((1.0,) * 12)
ASK: Line = ("user", "Do the task.")


def actions(wire: str, steps: list[list[Line]]) -> list[Action]:
    lines: list[Line] = [ASK]
    acts = []
    for step in steps:
        lines += step
        acts.append(review(HISTORIES[wire].run(FORMS[wire](lines)), pace=FAST).action)
    return acts


CLINE = "<thinking>I need it.</thinking>\n<read_file>\n<path>src/a.py</path>\n</read_file>"


def clock(n: int) -> str:
    return (
        f"<environment_details>\n# Current Time\n10:{n:02d}\n# Context Window Usage\n{n + 20}%\n</environment_details>"
    )


WRITTEN: dict[str, tuple[str, str]] = {
    "a file read as XML": (CLINE, "[read_file for 'src/a.py'] Result:\nprint(1)\n"),
    "ReAct": ("Thought: look.\nAction: search\nAction Input: foo", "Observation: no results"),
    "a patch that does not match": (
        "a.py\n```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```",
        "# 1 SEARCH/REPLACE block failed to match!",
    ),
    "a command in a fence": ("I look.\n```bash\nls src\n```", "<returncode>0</returncode>\n<output>\na.py\n</output>"),
    "a call as JSON": ('{"tool": "read", "path": "a.py"}', "Result: print(1)"),
    "a call as a tag": ('<function=read>{"path": "a.py"}</function>', "print(1)"),
}


@pytest.mark.parametrize("wire", list(FORMS))
@pytest.mark.parametrize("name", list(WRITTEN))
def test_calls_that_are_written_as_text_are_seen_under_a_clock(wire: str, name: str) -> None:
    answer, reply = WRITTEN[name]
    acts = actions(wire, [[("say", answer), ("user", f"{reply}\n{clock(n)}")] for n in range(20)])
    assert acts[:3] == [Action.PASS, Action.PASS, Action.ADVISE]
    assert Action.REFUSE not in acts[:11] and acts[-1] is Action.REFUSE


@pytest.mark.parametrize("wire", list(FORMS))
def test_written_calls_with_new_results_are_work(wire: str) -> None:
    steps: list[list[Line]] = [
        [("say", CLINE), ("user", f"[read_file for 'src/a.py'] Result:\nline {n}\n{clock(n)}")] for n in range(20)
    ]
    assert set(actions(wire, steps)) == {Action.PASS}


@pytest.mark.parametrize("wire", list(FORMS))
def test_a_nudge_after_every_result_does_not_hide_a_loop(wire: str) -> None:
    nudge: Line = ("user", "Continue with the task. If you are done, call finish.")
    acts = actions(wire, [[("call", "read", '{"path":"a.py"}', "print(1)"), nudge]] * 30)
    assert acts[:2] == [Action.PASS] * 2 and set(acts[3:]) == {Action.ADVISE}


@pytest.mark.parametrize("wire", list(FORMS))
def test_a_person_who_says_something_new_after_a_result_starts_anew(wire: str) -> None:
    step: Line = ("call", "read", '{"path":"a.py"}', "print(1)")
    acts = actions(wire, [[step, ("user", f"Then look again, {word}.")] for word in "abcdefghijklmnop"])
    assert set(acts) == {Action.PASS}


@pytest.mark.parametrize("wire", list(FORMS))
def test_a_timer_after_a_result_is_no_nudge(wire: str) -> None:
    step: list[Line] = [("call", "notify", '{"to":"me"}', "sent"), ("user", "Heartbeat: notify me.")]
    assert set(actions(wire, [step] * 20)) == {Action.PASS}


@pytest.mark.parametrize(
    "answer",
    ["It is done.", "<p>Hello</p>", "<thinking>x</thinking> Yes.", "```python\nprint(1)\n```", "a < b and c > d"],
)
def test_answers_that_call_nothing(answer: str) -> None:
    assert written_call(answer, "Thank you, and now the next one.") is None


@pytest.mark.parametrize(
    ("said", "nudge"),
    [
        ("[ERROR] You did not use a tool in your previous response!", True),
        ("Please continue.", True),
        ("继续", True),
        ("Weitermachen!", True),
        ("продолжай", True),
        ("Heartbeat: continue if you are well.", False),
        ("What is the capital of France?", False),
        ("B", False),
    ],
)
def test_nudges(said: str, nudge: bool) -> None:
    assert is_nudge(said) is nudge


def test_timers_thanks_and_meters() -> None:
    assert is_timer("[cron] tick 7") and not is_timer("Go on.")
    assert only_thanks("Noted, thank you.") and not only_thanks("Thank you. Is it done?")
    assert bare_result("row 1\nTokens used: 300 of 1000\nrow 2") == "row 1\n\nrow 2"


def test_written_calls_are_looked_for_in_linear_time() -> None:
    for flood in ("<a_b>", "{", "```bash\n", "Action: ", "<tool ", "[", "\n", "tokens "):
        written_call(flood * 4000, flood * 4000)
        bare_result(flood * 4000)
        is_nudge(flood * 4000)


def read(offset: int, lines: list[str]) -> list[Line]:
    return [("call", "read_file", f'{{"path":"a.py","offset":{offset},"limit":100}}', "\n".join(lines))]


BOOK = [f"{n}: text of line {n}" for n in range(300)]
PIECES: dict[str, tuple[list[list[Line]], bool]] = {
    "another offset, the same piece": ([read(100 * n, ["lines 1-100 of 900", *BOOK[:100]]) for n in range(25)], True),
    "overlapping windows": ([read(n * 37 % 300, BOOK[n * 37 % 300 :][:100]) for n in range(47)], True),
    "a file read to its end": ([read(10 * n, BOOK[10 * n :][:10]) for n in range(30)], False),
    "every row of a table": (
        [[("call", "get_row", f'{{"row":{n}}}', f"row {n}: customer {n * 7}, open")] for n in range(40)],
        False,
    ),
    "edits that change nothing": (
        [[("call", "replace", f'{{"file":"a","old":"x{n}","new":"y"}}', "No changes detected.")] for n in range(25)],
        True,
    ),
    "edits in other languages": (
        [[("call", "edit", f'{{"file":"a","old":"x{n}","new":"y"}}', "未更改任何内容")] for n in range(25)],
        True,
    ),
    "edits that change something": (
        [[("call", "edit", f'{{"file":"a","old":"x{n}","new":"y"}}', "Updated a.")] for n in range(25)],
        False,
    ),
}


@pytest.mark.parametrize("name", list(PIECES))
def test_reading_and_editing_that_brings_nothing_is_reminded(name: str) -> None:
    steps, stuck = PIECES[name]
    acts: list[Any] = actions("openai_chat", steps)
    assert max(acts) is (Action.ADVISE if stuck else Action.PASS)
