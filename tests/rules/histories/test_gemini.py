"""History of Gemini: contents, calls and results by id or by name, signatures kept with their parts."""

from __future__ import annotations

from typing import Any

from rules.histories.gemini import HISTORY

SIGNED = {"thoughtSignature": "c2ln"}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"of": name}, **more}, **SIGNED}


def result(name: str, response: Any, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **more}}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


GO = user({"text": "Go."})


def test_results_find_their_calls_and_are_read_as_words() -> None:
    items = [
        GO,
        model({"text": "hm", "thought": True}, {"text": "I look."}, call("read", id="c1"), call("read", id="c2")),
        user(result("read", {"output": "two"}, id="c2"), result("read", {"error": "none"}, id="c1")),
        model(call("list")),
        {"role": "function", "parts": [result("list", {"files": ["a"], "more": 1})]},
    ]
    run = HISTORY.run({"contents": items})
    first, second = run.steps
    assert (first.text, first.reasoning, run.asked) == ("I look.", "hm", "Go.")
    assert [(c.arguments, c.result, c.failed) for c in first.calls] == [
        ('{"of":"read"}', "none", True), ('{"of":"read"}', "two", None),
    ]  # fmt: skip
    assert second.calls[0].result == '{"files":["a"],"more":1}'


def test_pictures_in_results_are_compared() -> None:
    def seen(data: str) -> Any:
        picture = result(
            "look", {"output": "a picture"}, parts=[{"inlineData": {"mimeType": "image/png", "data": data}}]
        )
        return HISTORY.run({"contents": [GO, model(call("look")), user(picture)]}).steps[0].calls[0].result

    assert seen("aGk=") == seen("aGk=") != seen("aG8=")


def test_text_is_replaced_and_signatures_stay() -> None:
    item = model({"text": "one "}, call("f"), {"text": "two", **SIGNED}, {"text": "hm", "thought": True})
    assert HISTORY.text(item) == "one two"
    assert HISTORY.with_text(item, "x")["parts"] == [
        {"text": "x"}, call("f"), {"text": "", **SIGNED}, {"text": "hm", "thought": True},
    ]  # fmt: skip


def test_a_step_goes_with_its_results_and_no_others() -> None:
    items = [GO, model(call("f")), user(result("f", {}), {"text": "and this"}), model(call("f")), user(result("f", {}))]
    assert HISTORY.without(items, frozenset({1})) == [GO, user({"text": "and this"}), items[3], items[4]]
    assert HISTORY.without(items, frozenset({3})) == items[:3]
