"""Whatever JSON lies in a folder: it is judged, passed over or named, and nothing breaks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.replay import JudgingConfig, run
from rules.detect import packs

GUARD = JudgingConfig(packs.assemble(["seeds"]))
KEYS = re.findall(
    r"\S+",
    """
    id type role content text deltas channel label onset period ended instruction messages input message payload
    isSidechain sessionId request response choices delta index finish_reason output object stop_reason thinking
    name tool_calls function arguments call_id tool_use_id parts info state callID tool status reasoning summary
    error usage
""",
)
WORDS = re.findall(
    r"\S+",
    """
    user assistant tool system text thinking reasoning tool_use tool_result function_call function_call_output
    message response response_item output_text completed chat.completion stop end_turn refusal x
""",
)
leaf = st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from(WORDS) | st.just("again " * 99)
odd = st.recursive(
    leaf,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)


turn = st.fixed_dictionaries(
    {"role": st.sampled_from(["assistant", "user", "tool", None])},
    optional={
        "type": st.sampled_from(["message", "reasoning", "function_call", "function_call_output"]) | odd,
        "content": st.lists(st.fixed_dictionaries({"type": leaf | st.lists(leaf, max_size=1)}, optional={"text": odd}))
        | odd,
        "tool_calls": odd,
        "summary": odd,
        "arguments": odd,
        "call_id": leaf,
        "output": odd,
    },
)


@settings(max_examples=100, deadline=None)
@given(turns=st.lists(turn, min_size=1, max_size=4))
def test_any_turns_and_answers(turns: list[Any]) -> None:
    answers = [
        {"choices": [{"index": 0, "message": turns[0], "finish_reason": "stop"}]},
        {"object": "response", "status": "completed", "output": turns},
        {"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": turns[0].get("content")},
    ]
    with TemporaryDirectory() as folder:
        rows = [{"messages": turns}, {"input": turns}, *turns, *answers, *({"message": one} for one in turns)]
        (Path(folder) / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert run([Path(folder)], GUARD).exit_code in (0, 1, 2)


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(odd, min_size=1, max_size=4))
def test_any_rows_and_documents(rows: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (Path(folder) / "b.json").write_text(json.dumps(rows[0]))
        (Path(folder) / "c.json").write_text(json.dumps({"messages": rows}))
        report = run([Path(folder)], GUARD, excerpts=True)
    assert report.exit_code in (0, 1, 2)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"null", b"\xff\xfe", b"[" * 5000, b"data: {}\n\n"])
@pytest.mark.parametrize("name", ["x.sse", "x.jsonl", "x.json", "x.json.gz"])
def test_any_bytes(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    report = run([tmp_path], GUARD)
    assert not report.fired
    assert all(str(tmp_path) in told for told in report.unreadable)
