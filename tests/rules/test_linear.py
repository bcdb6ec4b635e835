"""No text takes more than its share of time: whatever reads text from outside is linear in it.

Every reader is fed n and 4n characters of hostile input, made of its own key words, repeated. Linear work takes four
times as long, quadratic work sixteen times; CPU time of this thread, best of three, and only where it can be measured
at all, so that a busy machine says nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import histories
from rules.before.evidence.facts import facts
from rules.before.hygiene import key_of, tidy
from rules.before.request import HistoryPolicy, before, known_keys
from rules.detect.requested.repetition import wishes
from rules.errors import classify, retry_after
from rules.errors.error_body import read
from rules.values.json import loads
from rules.values.notices import MARK, has_notice, strip_notices
from rules.values.signature import call_signature, collapse, fold_clock, normalise, unwrapped
from rules.values.steps import Step, ToolCall
from rules.values.steps import classify as kind_of
from rules.values.verdict import Mode
from rules.wires import get

SMALL, LARGE = 30_000, 120_000
MEASURABLE = 0.03
"""Seconds. Faster than this for LARGE is fast enough, and too short to compare."""
MOST = 10.0
"""Between 4 (linear) and 16 (quadratic)."""

CHAT, HISTORY = get("openai_chat"), histories.get("openai_chat")


def request(text: str) -> dict[str, Any]:
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": text}, {"role": "user", "content": "y"}]
    return {"model": "m", "messages": turns}


def result(text: str) -> Step:
    return Step(text=text, reasoning=text, calls=(ToolCall("c", "bash", text, text),))


READERS: dict[str, Callable[[str], object]] = {
    "strip_notices": strip_notices,
    "has_notice": has_notice,
    "known_keys": lambda text: known_keys(HISTORY, request(text), HistoryPolicy(), Mode.ON),
    "before": lambda text: before(CHAT, HISTORY, request(text), HistoryPolicy(), Mode.ON),
    "tidy": lambda text: tidy(HISTORY, request(text), {"0" * 32: 1}) if HISTORY is not None else None,
    "key_of": key_of,
    "facts": lambda text: facts(result(text)),
    "normalise": lambda text: normalise(text, limit=None),
    "collapse": collapse,
    "fold_clock": fold_clock,
    "unwrapped": unwrapped,
    "signature": lambda text: call_signature("bash", text),
    "signature of JSON": lambda text: call_signature("bash", json.dumps({"command": text})),
    "kind of step": lambda text: kind_of(finish="tool-calls", text=text),
    "wishes": wishes,
    "from_message": retry_after.from_message,
    "from_headers": lambda text: retry_after.from_headers({"retry-after": text, "retry-after-ms": text}, 0.0),
    "from_body": lambda text: retry_after.from_body(
        {"error": {"details": [{"@type": "google.rpc.RetryInfo", "retryDelay": text}]}}
    ),
    "error body": lambda text: read({"error": {"message": text, "code": text}}, b""),
    "error page": lambda text: read(None, text.encode()),
    "error": lambda text: classify.response(400, {}, json.dumps({"error": {"message": text}}).encode(), now=0.0),
    "plain error": lambda text: classify.response(429, {}, text.encode(), now=0.0),
    "strange answer": lambda text: classify.strange(200, "text/html", text.encode(), {}, now=0.0),
    "loads": lambda text: loads(json.dumps({"a": text}).encode()),
    "loads of a broken emoji": lambda text: loads(b'{"a":"\\ud83d' + json.dumps(text)[1:].encode() + b"}"),
}

WORDS = (
    f"\n\n{MARK} ", MARK, f"\n{MARK}", "\n", "\n\n", " ", "\t", "\u00a0", "a", "0", "1.", "1s ", "-", "_", "é",
    "图", "{", "[", '"', "\\", "(", "/", "#", "<", "error ", "exit code ", "still ", "status: ", "no results ",
    "input token count ", "input length ", "exceeds ", "prompt is too long ", "maximum context length is 1",
    "retry after 1s and ", "try again in ", "<title", "<title>", "<system-reminder>", "Chunk ID: a\n", "git ",
    "sed -n ", "perl -", "open(", ">> ", "100 times ", "9x9 ", "first 100 ", "10 big ", "2024-01-01T",
    "12345678-1234-", "let me ", "cannot have ", "message must be ",
)  # fmt: skip


def cost(reader: Callable[[str], object], text: str, runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        begun = time.thread_time()
        reader(text)
        best = min(best, time.thread_time() - begun)
    return best


def hold(name: str, unit: str, tail: str) -> None:
    reader = READERS[name]
    large = (unit * (LARGE // len(unit) + 1))[:LARGE] + tail
    if cost(reader, large, 1) < MEASURABLE:
        return
    small = (unit * (SMALL // len(unit) + 1))[:SMALL] + tail
    few, many = cost(reader, small, 3), cost(reader, large, 3)
    assert many < MEASURABLE or many < MOST * few, f"{name}: {unit!r}: {few * 1000:.0f} ms, then {many * 1000:.0f} ms"


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=5, deadline=None, derandomize=True)
@given(
    unit=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map("".join), tail=st.sampled_from(("", "x", "\n\n."))
)
def test_four_times_the_text_takes_no_sixteen_times_the_time(name: str, unit: str, tail: str) -> None:
    hold(name, unit, tail)


@pytest.mark.parametrize("unit", WORDS)
def test_one_word_again_and_again(unit: str) -> None:
    for name in READERS:
        hold(name, unit, "")


def test_the_measure_finds_what_is_quadratic(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(text: str) -> int:
        return sum(len(text[start:].split("x")) for start in range(0, len(text), 500))

    monkeypatch.setitem(READERS, "slow", slow)
    with pytest.raises(AssertionError, match="slow"):
        hold("slow", "x", "")
