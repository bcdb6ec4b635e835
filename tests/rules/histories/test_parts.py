"""Results that are not text: other pictures, documents and sounds are other results, on every wire."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules import histories
from rules.before.review import review
from rules.histories import HISTORIES
from rules.histories.parts import result_of
from rules.values.verdict import Action

Make = Callable[[int], Any]


def data(n: int, size: int = 400) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * size + bytes([n]) + b"\0" * size).decode()


def source(n: int, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "base64", "media_type": kind, "data": data(n)}


CHAT: dict[str, Make] = {
    "picture": lambda n: [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + data(n)}}],
    "a large picture": lambda n: [{"type": "image_url", "image_url": {"url": "data:;base64," + data(n, 90_000)}}],
    "words and a picture": lambda n: [
        {"type": "text", "text": "Screenshot taken"},
        {"type": "image_url", "image_url": {"url": f"https://shots.example.com/{n}.png"}},
    ],
    "sound": lambda n: [{"type": "input_audio", "input_audio": {"data": data(n), "format": "wav"}}],
    "file": lambda n: [{"type": "file", "file": {"filename": "a.pdf", "file_data": data(n)}}],
}  # fmt: skip
MESSAGES: dict[str, Make] = {
    "picture": lambda n: [{"type": "image", "source": source(n)}],
    "words and a picture": lambda n: [{"type": "text", "text": "pressed"}, {"type": "image", "source": source(n)}],
    "document": lambda n: [{"type": "document", "source": source(n, "application/pdf"), "title": "Report"}],
    "document of text": lambda n: [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": f"page {n}"}}
    ],
    "search result": lambda n: [
        {"type": "search_result", "source": "https://a.example", "content": [{"type": "text", "text": f"hit {n}"}]}
    ],
}  # fmt: skip
RESPONSES: dict[str, Make] = {
    "picture": lambda n: [{"type": "input_image", "image_url": "data:image/png;base64," + data(n)}],
    "file": lambda n: [{"type": "input_file", "filename": "a.pdf", "file_data": data(n)}],
    "file by id": lambda n: [{"type": "input_file", "file_id": f"file-{n}"}],
    "words and a picture": lambda n: [
        {"type": "input_text", "text": "ok"},
        {"type": "input_image", "image_url": f"https://shots.example.com/{n}.png"},
    ],
    "computer screenshot": lambda n: {"type": "computer_screenshot", "image_url": "data:image/png;base64," + data(n)},
    "shell output": lambda n: [{"stdout": f"line {n}", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
}


def chat(results: list[Any]) -> dict[str, Any]:
    said: list[Any] = [{"role": "user", "content": "Go on."}]
    for i, result in enumerate(results):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        said += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": result},
        ]
    return {"messages": said}


def messages(results: list[Any]) -> dict[str, Any]:
    said: list[Any] = [{"role": "user", "content": "Go on."}]
    for i, result in enumerate(results):
        use = {"type": "tool_use", "id": f"t{i}", "name": "computer", "input": {"action": "screenshot"}}
        got = {"type": "tool_result", "tool_use_id": f"t{i}", "content": result}
        said += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [got]}]
    return {"messages": said}


def responses(results: list[Any]) -> dict[str, Any]:
    said: list[Any] = [{"type": "message", "role": "user", "content": "Go on."}]
    for i, result in enumerate(results):
        ids = {"call_id": f"c{i}"}
        computer = isinstance(result, dict)
        said += [
            {"type": "computer_call", "action": {"type": "screenshot"}, **ids}
            if computer
            else {"type": "function_call", "name": "look", "arguments": "{}", **ids},
            {"type": "computer_call_output" if computer else "function_call_output", "output": result, **ids},
        ]
    return {"input": said}


ROWS = [
    *[("openai_chat", chat, name, make) for name, make in CHAT.items()],
    *[("anthropic_messages", messages, name, make) for name, make in MESSAGES.items()],
    *[("openai_responses", responses, name, make) for name, make in RESPONSES.items()],
]
ALL = pytest.mark.parametrize(("wire", "form", "name", "make"), ROWS, ids=[f"{r[0]}: {r[2]}" for r in ROWS])


@ALL
def test_another_picture_is_another_result(wire: str, form: Any, name: str, make: Make) -> None:
    body = form([make(n) for n in range(12)])
    assert review(HISTORIES[wire].run(body)).action is Action.PASS


@ALL
def test_the_same_picture_again_is_the_same_result(wire: str, form: Any, name: str, make: Make) -> None:
    body = form([make(7) for _ in range(4)])
    assert review(HISTORIES[wire].run(body)).action is Action.ADVISE


def test_results_of_hosted_tools_stand_in_the_items_of_their_calls() -> None:
    calls = [{"type": "mcp_call", "id": "m", "name": "q", "arguments": "{}", "output": f"row {n}"} for n in range(5)]
    steps: list[Any] = []
    for call in calls:
        steps += [call, {"type": "function_call_output", "call_id": "?", "output": ""}]
    run = HISTORIES["openai_responses"].run({"input": steps})
    assert [step.calls[0].result for step in run.steps] == [f"row {n}" for n in range(5)]
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    got = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result", "url": "u"}]}
    run = HISTORIES["anthropic_messages"].run({"messages": [{"role": "assistant", "content": [block, got]}]})
    assert (run.steps[0].calls[0].result or "").startswith("[web_search_result ")


def test_what_is_said_about_a_part_is_no_part_of_it() -> None:
    one = {"type": "image", "source": source(1)}
    assert result_of([one]) == result_of([{**one, "cache_control": {"type": "ephemeral"}}])
    assert result_of([{"type": "image"}]) == "image" and result_of(None) == "" and result_of(7) == "7"
    assert not any(sign.isdigit() for sign in result_of([one]))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4) | st.just("type"), inner),
    max_leaves=12,
)  # fmt: skip


@given(json_values)
def test_any_content_is_read_and_read_the_same_again(content: Any) -> None:
    assert result_of(content) == result_of(json.loads(json.dumps(content)))


# --- pictures that stand beside a result -----------------------------------------------------------------------------
def _beside_messages(n: int) -> dict[str, Any]:
    use = {"type": "tool_use", "id": "t", "name": "scroll", "input": {}}
    got = [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}, {"type": "image", "source": source(n)}]
    return {"messages": [{"role": "assistant", "content": [use]}, {"role": "user", "content": got}]}


def _beside_gemini(n: int) -> dict[str, Any]:
    got = [
        {"functionResponse": {"name": "scroll", "response": {"ok": True}}},
        {"inlineData": {"mimeType": "image/png", "data": data(n)}},
    ]
    call = {"functionCall": {"name": "scroll", "args": {}}}
    return {"contents": [{"role": "model", "parts": [call]}, {"role": "user", "parts": got}]}


def _beside_gemini_file(n: int) -> dict[str, Any]:
    body = _beside_gemini(n)
    body["contents"][1]["parts"][1] = {"file_data": {"file_uri": f"gs://bucket/{n}.png"}}
    return body


def _beside_ollama(n: int) -> dict[str, Any]:
    call = {"function": {"name": "scroll", "arguments": {}}}
    got = {"role": "tool", "tool_name": "scroll", "content": "ok", "images": [data(n)]}
    return {"messages": [{"role": "assistant", "content": "", "tool_calls": [call]}, got]}


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("anthropic_messages", _beside_messages),
        ("gemini", _beside_gemini),
        ("gemini", _beside_gemini_file),
        ("ollama", _beside_ollama),
    ],
)
def test_a_picture_beside_a_result_is_a_part_of_it(wire: str, body: Any) -> None:
    history = histories.get(wire)
    assert history is not None

    def seen(n: int) -> Any:
        return history.run(body(n)).steps[0].calls[0].result

    assert seen(1) == seen(1) != seen(2)
    assert "ok" in seen(1), "and the words are there"


def test_a_picture_that_ollama_s_user_sends_is_a_message_of_its_own() -> None:
    history = histories.get("ollama")
    assert history is not None
    call = {"function": {"name": "scroll", "arguments": {}}}
    step = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "scroll", "content": "ok"},
        {"role": "user", "content": "the screenshot", "images": ["aGk="]},
    ]
    run = history.run({"messages": [{"role": "user", "content": "Go."}, *step, *step]})
    assert not run.nudged
