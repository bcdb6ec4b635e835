"""What counts as a recording, and what is said of what does not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from proxy.replay import Recording, Unreadable, recordings
from proxy.replay.recordings import files
from rules.values.delta import Channel

TEXT, REASONING, TOOL = Channel.TEXT, Channel.REASONING, Channel.TOOL


def rows(tmp_path: Path, *written: object) -> list[Recording]:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in written), encoding="utf-8")
    return list(recordings(path))


def said(recording: Recording) -> list[tuple[Channel, str]]:
    return [(channel, "".join(deltas)) for channel, _, deltas in recording.pieces]


def test_rows_of_texts(tmp_path: Path) -> None:
    first, second, third = rows(
        tmp_path,
        {"id": "a-1", "text": "one", "instruction": "count"},
        {"content": "two", "channel": "reasoning"},
        {"deltas": ["th", "ree"]},
    )
    assert (first.name, first.instruction, said(first)) == (f"{tmp_path}/x.jsonl:1 a-1", "count", [(TEXT, "one")])
    assert said(second) == [(REASONING, "two")]
    assert third.pieces == ((TEXT, "0", ("th", "ree")),)


def test_a_stream_of_geminis_in_one_array_is_one_answer(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    parts = [{"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in ("Put ", "the kettle on.")]
    path.write_text(json.dumps(parts, indent=2))
    (found,) = recordings(path)
    assert found.raw == path.read_bytes() and not found.body


def test_a_chat_request_gives_its_assistant_messages(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
    body = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "list it"},
            {"role": "assistant", "reasoning_content": "hm", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "a b c"},
            {"role": "assistant", "content": [{"type": "text", "text": "a, b and c"}]},
        ],
    }
    history, first, second = rows(tmp_path, body)
    assert (history.request, history.pieces, history.raw) == (body, (), None)
    assert (first.instruction, said(first)) == ("list it", [(REASONING, "hm"), (TOOL, '{"path": "."}')])
    assert first.calls == (("ls", '{"path": "."}'),)
    assert said(second) == [(TEXT, "a, b and c")]


def test_messages_and_responses_items_are_read_too(tmp_path: Path) -> None:
    anthropic = {
        "messages": [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "let me see"},
                    {"type": "text", "text": "here"},
                    {"type": "tool_use", "id": "t", "name": "ls", "input": {"a": 1}},
                ],
            }
        ]
    }
    responses = {
        "input": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "well"}]},
            {"type": "function_call", "name": "ls", "arguments": "{}"},
            {"role": "assistant", "type": "message", "content": [{"type": "output_text", "text": "done"}]},
        ]
    }
    _, one, _, *others = rows(tmp_path, anthropic, responses)
    assert said(one) == [(REASONING, "let me see"), (TEXT, "here"), (TOOL, '{"a":1}')]
    assert [said(other) for other in others] == [[(REASONING, "well")], [(TOOL, "{}")], [(TEXT, "done")]]


def test_rows_of_something_else_are_passed_over(tmp_path: Path) -> None:
    assert rows(tmp_path, {"label": "loop", "onset": 3}, {"role": "user", "content": "hello"}, {"text": 3}) == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[1]", "x.jsonl:1: a row is an object"),
        ("{", "x.jsonl:1: not JSON"),
        ('{"text": "a", "channel": "smell"}', "x.jsonl:1: channel is text, reasoning, tool or refusal"),
        ('{"deltas": [3]}', "deltas are texts"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(Unreadable, match=told):
        list(recordings(path))


def test_broken_rows_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "one"}\n{oops\n\n[1]\n{"text": "two"}\n{"text": "thr')
    told: list[str] = []
    assert [said(r) for r in recordings(path, told.append)] == [[(TEXT, "one")], [(TEXT, "two")]]
    assert [one.partition("x.jsonl")[2][:12] for one in told] == [":2: not JSON", ":4: a row is", ":6: not JSON"]


def test_of_very_many_broken_rows_three_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xff\x00\n" * 50)
    told: list[str] = []
    assert list(recordings(path, told.append)) == []
    assert len(told) == 4
    assert told[-1].endswith("x.jsonl: 47 more lines of this kind")


def test_a_session_whose_last_line_is_being_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [{"message": {"role": "user", "content": "go"}}, {"message": {"role": "assistant", "content": "went"}}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"message": {"ro')
    told: list[str] = []
    history, answer = recordings(path, told.append)
    assert history.is_history
    assert said(answer) == [(TEXT, "went")]
    assert len(told) == 1


def test_a_download_that_broke_off_gives_what_came(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "packed"}\n' * 3)[:-6])
    told: list[str] = []
    assert len(list(recordings(path, told.append))) == 3
    assert "after line 3" in told[0]


def test_letters_that_are_no_utf8_are_read_with_a_sign_for_them(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes('{"text": "café"}\n'.encode("latin-1"))
    assert [said(r) for r in recordings(path)] == [[(TEXT, "caf\ufffd")]]


@pytest.mark.parametrize("name", ["x.sse", "x.json"])
def test_an_empty_file_is_called_so(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(Unreadable, match="empty"):
        list(recordings(tmp_path / name))


def test_how_far_a_session_is_grows_with_its_answers(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    message = {"message": {"role": "assistant", "content": "went"}}
    path.write_text((json.dumps(message) + "\n") * 4)
    seen: list[int] = []
    assert len(list(recordings(path, None, seen.append))) == 5
    assert seen == sorted(seen)
    assert seen[0] < seen[-1] == path.stat().st_size


def test_gzipped_files_are_unpacked_and_broken_ones_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "packed"}\n'))
    assert [said(r) for r in recordings(path)] == [[(TEXT, "packed")]]
    path.write_bytes(b"not gzip at all")
    with pytest.raises(Unreadable, match=r"x\.jsonl\.gz"):
        list(recordings(path))


@pytest.mark.parametrize(
    ("name", "written"),
    [("x.request.json", {"model": "m", "stream": True}), ("x.meta.json", {"request": {"model": "m", "stream": True}})],
)
def test_the_request_may_lie_beside_a_stream(tmp_path: Path, name: str, written: object) -> None:
    (tmp_path / "x.sse").write_bytes(b"data: [DONE]\n\n")
    assert [r.request for r in recordings(tmp_path / "x.sse")] == [{}]
    (tmp_path / name).write_text(json.dumps(written))
    (recording,) = recordings(tmp_path / "x.sse")
    assert (recording.raw, recording.request) == (b"data: [DONE]\n\n", {"model": "m", "stream": True})
    (tmp_path / name).write_text("{")
    with pytest.raises(Unreadable, match="not JSON"):
        list(recordings(tmp_path / "x.sse"))


def test_documents(tmp_path: Path) -> None:
    def read(document: object) -> list[Recording]:
        (tmp_path / "x.json").write_text(json.dumps(document))
        return list(recordings(tmp_path / "x.json"))

    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    for document in (turns, {"messages": turns}, [{"messages": turns}]):
        history, answer = read(document)
        assert history.is_history and said(answer) == [(TEXT, "hello")]
    assert [said(one) for one in read([{"text": "a"}, 3, {"text": "b"}])] == [[(TEXT, "a")], [(TEXT, "b")]]
    assert read({"compilerOptions": {}}) == read([]) == read(3) == read("x") == []
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(Unreadable, match=r"x\.json: not JSON"):
        list(recordings(tmp_path / "x.json"))


def test_labels_are_kept_and_companions_of_streams_are_no_recordings(tmp_path: Path) -> None:
    (one, two) = rows(tmp_path, {"text": "a", "label": "loop", "onset": 7, "ended": False}, {"text": "a", "label": 3})
    assert (one.label, one.onset, two.label, two.onset) == ("loop", 7, "", None)
    for name in ("x.sse", "x.request.json", "x.meta.json", "y.json.gz"):
        (tmp_path / name).write_bytes(b"{}")
    assert [path.name for path in files([tmp_path])] == ["x.jsonl", "x.sse", "y.json.gz"]


def test_paths_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("")
    for path, told in (
        (tmp_path / "none", "no such file"),
        (tmp_path / "x.txt", "reads .sse, .jsonl and .json"),
        (tmp_path, "nothing to"),
    ):
        with pytest.raises(Unreadable, match=told):
            files([path])
