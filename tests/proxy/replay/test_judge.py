"""Recordings through the rules: every wire is told by itself, loops are found, saved characters are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proxy.replay import JudgingConfig, Recording, Unreadable, judge, run
from proxy.replay.judge import guess
from rules.detect import packs
from rules.values.delta import Channel
from rules.values.failures import Kind
from rules.values.verdict import Mode

STREAMS = sorted(path for path in Path("tests/streams").rglob("*.*") if path.suffix in (".sse", ".ndjson", ".json"))
RULES = packs.assemble(["seeds"])
LOOP = "The function returns the value that the function returns. "


def chunk(text: str, choice: int = 0, member: str = "content", **more: object) -> bytes:
    delta = {"index": choice, "delta": {member: text}, "finish_reason": None, **more}
    body = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [delta]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def finish(choice: int = 0) -> bytes:
    return chunk("", choice, finish_reason="stop")


DONE = b"data: [DONE]\n\n"


@pytest.mark.parametrize("path", STREAMS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_golden_stream_is_read_by_its_own_wire_and_stays_quiet(path: Path) -> None:
    raw = path.read_bytes()
    assert guess(raw).name == path.parent.name
    seen = judge(Recording(path.name, raw=raw), JudgingConfig(RULES))
    assert seen.found == ()
    assert (seen.malformed, seen.wire) == (0, path.parent.name)


def test_a_loop_is_found_with_what_it_would_have_saved() -> None:
    raw = b"".join(chunk(word + " ") for word in (LOOP * 20).split()) + finish() + DONE
    seen = judge(Recording("x", raw=raw), JudgingConfig(RULES))
    (found,) = seen.found
    assert (found.finding.rule, found.acts, seen.wire) == ("text-cycle", True, "openai_chat")
    assert found.finding.hit.period == len(LOOP)
    assert found.finding.hit.at >= 256
    assert seen.chars == len(LOOP) * 20
    assert 0 <= seen.chars - found.finding.hit.at - found.saved < 12  # the rest of the event in which it fired
    assert seen.saved == found.saved


def test_a_rule_that_only_watches_saves_nothing() -> None:
    raw = b"".join(chunk(LOOP) for _ in range(20)) + finish() + DONE
    rules = packs.assemble(["observe-only"])
    seen = judge(Recording("x", raw=raw), JudgingConfig(rules))
    assert [(f.acts, f.saved) for f in seen.found]
    assert not any(f.acts or f.saved for f in seen.found)
    assert {rule.mode for rule in rules} == {Mode.WATCH}


def test_only_the_looping_choice_is_cut_and_counted() -> None:
    raw = b"".join(chunk(LOOP, 1) + chunk(f"word {n} of a tale, ", 0) for n in range(30))
    seen = judge(Recording("x", raw=raw + finish(0) + finish(1) + DONE), JudgingConfig(RULES))
    assert {f.finding.choice for f in seen.found} == {1}
    assert seen.saved < len(LOOP) * 30


def test_reasoning_is_watched_too() -> None:
    raw = b"".join(chunk(LOOP, member="reasoning_content") for _ in range(20)) + finish() + DONE
    (found,) = judge(Recording("x", raw=raw), JudgingConfig(RULES)).found
    assert found.finding.channel is Channel.REASONING


def test_an_answer_that_fails_by_itself_says_how() -> None:
    failure = judge(Recording("x", raw=chunk("half an ans")), JudgingConfig(RULES)).failure
    assert failure is not None
    assert failure.kind is Kind.STREAM


def test_what_no_wire_understands_is_unreadable() -> None:
    with pytest.raises(Unreadable, match=r"thing\.sse: no wire understands it"):
        judge(Recording("thing.sse", raw=b"data: hello\n\ndata: there\n\n"), JudgingConfig(RULES))


def test_texts_are_judged_whole_or_as_they_were_cut() -> None:
    whole = Recording("x", pieces=((Channel.TEXT, "0", (LOOP * 20,)),))
    cut = Recording("x", pieces=((Channel.TEXT, "0", tuple((LOOP * 20)[at : at + 7] for at in range(0, 1160, 7))),))
    (a,), (b,) = judge(whole, JudgingConfig(RULES)).found, judge(cut, JudgingConfig(RULES)).found
    assert a.finding.hit == b.finding.hit
    assert a.saved == len(LOOP) * 20 - a.finding.hit.at
    assert 0 <= a.saved - b.saved < 7


def test_what_comes_behind_a_cut_is_not_told() -> None:
    both = LOOP * 8 + "Then a small pool. " + "let me try again " * 40
    found = judge(Recording("x", pieces=((Channel.TEXT, "0", (both,)),)), JudgingConfig(RULES)).found
    assert [f.finding.rule for f in found] == ["text-cycle"]


def whole(wire: str, text: str) -> dict[str, object]:
    if wire == "anthropic_messages":
        blocks = [{"type": "text", "text": text}]
        return {"id": "m", "type": "message", "role": "assistant", "content": blocks, "stop_reason": "end_turn"}
    if wire == "openai_responses":
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}
        return {"id": "r", "object": "response", "status": "completed", "output": [item]}
    if wire == "openai_completions":
        choice: dict[str, object] = {"index": 0, "text": text, "finish_reason": "stop"}
        return {"id": "c", "object": "text_completion", "choices": [choice]}
    message = {"role": "assistant", "content": text}
    return {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


@pytest.mark.parametrize("wire", ["openai_chat", "openai_completions", "openai_responses", "anthropic_messages"])
@pytest.mark.parametrize("shape", ["document", "row", "with its request"])
def test_whole_answers_are_told_apart_and_judged(tmp_path: Path, wire: str, shape: str) -> None:
    body: dict[str, object] = whole(wire, LOOP * 20)
    if shape == "with its request":
        body = {"request": {"model": "m", "messages": [{"role": "user", "content": "hi"}]}, "response": body}
    (tmp_path / ("x.jsonl" if shape == "row" else "x.json")).write_text(json.dumps(body) + "\n")
    (seen,) = run([tmp_path], JudgingConfig(RULES)).seen
    (found,) = seen.found
    assert (seen.wire, seen.chars, found.finding.rule) == (wire, len(LOOP) * 20, "text-cycle")
    assert found.saved == len(LOOP) * 20 - found.finding.hit.at


def test_a_whole_answer_that_is_an_error_or_nothing_known(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"response": {"error": {"message": "no", "type": "server_error"}}}))
    (tmp_path / "b.json").write_text(json.dumps({"response": {"weather": "fine"}}))
    (tmp_path / "package.json").write_text(json.dumps({"name": "x", "dependencies": {}}))
    report = run([tmp_path], JudgingConfig(RULES))
    assert [seen.failure is not None for seen in report.seen] == [True]
    assert [text.rpartition("/")[2] for text in report.unreadable] == ["b.json: this JSON is no answer of any wire"]


def test_a_configs_modes_bind_the_verdict() -> None:
    recording = Recording("x", pieces=((Channel.TEXT, "0", (LOOP * 20,)),))
    (told,) = [
        f for f in judge(recording, JudgingConfig(RULES, mode=Mode.WATCH)).found if f.finding.rule == "text-cycle"
    ]
    assert (told.does, told.saved) == ("tells", 0)
    assert judge(recording, JudgingConfig(RULES, mode=Mode.OFF)).found == ()


def test_a_folder_a_summary_and_an_exit_code(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "loop.sse").write_bytes(b"".join(chunk(LOOP) for _ in range(20)) + finish() + DONE)
    (tmp_path / "calm.jsonl").write_text(json.dumps({"text": "A calm answer."}) + "\n")
    (tmp_path / "notes.txt").write_text("not looked at")
    steps: list[tuple[int, int, str]] = []
    report = run([tmp_path], JudgingConfig(RULES), step=lambda *step: steps.append(step))
    sizes = [(tmp_path / name).stat().st_size for name in ("calm.jsonl", "deep/loop.sse")]
    all_of_it = sum(sizes)
    assert steps == [
        (0, all_of_it, "calm.jsonl"),
        (sizes[0], all_of_it, "calm.jsonl"),
        (sizes[0], all_of_it, "loop.sse"),
        (all_of_it, all_of_it, ""),
    ]
    assert [Path(seen.name).name for seen in report.fired] == ["loop.sse"]
    assert report.exit_code == 1
    assert run([tmp_path / "calm.jsonl"], JudgingConfig(RULES)).exit_code == 0


def test_a_broken_file_among_good_ones_is_named_and_the_rest_is_judged(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n{"text": \n')
    (tmp_path / "b.jsonl").write_text('{"text": "fine too"}\n')
    report = run([tmp_path], JudgingConfig(RULES))
    assert len(report.seen) == 2
    assert [p.partition("a.jsonl")[2][:12] for p in report.unreadable] == [":2: not JSON"]
    (tmp_path / "c.jsonl").write_text("[]\n")
    assert run([tmp_path / "c.jsonl"], JudgingConfig(RULES)).exit_code == 2


def test_the_wire_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "x.sse").write_bytes(chunk("hello") + finish() + DONE)
    assert run([tmp_path], JudgingConfig(RULES), wire="openai_chat").seen[0].wire == "openai_chat"
    with pytest.raises(KeyError):
        run([tmp_path], JudgingConfig(RULES), wire="morse")


def test_ctrl_c_leaves_what_was_judged_until_then(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n' * 9)
    calls = 0

    def step(_done: int, _all: int, _name: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt

    report = run([tmp_path], JudgingConfig(RULES), step=step)
    assert (len(report.seen), report.stopped, report.exit_code) == (3, True, 130)


def test_an_answer_of_no_wire_costs_itself_only(tmp_path: Path) -> None:
    odd = {"response": {"strange": True}}
    (tmp_path / "a.jsonl").write_text(json.dumps(odd) + '\n{"text": "fine"}\n')
    report = run([tmp_path], JudgingConfig(RULES))
    assert len(report.seen) == 1
    assert "no answer of any wire" in report.unreadable[0]


@pytest.mark.parametrize("text", ["[1, 2]", "17", '{"a": "package.json"}'])
def test_where_there_is_nothing_to_judge_it_is_no_success(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert run([tmp_path], JudgingConfig(RULES)).exit_code == 2
