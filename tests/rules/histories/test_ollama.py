"""History of Ollama's chat: calls without ids, results that name their tool."""

from __future__ import annotations

from typing import Any

from rules.histories.ollama import HISTORY


def called(*names: str) -> dict[str, Any]:
    calls = [{"function": {"name": name, "arguments": {"of": name}}} for name in names]
    return {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": calls}


def result(content: str, **named: str) -> dict[str, Any]:
    return {"role": "tool", "content": content, **named}


def test_results_find_their_calls_by_name_or_in_order() -> None:
    items = [
        {"role": "user", "content": "Go."},
        called("read", "list", "read"),
        result("l", tool_name="list"),
        result("r1", tool_name="read"),
        result("r2", name="read"),
        called("read", "list"),
        result("a"),
        result("b"),
        result("nobody asked"),
    ]
    run = HISTORY.run({"messages": items})
    first, second = run.steps
    assert [(c.name, c.arguments, c.result) for c in first.calls] == [
        ("read", '{"of":"read"}', "r1"), ("list", '{"of":"list"}', "l"), ("read", '{"of":"read"}', "r2"),
    ]  # fmt: skip
    assert [c.result for c in second.calls] == ["a", "b"]
    assert (run.asked, first.reasoning, second.at) == ("Go.", "hm", (5, 6, 7))


def test_odd_calls_are_skipped() -> None:
    odd: list[Any] = [None, {"function": 5}, {"function": {"name": 7, "arguments": "{}"}}]
    (turn,) = HISTORY.turns([{"role": "assistant", "content": None, "tool_calls": odd}, 5, result("x")])
    assert [(call.name, call.arguments, call.result) for call in turn.calls] == [("7", "{}", "x")]
