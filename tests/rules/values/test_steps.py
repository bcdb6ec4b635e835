"""Finish reasons of every wire in the seed's words, and the one row that is ours."""

from __future__ import annotations

import pytest

from rules.values.steps import StepKind, classify, finish_word


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("stop", "stop"), ("end_turn", "stop"), ("completed", "stop"), ("tool_calls", "tool-calls"),
        ("tool_use", "tool-calls"), ("refusal", "content-filter"), ("max_tokens", "length"), ("abort", "error"),
        ("repetition", "other"), (None, None),
    ],
)  # fmt: skip
def test_finish_words(reason: str | None, word: str | None) -> None:
    assert finish_word(reason) == word


def test_length_is_truncated_unless_a_call_or_an_error_says_otherwise() -> None:
    assert classify(finish="length", text="half") is StepKind.TRUNCATED
    assert classify(finish="length", client_calls=1) is StepKind.CONTINUE
    assert classify(finish="length", error="x") is StepKind.FAILED
    assert classify(finish="length", structured=True) is StepKind.FINAL
