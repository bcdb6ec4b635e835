"""Histories through the first door, turn by turn."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.replay import JudgingConfig, Recording, judge
from proxy.replay.judging import guard
from proxy.settings.whole import Settings
from rules.before.step_detectors import STEP_DETECTORS
from rules.detect import packs
from rules.detect.ruleset import RuleSet

CALM = packs.assemble(["seeds"])


def chat(arguments: list[str], results: list[str]) -> dict[str, Any]:
    said: list[dict[str, Any]] = [{"role": "user", "content": "make the tests pass"}]
    for n, (argument, result) in enumerate(zip(arguments, results, strict=True)):
        function = {"name": "run", "arguments": argument}
        said.append({"role": "assistant", "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}]})
        said.append({"role": "tool", "tool_call_id": f"c{n}", "content": result})
    return {"model": "m", "messages": said}


def messages(arguments: list[str]) -> dict[str, Any]:
    said: list[dict[str, Any]] = [{"role": "user", "content": "make the tests pass"}]
    for n, argument in enumerate(arguments):
        said.append(
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": f"c{n}", "name": "run", "input": {"c": argument}}],
            }
        )
        said.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "failed"}]})
    return {"model": "m", "messages": said}


def responses(arguments: list[str]) -> dict[str, Any]:
    said: list[dict[str, Any]] = [{"role": "user", "content": "make the tests pass"}]
    for n, argument in enumerate(arguments):
        said.append({"type": "function_call", "call_id": f"c{n}", "name": "run", "arguments": argument})
        said.append({"type": "function_call_output", "call_id": f"c{n}", "output": "failed"})
    return {"model": "m", "input": said}


SAME, DIFFERENT = ['{"c": "pytest"}'] * 20, [f'{{"c": "pytest -k {n}"}}' for n in range(8)]


@pytest.mark.parametrize(
    ("body", "wire"),
    [
        (chat(SAME, ["failed"] * 20), "openai_chat"),
        (messages(SAME), "anthropic_messages"),
        (responses(SAME), "openai_responses"),
    ],
    ids=["chat", "messages", "responses"],
)
def test_the_same_call_again_and_again_is_told_of_and_then_refused(body: dict[str, Any], wire: str) -> None:
    seen = judge(Recording("s", request=body), JudgingConfig(CALM))
    assert seen.wire == wire
    assert seen.found
    assert seen.found[0].acts
    assert seen.found[0].does == "advise"
    assert "refuse" in [f.does for f in seen.found]
    assert seen.found[-1].does == "refuse", "nothing behind a refusal"
    assert seen.saved == 0


def test_different_calls_are_work() -> None:
    results = ["ok", "two rows", "wrote a.py", "clean", "no match", "main", "built in 3 s", "all passed"]
    assert judge(Recording("s", request=chat(DIFFERENT, results)), JudgingConfig(CALM)).found == ()


def test_a_configs_habits_and_ladder_bind() -> None:
    body = chat(SAME, ["failed"] * 20)
    history = {
        "ladder": {"first": "warn", "second": "warn", "third": "steer"},
        "habits": {"doom_loop": {"mode": "off"}},
    }
    mine = guard(Settings.model_validate({"history": history}))
    does = {f.does for f in judge(Recording("s", request=body), mine).found}
    assert does == {"tells", "advise"}
    calm = {kind.name: {"mode": "off"} for kind in STEP_DETECTORS}
    assert (
        judge(Recording("s", request=body), guard(Settings.model_validate({"history": {"habits": calm}}))).found == ()
    )
    off = guard(Settings.model_validate({"history": {"mode": "off"}}))
    assert judge(Recording("s", request=body), off).found == ()


def test_a_history_needs_no_rules_of_a_pack() -> None:
    assert judge(Recording("s", request=chat(SAME, ["failed"] * 20)), JudgingConfig(RuleSet())).found


@pytest.mark.parametrize("said", [[None], [3, "x"], [{"role": "assistant"}], [{"role": "assistant", "tool_calls": 7}]])
def test_odd_histories_are_passed_over(said: list[Any]) -> None:
    assert judge(Recording("s", request={"messages": said}), JudgingConfig(CALM)).found == ()
