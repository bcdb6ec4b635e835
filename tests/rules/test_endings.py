"""Loops that servers cut themselves."""

from __future__ import annotations

from typing import Any

import pytest

from rules.endings import cut_by_server, unfinished


@pytest.mark.parametrize(
    ("reason", "fields", "cut"),
    [
        ("repetition", None, True),
        ("REPETITION", {}, True),
        ("repetition_truncation", None, True),
        ("length", {"finish_details": {"type": "repetition"}}, True),
        ("length", {"stop_reason": "repetition_detected"}, True),
        ("length", {"stop_reason": 128001}, False),
        ("length", {"finish_details": {"type": "max_tokens"}}, False),
        ("stop", None, False),
        (None, None, False),
    ],
)
def test_reasons(reason: str | None, fields: dict[str, Any] | None, cut: bool) -> None:
    assert cut_by_server(reason, fields) is cut


def test_ollamas_own_stream() -> None:
    assert unfinished({"done": False, "message": {"content": "x"}})
    assert not unfinished({"done": True})
    assert not unfinished({})
