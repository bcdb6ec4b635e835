"""Sessions as agents keep them become the histories that their requests carried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from proxy.replay import JudgingConfig, Recording, judge, recordings
from proxy.replay.agent_sessions import AgentSession, exported
from rules.values.delta import Channel


def lines(tmp_path: Path, rows: list[dict[str, Any]]) -> list[Recording]:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(recordings(path))


def claude(n: int, side: bool = False) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": "error", "is_error": True}
    base = {"sessionId": "s", "isSidechain": side}
    blocks = [{"type": "thinking", "thinking": "hm"}, call]
    answer = [
        {**base, "type": "assistant", "message": {"id": f"m{n}", "role": "assistant", "content": [block]}}
        for block in blocks
    ]
    return [*answer, {**base, "type": "user", "message": {"role": "user", "content": [result]}}]


def test_a_claude_code_session(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"type": "summary", "sessionId": "s"},
        {"type": "user", "message": {"role": "user", "content": "build it"}},
    ]
    history, *answers = lines(tmp_path, rows + [row for n in range(8) for row in claude(n)])
    assert history.is_history
    assert [m["role"] for m in history.request["messages"]] == ["user", *["assistant", "user"] * 8]
    assert len(answers) == 8, "the blocks of one answer are one answer"
    assert answers[0].pieces == (
        (Channel.REASONING, "0", ("hm",)),
        (Channel.TOOL, "call 0", ('{"command":"make"}',)),
    )
    assert judge(history, JudgingConfig()).found[0].finding.rule == "repeated_action"


def test_a_side_conversation_is_one_of_its_own(tmp_path: Path) -> None:
    said = lines(tmp_path, claude(0) + claude(1, side=True) + claude(2))
    histories = [one.request["messages"] for one in said if one.is_history]
    assert [len(messages) for messages in histories] == [4, 2]


def test_a_codex_rollout(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "s"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "go"}]}},
    ]
    for n in range(8):
        call = {"type": "function_call", "call_id": f"c{n}", "name": "sh", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": f"c{n}", "output": "failed"}
        rows += [{"type": "response_item", "payload": item} for item in (call, output)]
    history, *answers = lines(tmp_path, rows)
    assert len(answers) == 8
    seen = judge(history, JudgingConfig())
    assert (seen.wire, seen.found[0].finding.rule) == ("openai_responses", "repeated_action")


def test_an_opencode_export(tmp_path: Path) -> None:
    def answer(n: int) -> dict[str, Any]:
        state = {"status": "error", "input": {"filePath": "a.py"}, "error": "no such file"}
        return {
            "info": {"role": "assistant"},
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "let me look"},
                {"type": "text", "text": f"Reading {n}"},
                {"type": "tool", "callID": f"c{n}", "tool": "read", "state": state},
            ],
        }

    document = {
        "info": {"id": "ses_1"},
        "messages": [
            {"info": {"role": "user"}, "parts": [{"type": "text", "text": "read it"}]},
            *map(answer, range(8)),
        ],
    }
    (tmp_path / "session.json").write_text(json.dumps(document))
    history, *answers = recordings(tmp_path / "session.json")
    assert len(answers) == 8
    assert [channel for channel, _, _ in answers[0].pieces] == [Channel.REASONING, Channel.TEXT, Channel.TOOL]
    assert judge(history, JudgingConfig()).found


def test_what_is_no_session_is_left_to_others() -> None:
    session = AgentSession()
    odd: tuple[Any, ...] = (3, [], {"text": "x"}, {"message": "x"}, {"messages": []})
    assert not any(session.take(row) for row in odd)
    assert list(session.bodies()) == []
    assert exported({"messages": [{"role": "user", "content": "x"}]}) is None
    assert exported({"messages": []}) is None and exported({}) is None
    assert exported({"messages": [{"info": 3, "parts": [None, {"type": "tool", "state": 3}]}]}) is None
