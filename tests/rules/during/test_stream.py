"""One answer on its way: what passes, what is held, what halts, and what the client is left with."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rules.during.reader
from proxy.demo.voices import voice_for
from rules import wires
from rules.detect.packs import assemble
from rules.detect.ruleset import RuleSet
from rules.during.cut import Cut, Limits
from rules.during.event_handler import TRUNCATED
from rules.during.judge import MOST_CUTS
from rules.during.output import Forward, Halt, Noted, Output
from rules.during.reader import Reader
from rules.during.stream import MOVES, Stream, StreamState
from rules.errors.error_rules import ErrorRule, ErrorRules
from rules.framing.sse import Decoder, encode
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Shown, Transcript
from rules.values.verdict import Action, Finding, Mode
from rules.wires.base import Ask, Ending
from tests.readers.openai_responses import read as strict_responses

from ..fakes import DONE, WordRules, WordWatch, chunk, finish, role, says, tool

CHAT = wires.get("openai_chat")


def ask(**body: Any) -> Ask:
    return CHAT.ask({"model": "m-1", "stream": True, "messages": [{"role": "user", "content": "hi"}], **body})


def stream(rules: WordRules | RuleSet | None = None, **given: Any) -> Stream:
    body = given.pop("body", {})
    return Stream(CHAT, ask(**body), rules, **given)


def raw(out: list[Output]) -> bytes:
    return b"".join(o.raw for o in out if isinstance(o, Forward))


def halted(out: list[Output]) -> Any:
    return out[-1].cause if out and isinstance(out[-1], Halt) else None


def bodies(sent: bytes) -> list[Any]:
    decoder = Decoder()
    return [event.json for event in decoder.feed(sent) if event.data is not None]


# --- what passes -----------------------------------------------------------------------------------------------------
def test_a_clean_answer_passes_as_it_is_in_one_forward_a_read() -> None:
    answer = role() + says("Hel") + says("lo") + finish() + DONE
    s = stream(WordRules())
    out = s.feed(answer, 1.0)
    assert out == [Forward(answer, True)]
    assert s.finished
    assert s.eof(2.0) == []
    assert s.closing(Ending()) == s.failing(Failure(Phase.STREAM, Kind.STREAM, "x")) == b""


def test_nothing_counts_before_something_is_said() -> None:
    s = stream()
    assert s.feed(b": waiting\n\n", 1.0) == [Forward(b": waiting\n", False)]
    assert s.feed(role(), 2.0) == [Forward(role(), False)]
    assert (s.last_data, s.transcript.shown) == (None, Shown.NOTHING)
    assert s.feed(says("x"), 3.0) == [Forward(says("x"), True)]
    assert s.last_data == 3.0


def test_reasoning_counts_as_data_but_comments_pings_usage_and_empty_deltas_do_not() -> None:
    s = stream()
    s.feed(role() + says(reasoning_content="hm"), 1.0)
    assert (s.last_data, s.transcript.shown) == (1.0, Shown.REASONING)
    s.feed(b": x\n" + says("") + chunk(usage={"total_tokens": 1}) + b'data: {"type":"ping"}\n\n', 2.0)
    assert s.last_data == 1.0
    assert (s.events, s.malformed) == (4, 1)


def test_nothing_follows_the_end_mark() -> None:
    answer = role() + says("x") + finish() + DONE
    s = stream()
    assert raw(s.feed(answer + says("more") + DONE, 1.0)) == answer
    assert s.feed(says("more"), 2.0) == []


DAMAGE = [
    b"{broken", b'{"choices":[7]}', b'{"choices":"x"}', b'"choices":[]}', b'{"a":"\xff"}', b'{"id":"c","choices":[{"in',
    b'{"choices":[{"index":0,"delta":"x"}]}', b'{"choices":[{"index":0,"delta":{"content":5}}]}',
    b'{"choices":[{"index":0,"delta":{"content":{"a":1}}}]}', b'{"choices":[{"index":0,"delta":{"content":["x"]}}]}',
    b'{"choices":[{"index":0,"delta":{"tool_calls":"x"}}]}', b'{"choices":[{"index":0,"delta":{"tool_calls":["x"]}}]}',
    b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":"x"}]}}]}',
    b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":["x"]}}]}}]}',
    b'{"object":"chat.completion.chunk","choicez":[{"index":0,"delta":{"content":"x"}}]}',
]  # fmt: skip
"""Events that may have carried something."""


@pytest.mark.parametrize("bad", DAMAGE)
def test_an_event_that_may_have_carried_something_halts(bad: bytes) -> None:
    s = stream()
    out = s.feed(role() + says("a") + b"data: " + bad + b"\n\n" + says("x") + finish() + DONE, 1.0)
    assert raw(out) == role() + says("a")
    assert (halted(out).code, halted(out).kind) == ("streamfuse_unreadable", Kind.STREAM)
    assert s.malformed == 1


@pytest.mark.parametrize("bad", DAMAGE[:6])
def test_what_cannot_be_read_after_the_finish_is_nobodys_loss(bad: bytes) -> None:
    s = stream()
    assert raw(s.feed(role() + says("a") + finish() + b"data: " + bad + b"\n\n" + DONE, 1.0)).endswith(DONE)
    assert s.finished


def test_a_call_with_an_unreadable_piece_is_never_shown() -> None:
    s = stream()
    bad = tool(0, "project/build")
    answer = role() + tool(0, '{"command":"rm -rf /home/u/', "bash") + bad[: len(bad) // 2] + b"\n\n" + tool(0, '"}')
    out = s.feed(answer + finish("tool_calls") + DONE, 1.0)
    assert raw(out) == role()
    assert halted(out).code == "streamfuse_unreadable"


def test_a_piece_under_the_number_of_a_choice_that_never_ends_halts_at_the_end() -> None:
    s = stream()
    out = s.feed(role() + says("a") + says("b", 8) + says("c") + finish() + DONE, 1.0)
    assert halted(out).code == "streamfuse_unreadable"
    call = says(None, 8, tool_calls=[{"index": 0, "function": {"arguments": "1}"}}])
    assert halted(stream().feed(role() + tool(0, '{"a":', "f") + call, 1.0)).code == "streamfuse_unreadable"


def test_a_piece_of_a_call_that_never_began_halts() -> None:
    s = stream()
    out = s.feed(role() + tool(0, '{"a":', "f") + says(tool_calls=[{"index": 8, "function": {"arguments": "1}"}}]), 1.0)
    assert halted(out).code == "streamfuse_unreadable"


@pytest.mark.parametrize("bad", [b"ping", b"null", b"[]", b"{}", b"7", b'{"choices":{}}', b'{"type":"ping"}'])
def test_noise_costs_nothing(bad: bytes) -> None:
    s = stream()
    sent = raw(s.feed(role() + b"data: " + bad + b"\n\n" + says("x") + finish() + DONE, 1.0))
    assert sent == role() + says("x") + finish() + DONE
    assert s.malformed == 1


@pytest.mark.parametrize(
    "beside",
    [
        b'data: {"sources":[{"name": "a.pdf", "index": 0}]}\n\n',
        b'data: {"id":"c", "citations":["http://x"]}\n\n',
        b'data: {"object":"chat.completion.chunk","timings":{"n":3}}\n\n',
        b'event: tool.progress\ndata: {"message": "searching"}\n\n',
        b'data: {"type":"status","message":"Searching the web"}\n\n',
        b'data: {"type":"progress","detail":"2 of 3"}\n\n',
    ],
)
def test_an_event_beside_the_answer_passes_as_it_came_and_shows_nothing(beside: bytes) -> None:
    s = stream()
    out = s.feed(beside, 1.0)
    assert out == [Forward(beside, False)]
    assert s.transcript.shown is Shown.NOTHING and s.last_data is None
    rest = role() + says("x") + beside + finish() + beside + DONE
    assert raw(s.feed(rest, 2.0)) == rest
    assert s.finished and s.malformed == 0


def test_only_events_beside_the_answer_are_no_answer() -> None:
    halted(stream().feed(b'data: {"sources":[1]}\n\n' + DONE, 1.0))


@pytest.mark.parametrize(
    "error",
    [
        b'{"message":"Overloaded"}',
        b'{"type":"server_error","message":"Overloaded"}',
        b'{"type":"status","code":503,"message":"Overloaded"}',
        b'{"object":"error","type":"status","message":"Overloaded"}',
    ],
)
def test_an_error_in_another_shape_is_no_event_beside_the_answer(error: bytes) -> None:
    assert halted(stream().feed(role() + b"data: " + error + b"\n\n", 1.0)).message == "Overloaded"


@pytest.mark.parametrize("more", [b"", b',"usage":{"total_tokens":1}', b',"object":"chat.completion.chunk"'])
def test_choices_under_a_damaged_name_are_damage(more: bytes) -> None:
    lost = b'data: {"chmices":[{"index":0,"delta":{"content":"x"}}]' + more + b"}\n\n"
    assert halted(stream().feed(role() + lost, 1.0)).code == "streamfuse_unreadable"


def test_opaque_bytes_pass_as_they_are() -> None:
    opaque = wires.get("opaque")
    s = Stream(opaque, opaque.ask({}), WordRules())
    assert s.feed(b"any\r\nLOOP \xff", 1.0) == [Forward(b"any\r\nLOOP \xff", True)]
    assert s.feed(b"", 1.5) == []
    assert s.eof(2.0) == []
    assert s.finished
    assert s.heartbeat() == b""


def test_a_split_character_is_put_together() -> None:
    s = stream()
    halves = says("x??").replace(b"??", b"\xe2\x82") + says("?y").replace(b"?", b"\xac")
    assert (
        "".join(b["choices"][0]["delta"].get("content", "") for b in bodies(raw(s.feed(role() + halves, 1.0)))) == "x€y"
    )


# --- ends ------------------------------------------------------------------------------------------------------------
def test_a_missing_end_mark_is_supplied() -> None:
    s = stream()
    answer = role() + says("x") + finish()
    assert raw(s.feed(answer, 1.0) + s.eof(2.0)) == answer + DONE
    assert s.finished


def test_a_finish_whose_last_line_end_is_missing_counts() -> None:
    answer = role() + says("x") + finish()
    s = stream()
    assert raw(s.feed(answer[:-2], 1.0) + s.eof(2.0)) == answer + DONE


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", "streamfuse_empty_stream"),
        (b": comment\n\n", "streamfuse_empty_stream"),
        (role(), "streamfuse_empty_stream"),
        (role() + DONE, "streamfuse_empty_stream"),
        (DONE, "streamfuse_empty_stream"),
        (role() + says("x"), "streamfuse_truncated"),
        (role() + says("x") + finish()[:-20], "streamfuse_truncated"),
        (role() + tool(0, '{"a"', "f"), "streamfuse_truncated"),
        (role() + tool(0, '{"a"', "f") + DONE, "streamfuse_truncated"),
    ],
)
def test_an_end_without_a_finish_is_a_failure(answer: bytes, code: str) -> None:
    s = stream()
    failure = halted(s.feed(answer, 1.0) + s.eof(2.0))
    assert isinstance(failure, Failure)
    assert (failure.phase, failure.kind, failure.code) == (Phase.STREAM, Kind.STREAM, code)
    assert not s.finished


def test_an_end_mark_without_a_finish_is_mended() -> None:
    s = stream()
    sent = raw(s.feed(role() + says("x") + DONE, 1.0))
    assert sent.startswith(role() + says("x"))
    assert bodies(sent)[2]["choices"][0]["finish_reason"] == "stop"
    assert sent.endswith(DONE)
    assert s.finished


def test_an_error_after_the_finish_is_no_concern_of_the_client() -> None:
    s = stream()
    answer = role() + says("x") + finish()
    assert raw(s.feed(answer + b'data: {"error":{"message":"billing"}}\n\n', 1.0)) == answer + DONE
    assert s.finished


@pytest.mark.parametrize("before", [b"", role(), role() + says("x")])
@pytest.mark.parametrize(
    "fault",
    [
        chunk(error={"message": "boom", "code": 503}),
        b'data: {"error":"boom"}\n\n',
        b'error: {"code":503,"message":"boom"}\n\n',
        b'event: error\ndata: {"message":"boom"}\n\n',
        b'data: {"object":"error","message":"boom","code":503}\n\n',
        b'data: {"detail":"boom"}\n\n',
        finish("abort"),
        finish("error"),
        finish("insufficient_system_resource"),
        chunk(x_groq={"error": "boom"}),
    ],
)
def test_an_error_inside_the_stream_halts_and_is_never_shown(before: bytes, fault: bytes) -> None:
    s = stream()
    out = s.feed(before + fault + says("y"), 1.0)
    assert raw(out) == before
    failure = halted(out)
    assert isinstance(failure, Failure)
    assert failure.phase is Phase.STREAM
    assert s.feed(says("z"), 2.0) == s.eof(3.0) == []
    ending = s.failing(failure)
    assert b'"error":{"message":' in ending
    assert ending.endswith(DONE)
    assert s.finished


def error_rules(*rules: dict[str, Any]) -> ErrorRules:
    return ErrorRules([ErrorRule.model_validate(rule) for rule in rules])


OURS = {"name": "mine", "providers": ["*"], "path": "/error/*", "match": [{"type": "prefix", "value": "boom"}]}
QUIET = {"name": "quiet", "providers": ["*"], "path": "/oops", "match": [{"type": "exists"}]}


@pytest.mark.parametrize("event", [chunk(error={"message": "boom: x"}), b'data: {"oops": 1}\n\n'])
def test_an_event_that_an_error_rule_knows_is_a_failure_of_that_rule(event: bytes) -> None:
    s = stream(error_rules=error_rules(OURS, QUIET))
    out = s.feed(role() + says("x") + event + says("y"), 1.0)
    assert raw(out) == role() + says("x")
    failure = halted(out)
    assert failure.kind is Kind.RULE
    assert failure.rule in ("mine", "quiet")


def test_an_error_rule_about_what_is_said_sees_every_event() -> None:
    rule = {"name": "words", "path": "/choices/*/delta/content", "match": [{"type": "exact", "value": "boom"}]}
    s = stream(error_rules=error_rules({**rule, "providers": ["*"]}))
    out = s.feed(role() + says("a") + says("b") + says("c") + says("boom"), 1.0)
    assert raw(out) == role() + says("a") + says("b") + says("c")
    assert halted(out).rule == "words"


def test_error_rules_leave_other_events_and_errors_alone() -> None:
    answer = role() + says("boom") + finish() + DONE
    s = stream(error_rules=error_rules(OURS))
    assert raw(s.feed(answer, 1.0)) == answer
    failure = halted(stream(error_rules=error_rules(OURS)).feed(chunk(error={"message": "other", "code": 503}), 1.0))
    assert (failure.kind, failure.rule) == (Kind.SERVER, None)


def test_an_endless_event_is_a_failure_and_what_came_before_passes() -> None:
    s = stream(limits=Limits(event=1024))
    out = s.feed(role() + says("x") + b"data: " + b"x" * 2000, 1.0)
    assert raw(out) == role() + says("x")
    assert halted(out).code == "streamfuse_event_too_large"


# --- the cut ---------------------------------------------------------------------------------------------------------
def test_a_loop_in_the_text_withholds_the_event_that_tipped_the_scale() -> None:
    s = stream(WordRules())
    out = s.feed(role() + says("so LO") + says("OP and on") + says("never"), 1.0)
    assert raw(out) == role() + says("so LO")
    assert isinstance(halted(out), Finding)


def test_a_loop_is_cut_with_stop_and_marked() -> None:
    s = stream(WordRules())
    out = s.feed(role() + says("so ") + says("LOOP") + says("never"), 1.0)
    assert raw(out) == role() + says("so ")
    finding = halted(out)
    assert isinstance(finding, Finding)
    (last, done) = bodies(s.closing())
    assert last["choices"] == [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]
    assert last["streamfuse"]["rule"] == "word"
    assert {name: last[name] for name in ("id", "created", "model")} == {
        "id": "chatcmpl-1",
        "created": 1700000000,
        "model": "m-1",
    }
    assert done is None
    assert s.finished
    assert s.closing() == b""
    assert s.feed(says("x"), 2.0) == []


def test_a_loop_in_the_reasoning_leaves_a_notice_because_nothing_was_visible() -> None:
    s = stream(WordRules())
    s.feed(role() + says(reasoning="LOOP"), 1.0)
    sent = bodies(s.closing())
    assert "reasoning" in sent[0]["choices"][0]["delta"]["content"]
    assert sent[1]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(("notice", "said"), [(True, False), ("always", True), (False, False)])
def test_behind_visible_text_the_notice_is_an_option(notice: Any, said: bool) -> None:
    s = stream(WordRules(), cut=Cut(notice=notice))
    s.feed(role() + says("text ") + says("LOOP"), 1.0)
    deltas = [body["choices"][0]["delta"] for body in bodies(s.closing()) if body]
    assert any("content" in delta for delta in deltas) is said


def test_no_notice_where_json_was_asked_for() -> None:
    s = stream(WordRules(), body={"response_format": {"type": "json_object"}})
    s.feed(role() + says("LOOP"), 1.0)
    assert all("content" not in body["choices"][0]["delta"] for body in bodies(s.closing()) if body)


def test_the_notice_follows_the_language_of_the_loop() -> None:
    s = stream(WordRules(word="哈哈"))
    s.feed(role() + says(reasoning="哈哈"), 1.0)
    assert "思考内容" in bodies(s.closing())[0]["choices"][0]["delta"]["content"]


def test_usage_that_is_known_goes_out_where_it_was_asked_for() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    piece = {"index": 0, "delta": {"content": "x"}, "finish_reason": None}
    for asked, known in itertools.product((True, False), (True, False)):
        s = stream(WordRules(), body={"stream_options": {"include_usage": asked}})
        s.feed(role() + (chunk(piece, usage=usage) if known else says("x")) + says("LOOP"), 1.0)
        sent = bodies(s.closing())
        assert any(body and body.get("usage") == usage and body["choices"] == [] for body in sent) is (asked and known)


def test_watch_mode_tells_and_touches_nothing() -> None:
    answer = role() + says("LOOP") + says("LOOP") + finish() + DONE
    s = stream(WordRules(), mode=Mode.WATCH)
    out = s.feed(answer, 1.0)
    assert raw(out) == answer
    assert [type(o) for o in out] == [Forward, Noted, Forward]
    assert s.finished


def test_off_mode_does_not_even_watch() -> None:
    rules = WordRules()
    answer = role() + says("LOOP") + finish() + DONE
    assert stream(rules, mode=Mode.OFF).feed(answer, 1.0) == [Forward(answer, True)]
    assert rules.watches == []


def test_a_note_is_told_only() -> None:
    answer = role() + says("LOOP") + finish() + DONE
    out = stream(WordRules(action=Action.NOTE)).feed(answer, 1.0)
    assert raw(out) == answer
    assert sum(isinstance(o, Noted) for o in out) == 1


# --- several choices -------------------------------------------------------------------------------------------------
def test_only_the_looping_choice_ends() -> None:
    s = stream(WordRules(), body={"n": 2})
    out = s.feed(role(0) + role(1) + says("a", 0) + says("LOOP", 1) + says("b", 0) + says("c", 1), 1.0)
    told = [o for o in out if isinstance(o, Noted)]
    assert [o.finding.choice for o in told] == [1]
    assert halted(out) is None
    sent = bodies(raw(out))
    by_choice = {i: [b["choices"][0] for b in sent if b["choices"][0]["index"] == i] for i in (0, 1)}
    assert [c["delta"].get("content") for c in by_choice[0]] == ["", "a", "b"]
    assert by_choice[1][-1]["finish_reason"] == "stop"
    said = [c["delta"].get("content") for c in by_choice[1]]
    assert said[0] == ""
    assert "c" not in said
    out = s.feed(finish("stop", 0), 2.0)
    assert isinstance(halted(out), Finding)
    assert s.closing() == DONE


def test_a_chunk_of_several_choices_loses_only_the_ended_one() -> None:
    s = stream(WordRules(), body={"n": 2})
    both = chunk(
        {"index": 0, "delta": {"content": "LOOP"}, "finish_reason": None},
        {"index": 1, "delta": {"content": "good"}, "finish_reason": None},
    )
    sent = bodies(raw(s.feed(role(0) + role(1) + both + both, 1.0)))
    contents = [(c["index"], c["delta"].get("content")) for b in sent for c in b["choices"]]
    assert (1, "good") in contents
    assert contents.count((1, "good")) == 2
    assert (0, "LOOP") not in contents


def test_when_the_last_open_choice_loops_everything_ends() -> None:
    s = stream(WordRules(), body={"n": 2})
    out = s.feed(role(0) + role(1) + says("a", 0) + finish("stop", 0) + says("LOOP", 1), 1.0)
    assert isinstance(halted(out), Finding)
    sent = bodies(s.closing())
    assert [c["index"] for body in sent if body for c in body["choices"]] == [1, 1]


def test_a_choice_that_finishes_before_the_next_begins_is_not_the_end() -> None:
    s = stream(body={"n": 2})
    s.feed(role(0) + says("a") + finish("stop", 0), 1.0)
    assert s.transcript.shown is Shown.TEXT
    answer = role(1) + says("b", 1) + finish("stop", 1)
    assert raw(s.feed(answer + DONE, 2.0)) == answer + DONE


# --- the states ------------------------------------------------------------------------------------------------------
ERROR = b'data: {"error": {"message": "broken", "code": 500}}\n\n'
SCRIPTS: dict[tuple[StreamState, StreamState], list[bytes]] = {
    (StreamState.JOINING, StreamState.PASSING): [says("quite new")],
    (StreamState.JOINING, StreamState.HOLDING): [tool(0, "", "f")],
    (StreamState.JOINING, StreamState.OVER): [ERROR],
    (StreamState.PASSING, StreamState.HOLDING): [says("a"), tool(0, "", "f")],
    (StreamState.PASSING, StreamState.WAITING): [says("a"), says("b? ")],
    (StreamState.PASSING, StreamState.OVER): [says("a"), says("LOOP")],
    (StreamState.HOLDING, StreamState.PASSING): [tool(0, "", "f"), tool(0, '{"a": 1}')],
    (StreamState.HOLDING, StreamState.OVER): [tool(0, "", "f"), ERROR],
    (StreamState.WAITING, StreamState.PASSING): [says("a? "), says("b. ")],
    (StreamState.WAITING, StreamState.HOLDING): [says("a? "), tool(0, "", "f")],
    (StreamState.WAITING, StreamState.OVER): [says("a? "), says("LOOP")],
}
"""For each move: the events that lead to it. The last one makes it."""


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [(*move, events) for move, events in SCRIPTS.items()],
    ids=lambda one: getattr(one, "name", ""),
)
def test_each_move_between_states_can_be_made(before: StreamState, after: StreamState, events: list[bytes]) -> None:
    s = stream(WordRules(doubts=True), transcript=Transcript(keep=True))
    if before is StreamState.JOINING:
        s.feed(role() + says("The words that the client has. "), 1.0)
        s = stream(WordRules(doubts=True), transcript=s.transcript, splice=s.splice())
    for event in [role(), *events[:-1]]:
        s.feed(event, 1.0)
    assert s.state is before
    s.feed(events[-1], 1.0)
    assert s.state is after


def test_the_table_of_moves_is_whole() -> None:
    assert {(before, after) for before, there in MOVES.items() for after in there} == SCRIPTS.keys()
    assert MOVES.keys() == set(StreamState)


# --- tool calls ------------------------------------------------------------------------------------------------------
CALL = [tool(0, "", "shell"), tool(0, '{"cmd": "ec'), tool(0, 'ho }"'), tool(0, "}")]


def test_a_call_is_held_until_it_is_whole_then_goes_out_unchanged() -> None:
    s = stream(WordRules())
    s.feed(role(), 1.0)
    for fragment in CALL[:-1]:
        assert s.feed(fragment, 2.0) == []
        assert s.state is StreamState.HOLDING
    assert s.last_data == 2.0
    assert s.feed(CALL[-1], 3.0) == [Forward(b"".join(CALL), True)]
    assert s.state is StreamState.PASSING
    assert s.transcript.shown is Shown.TOOL


def test_comments_pass_while_a_call_is_held() -> None:
    s = stream()
    s.feed(role() + CALL[0], 1.0)
    assert raw(s.feed(b": hb\n\n", 2.0)) == b": hb\n"
    assert s.heartbeat() == b": hb\n"


def test_the_finish_releases_what_is_held() -> None:
    answer = role() + tool(0, "{'a': 1}", "f") + finish("tool_calls") + DONE
    s = stream()
    assert raw(s.feed(answer, 1.0)) == answer
    assert s.finished


@pytest.mark.parametrize("arguments", ['{"a": ', '{"a": "x', '{"a": [1, {}'])
@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_a_call_that_breaks_off_under_a_normal_finish_is_a_failure_and_never_shown(arguments: str, reason: str) -> None:
    s = stream()
    out = s.feed(role() + says("I will") + tool(0, arguments, "f") + finish(reason) + DONE, 1.0)
    assert raw(out) == role() + says("I will")
    assert (halted(out).kind, halted(out).code) == (Kind.STREAM, "streamfuse_half_call")
    assert b"tool_calls" not in s.failing(halted(out))


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_call_that_a_limit_broke_off_is_dropped_and_the_reason_kept(reason: str) -> None:
    s = stream()
    sent = raw(s.feed(role() + says("I will") + tool(0, '{"b": "x', "g") + finish(reason) + DONE, 1.0))
    assert sent.startswith(role() + says("I will"))
    assert b'"g"' not in sent
    assert bodies(sent)[-2]["choices"][0]["finish_reason"] == reason
    assert sent.endswith(DONE)
    assert s.finished


def test_whole_calls_before_half_a_call_may_still_run() -> None:
    s = stream()
    sent = raw(s.feed(role() + tool(0, '{"a": 1}', "f") + tool(1, '{"b": "x', "g") + finish("length") + DONE, 1.0))
    assert sent.startswith(role() + tool(0, '{"a": 1}', "f"))
    assert b'"g"' not in sent
    assert bodies(sent)[-2]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(("reason", "fails"), [("stop", True), ("tool_calls", True), ("length", False)])
@pytest.mark.parametrize("path", ["/chat/completions", "/responses", "/messages"])
def test_half_a_call_is_never_shown_on_any_wire(path: str, reason: str, fails: bool) -> None:
    wire = wires.for_path(path)
    body = {"model": "m-1", "stream": True, "messages": [], "input": []}
    speaking = voice_for(path)
    assert speaking is not None
    voice = speaking(body, 1)
    said = voice.head() + voice.say("I will.") + voice.call("bash", '{"command": "rm -rf bu', new=True)
    s = Stream(wire, wire.ask(body))
    out = s.feed(said + voice.finish(reason), 1.0)
    sent = raw(out) + (s.failing(halted(out)) if fails else b"")
    assert (halted(out) is not None) is fails
    assert b"I will." in sent
    assert b"rm -rf" not in sent
    assert b"bash" not in sent
    assert s.finished


def test_where_only_half_a_call_came_a_word_says_so() -> None:
    s = stream()
    sent = raw(s.feed(role() + tool(0, '{"b": "x', "g") + finish("length") + DONE, 1.0))
    assert b"[streamfuse] The model's answer broke off" in sent


@pytest.mark.parametrize("arguments", ["{}", "", " ", "null"])
def test_a_call_without_arguments_waits_for_the_finish(arguments: str) -> None:
    s = stream()
    begun = role() + tool(0, arguments, "f")
    assert raw(s.feed(begun, 1.0)) == role()
    assert raw(s.feed(finish("tool_calls") + DONE, 2.0)) == tool(0, arguments, "f") + finish("tool_calls") + DONE


def test_an_end_mark_alone_ends_a_whole_call_with_tool_calls() -> None:
    s = stream()
    sent = bodies(raw(s.feed(role() + tool(0, "{}", "f") + DONE, 1.0)))
    assert sent[-2]["choices"][0]["finish_reason"] == "tool_calls"


def test_text_behind_a_held_call_keeps_its_place() -> None:
    answer = role() + says("a") + tool(0, '{"x"', "f") + says("b") + tool(0, ":1}") + says("c")
    s = stream()
    s.feed(answer, 1.0)
    assert raw(stream().feed(answer, 1.0)) == answer


def test_parallel_calls_go_out_together_when_interleaved() -> None:
    parts = [tool(0, '{"a"', "f"), tool(1, '{"b"', "g"), tool(0, ":1}"), tool(1, ":2}")]
    s = stream(WordRules())
    assert all(s.feed(part, 1.0) == [] for part in parts[:3])
    assert raw(s.feed(parts[3], 1.0)) == b"".join(parts)


def test_the_hold_of_one_choice_does_not_delay_another() -> None:
    s = stream(body={"n": 2})
    s.feed(role(0) + role(1), 1.0)
    assert raw(s.feed(tool(0, '{"a"', "f", choice=0) + says("x", 1), 1.0)) == says("x", 1)


def test_a_cut_inside_a_call_never_shows_it() -> None:
    call = b"".join(CALL[:-1])
    for at in range(len(call)):
        s = stream(WordRules())
        shown = raw(s.feed(role() + says("x"), 1.0) + s.feed(call[:at], 2.0))
        assert b"tool_calls" not in shown + s.closing()


def test_a_loop_in_the_arguments_drops_the_call_and_keeps_the_whole_ones() -> None:
    s = stream(WordRules())
    whole = tool(0, '{"a":1}', "f")
    out = s.feed(role() + whole + tool(1, '{"b": "', "g") + tool(1, "LOOP"), 1.0)
    assert raw(out) == role() + whole
    assert halted(out).channel is Channel.TOOL
    sent = bodies(s.closing())
    assert sent[0]["choices"][0]["finish_reason"] == "tool_calls"


IN_TURN = (tool(0, '{"a":', "f"), tool(1, '{"b": "', "g"), tool(0, "1}"), tool(1, "so "))


def test_of_calls_that_come_in_turn_the_whole_ones_go_out_with_the_ending() -> None:
    s = stream(WordRules())
    out = s.feed(role() + b"".join(IN_TURN) + tool(1, "LOOP"), 1.0)
    assert raw(out) == role()
    assert halted(out).channel is Channel.TOOL
    assert s.transcript.shown is Shown.NOTHING  # it may still be asked again
    end = s.closing(s.ending())
    assert end.startswith(IN_TURN[0] + IN_TURN[2])
    assert b"call_0_1" not in end
    assert bodies(end)[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert b"[streamfuse]" not in end


def test_where_the_first_of_two_calls_loops_none_is_left() -> None:
    """A client that counts calls would find a hole."""
    s = stream(WordRules())
    out = s.feed(role() + tool(0, '{"a": "', "f") + tool(1, '{"b":', "g") + tool(1, "1}") + tool(0, "LOOP"), 1.0)
    assert isinstance(halted(out), Finding)
    assert b"tool_calls" not in s.closing()


def test_on_responses_a_whole_call_in_turn_is_withheld_since_events_are_numbered() -> None:
    def item(n: int, **more: Any) -> dict[str, Any]:
        call = {"id": f"fc_{n}", "type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": ""}
        return {"output_index": n, "item": {**call, **more}}

    def delta(n: int, text: str) -> dict[str, Any]:
        return {"item_id": f"fc_{n}", "output_index": n, "delta": text}

    response = {"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": "m"}
    arguments = "response.function_call_arguments"
    sent = [
        ("response.created", {"response": {**response, "output": []}}),
        ("response.output_item.added", item(0)),
        ("response.output_item.added", item(1)),
        (f"{arguments}.delta", delta(0, '{"a":1}')),
        (f"{arguments}.delta", delta(1, '{"b": "so ')),
        (f"{arguments}.done", {"item_id": "fc_0", "output_index": 0, "arguments": '{"a":1}'}),
        ("response.output_item.done", item(0, arguments='{"a":1}', status="completed")),
        (f"{arguments}.delta", delta(1, "LOOP")),
    ]
    raws = (orjson.dumps({"type": kind, "sequence_number": n, **body}) for n, (kind, body) in enumerate(sent))
    events = [encode(raw, kind) for raw, (kind, _) in zip(raws, sent, strict=True)]
    wire = wires.get("openai_responses")
    s = Stream(wire, wire.ask({"model": "m", "stream": True, "input": "hi"}), WordRules())
    out = s.feed(b"".join(events), 1.0)
    assert isinstance(halted(out), Finding)
    answer = strict_responses(raw(out) + s.closing())
    assert (answer.end, answer.calls) == ("completed", [])


def test_a_whole_call_is_withheld_where_the_answer_fails() -> None:
    s = stream(WordRules())
    s.feed(role() + b"".join(IN_TURN), 1.0)
    assert b"tool_calls" not in s.failing(Failure(Phase.STREAM, Kind.STREAM, "gone"))


def test_a_call_that_ends_in_the_event_that_is_cut_is_shown_whole() -> None:
    both = says(
        tool_calls=[{"index": 0, "function": {"arguments": "1}"}}, {"index": 1, "function": {"arguments": "LOOP"}}]
    )
    s = stream(WordRules())
    out = s.feed(role() + IN_TURN[0] + IN_TURN[1] + both, 1.0)
    assert isinstance(halted(out), Finding)
    end = s.closing(s.ending())
    assert end.startswith(IN_TURN[0]) and b'"arguments":"1}"' in end and b"call_0_1" not in end and b"LOOP" not in end


def test_of_two_choices_the_cut_one_keeps_its_whole_call_and_the_other_goes_on() -> None:
    s = stream(WordRules(), body={"n": 2})
    out = s.feed(role(0) + role(1) + b"".join(IN_TURN) + tool(1, "LOOP") + says("y", 1), 1.0)
    sent = raw(out)
    assert IN_TURN[0] + IN_TURN[2] in sent
    assert b"call_0_1" not in sent
    assert sent.endswith(says("y", 1))
    assert [f["choices"][0]["finish_reason"] for f in bodies(sent) if f["choices"][0]["finish_reason"]] == [
        "tool_calls"
    ]


def test_rules_about_calls_hear_of_whole_calls_only_and_can_drop_one() -> None:
    rules = WordRules(channels=(), calls=True)
    s = stream(rules)
    out = s.feed(role() + tool(0, '{"a": 1}', "f") + tool(1, '{"b": "LO', "g") + tool(1, 'OP"}'), 1.0)
    assert rules.watches[0].calls == [(0, "f", '{"a": 1}'), (0, "g", '{"b": "LOOP"}')]
    assert raw(out) == role() + tool(0, '{"a": 1}', "f")
    assert isinstance(halted(out), Finding)


def test_a_call_that_outgrows_the_hold_is_released_and_can_only_end_in_an_error() -> None:
    s = stream(WordRules(), limits=Limits(hold=600))
    big = [tool(0, '{"a": "', "f"), tool(0, "x" * 200), tool(0, "y" * 200)]
    out = s.feed(role() + b"".join(big), 1.0)
    assert raw(out) == role() + b"".join(big)
    out = s.feed(tool(0, "LOOP"), 2.0)
    assert isinstance(halted(out), Finding)
    sent = bodies(s.closing())
    assert sent[0]["error"]["code"] == "streamfuse_loop"
    assert "choices" not in sent[0]
    assert sent[1]["choices"][0]["finish_reason"] == "error"


def test_a_released_call_that_becomes_whole_can_end_normally_again() -> None:
    s = stream(limits=Limits(hold=0))
    s.feed(role() + tool(0, '{"a": ', "f") + tool(0, "1}"), 1.0)
    assert bodies(s.closing())[0]["choices"][0]["finish_reason"] == "tool_calls"


def test_a_half_call_in_one_choice_ends_all_with_an_error() -> None:
    s = stream(WordRules(), limits=Limits(hold=0), body={"n": 2})
    out = s.feed(role(0) + role(1) + tool(0, '{"a": "', "f") + tool(0, "LOOP"), 1.0)
    assert isinstance(halted(out), Finding)
    assert b'"error"' in s.closing()


def test_a_loop_in_one_choice_drops_its_held_call_and_spares_the_sibling() -> None:
    s = stream(WordRules(), body={"n": 2})
    s.feed(role(0) + role(1) + tool(0, '{"a": "', "f") + tool(1, '{"b": ', "g", choice=1), 1.0)
    out = s.feed(tool(0, "LOOP") + tool(1, "1}", choice=1), 2.0)
    sent = raw(out)
    assert tool(1, '{"b": ', "g", choice=1) + tool(1, "1}", choice=1) in sent
    assert b"call_0_0" not in sent


def test_a_rule_about_calls_hears_of_a_call_that_only_the_end_mark_ends() -> None:
    s = stream(WordRules(word="{}", channels=(), calls=True))
    out = s.feed(role() + says("x") + tool(0, "{}", "f") + DONE, 1.0)
    assert isinstance(halted(out), Finding)
    assert raw(out) == role() + says("x")
    assert b"tool_calls" not in s.closing()


def test_half_a_call_in_one_choice_is_dropped_and_its_sibling_goes_on() -> None:
    s = stream(body={"n": 2})
    half = tool(0, '{"a": "', "f")
    out = s.feed(role(0) + role(1) + says("b", 1) + half + finish("length", 0) + says("c", 1), 1.0)
    assert halted(out) is None
    sent = raw(out + s.feed(finish("stop", 1) + DONE, 2.0))
    assert b"call_0_0" not in sent
    ends = {c["index"]: c["finish_reason"] for b in bodies(sent) if b for c in b["choices"] if c["finish_reason"]}
    assert ends == {0: "length", 1: "stop"}
    assert says("c", 1) in sent
    assert s.finished


def test_an_empty_fragment_behind_a_whole_call_changes_nothing() -> None:
    s = stream()
    call = tool(0, '{"a":1}', "f")
    s.feed(role() + call, 1.0)
    assert raw(s.feed(tool(0, ""), 2.0)) == tool(0, "")
    assert bodies(s.closing())[0]["choices"][0]["finish_reason"] == "tool_calls"


def test_arguments_that_go_on_behind_their_end_wait_again() -> None:
    s = stream()
    s.feed(role() + tool(0, '{"a":1}', "f"), 1.0)
    assert s.feed(tool(0, ' {"b":'), 2.0) == []
    rest = tool(0, "2}") + finish("tool_calls") + DONE
    assert raw(s.feed(rest, 3.0)) == tool(0, ' {"b":') + rest


def test_the_old_function_call_is_held_too() -> None:
    parts = [says(function_call={"name": "f", "arguments": ""}), says(function_call={"arguments": '{"a":'})]
    s = stream()
    assert all(s.feed(part, 1.0) == [] for part in parts)
    last = says(function_call={"arguments": "1}"})
    assert raw(s.feed(last, 2.0)) == b"".join(parts) + last
    assert bodies(s.closing())[0]["choices"][0]["finish_reason"] == "function_call"


# --- going on after a break ------------------------------------------------------------------------------------------
def test_a_second_upstream_continues_under_the_first_ones_name() -> None:
    transcript = Transcript(keep=True)
    first = stream(transcript=transcript)
    first.feed(role() + says("Hello wo"), 1.0)
    assert isinstance(halted(first.eof(2.0)), Failure)
    second = stream(transcript=transcript)
    other = {"id": "chatcmpl-2", "created": 9, "model": "m-2", "system_fingerprint": "fp"}
    begin = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    piece = {"index": 0, "delta": {"content": "rld"}, "finish_reason": None}
    out = second.feed(chunk(begin, **other) + chunk(piece, **other) + finish() + DONE, 3.0)
    sent = bodies(raw(out))
    assert [body["choices"][0]["delta"] for body in sent[:-1]] == [{"content": "rld"}, {}]
    assert {(body["id"], body["created"], body["model"]) for body in sent[:-1]} == {("chatcmpl-1", 1700000000, "m-1")}
    assert "system_fingerprint" not in sent[0]
    assert transcript.shapes[(0, "text")].text == "Hello world"
    assert second.finished


def test_real_rules_fit_the_face() -> None:
    assert (
        raw(stream(RuleSet()).feed(role() + says("x") + finish() + DONE, 1.0)) == role() + says("x") + finish() + DONE
    )


def test_one_cut_is_one_finding() -> None:
    """A read may bring so much that several rules are convinced at once."""
    text = "Let me check the file once more to be sure. " * 400
    stream = Stream(wires.get("openai_chat"), wires.get("openai_chat").ask({"stream": True}), assemble(["default"]))
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    event = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    outs = stream.feed(b"data: " + orjson.dumps(event) + b"\n\n", 0.0)
    while stream.busy:
        outs += stream.more(0.0)
    assert len([out for out in outs if isinstance(out, Halt)]) == 1
    assert not [out for out in outs if isinstance(out, Noted)]


# --- the usual read --------------------------------------------------------------------------------------------------
usual = st.one_of(
    st.builds(says, st.sampled_from(["a", " word", "line\n", 'he said "no"', "LOOP", "日本", "\u2028", "", "x" * 600])),
    st.builds(lambda text: says(reasoning_content=text), st.sampled_from(["hm", "LOOP", "\n"])),
    st.builds(
        lambda text, pad: chunk({"index": 0, "delta": {"content": text}, "finish_reason": None}, obfuscation=pad),
        st.sampled_from(["a", " word", "LOOP", "\t"]),
        st.sampled_from(["", "abc", 'a"b']),
    ),
    st.builds(says, st.just("b"), st.just(1)),
    st.builds(tool, st.just(0), st.sampled_from(['{"a":', "1}", "{}"]), st.just("f")),
    st.sampled_from(
        [
            role(),
            finish(),
            DONE,
            b": ping\n",
            b": ping\n\n",
            b"\n",
            b"data: [\n\n",
            b'data: {"error": {"message": "no"}}\n\n',
            says("a").replace(b"\n\n", b"\r\n\r\n"),
            says("a").replace(b"\n\n", b"\r\r"),
            b"event: message\n" + says("a"),
            says("@").replace(b"@", b"\xff"),
            says("half").rstrip(b"\n"),
            says("a")[:30],
            says("a")[30:],
        ]
    ),
)


@pytest.mark.parametrize("choices", [1, 2])
@settings(max_examples=400, deadline=None)
@given(chunks=st.lists(usual, max_size=14), act=st.sampled_from([Action.CUT, Action.NOTE]))
def test_an_event_that_is_read_quickly_is_read_as_any_other(choices: int, chunks: list[bytes], act: Action) -> None:
    """Each chunk alone, with and without the short way."""
    quick, slow = (stream(WordRules(action=act), body={"n": choices}) for _ in range(2))
    for at, one in enumerate([role(), says("a"), says("b"), *chunks]):
        slow._quick = None
        before = quick.state
        assert quick.feed(one, float(at)) == slow.feed(one, float(at))
        while quick.busy:
            slow._quick = None
            assert quick.more(float(at)) == slow.more(float(at))
        assert not slow.busy
        assert quick.state is slow.state and (quick.state is before or quick.state in MOVES[before])
        assert (quick.last_data, quick.events, quick.malformed) == (
            slow.last_data,
            slow.events,
            slow.malformed,
        )
    assert repr(quick.transcript) == repr(slow.transcript)
    assert quick.eof(99.0) == slow.eof(99.0)
    assert quick.closing() == slow.closing()


def through(s: Stream, reads: list[bytes]) -> tuple[bytes, list[Output]]:
    """All bytes that passed, and what else came out."""
    outs: list[Output] = []
    for one in reads:
        outs += s.feed(one, 1.0)
        while s.busy:
            outs += s.more(1.0)
    outs += s.eof(2.0)
    while s.busy:
        outs += s.more(2.0)
    return raw(outs), [out for out in outs if not isinstance(out, Forward)]


@pytest.mark.parametrize("choices", [1, 2])
@settings(max_examples=300, deadline=None)
@given(
    chunks=st.lists(usual, max_size=20),
    act=st.sampled_from([Action.CUT, Action.NOTE]),
    together=st.integers(1, 20),
    turn=st.sampled_from([20, 512]),
)
def test_many_events_of_one_read_are_read_quickly_too(
    choices: int, chunks: list[bytes], act: Action, together: int, turn: int
) -> None:
    chunks = [role(), says("a"), says("b"), *chunks]
    quick, slow = (stream(WordRules(action=act), body={"n": choices}) for _ in range(2))
    with patch.object(Reader, "quick", lambda self: None):
        expected = through(slow, chunks)
    with patch.object(rules.during.reader, "TURN", turn):
        got = through(quick, [b"".join(chunks[at : at + together]) for at in range(0, len(chunks), together)])
    assert got == expected
    assert repr(quick.transcript) == repr(slow.transcript)
    assert (quick.events, quick.malformed) == (slow.events, slow.malformed)
    assert quick.closing() == slow.closing()


def test_nothing_passes_after_an_ending_of_ours() -> None:
    for end in ("closing", "failing"):
        s = stream()
        for text in ("a", "b", "c"):
            assert raw(s.feed(says(text), 1.0))
        assert s.closing() if end == "closing" else s.failing(Failure(Phase.STREAM, Kind.STREAM, "gone"))
        assert s.feed(says("d"), 2.0) == []


def numbered(number: int, text: str) -> bytes:
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    kind = "response.output_text.delta"
    return encode(orjson.dumps({"type": kind, "sequence_number": number, **at, "delta": text, "logprobs": []}), kind)


@pytest.mark.parametrize("action", [Action.CUT, Action.NOTE])
def test_an_ending_goes_on_from_the_last_number_that_went_out(action: Action) -> None:
    wire = wires.get("openai_responses")
    tails = []
    for quickly in (True, False):
        s = Stream(wire, wire.ask({"model": "m", "stream": True, "input": "hi"}), WordRules(action=action))
        created = {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "output": []}}
        s.feed(encode(orjson.dumps(created), "response.created"), 1.0)
        for number, text in enumerate(["a", "b", "c", "LOOP"], start=1):
            if not quickly:
                s._quick = None
            s.feed(numbered(number, text), 1.0)
        tails.append(s.closing())
    assert tails[0] == tails[1]
    first = Decoder().feed(tails[0])[0].json["sequence_number"]
    assert first == (4 if action is Action.CUT else 5)


@pytest.mark.parametrize(("choices", "halts"), [(1, True), (2, False)])
def test_only_the_one_choice_of_an_answer_can_be_continued_at_its_length_limit(choices: int, halts: bool) -> None:
    s = stream(body={"n": choices}, stops_at_length=True)
    out = s.feed(b"".join(role(n) + says("a", n) for n in range(choices)), 1.0)
    out += s.feed(b"".join(finish("length", n) for n in range(choices)) + DONE, 2.0)
    assert (isinstance(out[-1], Halt) and out[-1].cause is TRUNCATED) is halts


class LateWatch(WordWatch):
    """Looks at text only when it is drained, as the real watch does with text of less than a stride."""

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        self.text[choice, channel, key] = self.text.get((choice, channel, key), "") + text
        return ()

    def drain(self) -> Sequence[Finding]:
        return [hit for (choice, channel, _), text in self.text.items() for hit in self._found(choice, channel, text)]


class LateRules(WordRules):
    """Rules of a LateWatch."""

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> WordWatch:
        return LateWatch(self, mode)


@pytest.mark.parametrize("end", [finish(), tool(0, "{}", "ls"), DONE], ids=["finish", "call", "end mark"])
def test_text_that_was_not_looked_at_is_looked_at_before_the_block_closes(end: bytes) -> None:
    s = stream(LateRules())
    assert raw(s.feed(role() + says("a LOOP"), 1.0)) == role() + says("a LOOP")
    out = s.feed(end, 2.0)
    assert raw(out) == b"" and isinstance(halted(out), Finding)


USAGE = {"prompt_tokens": 7, "completion_tokens": 5}


class TirelessWatch(WordWatch):
    """Fires at every text that holds the word."""

    def _found(self, choice: int, channel: Channel, heard: str) -> Sequence[Finding]:
        self.fired.clear()
        return super()._found(choice, channel, heard)


class TirelessLateWatch(TirelessWatch, LateWatch):
    """The same, but it looks only when it is drained."""


@pytest.mark.parametrize(
    ("kind", "before", "event"),
    [
        (TirelessWatch, [], says("LOOP", reasoning_content="LOOP")),
        (
            TirelessLateWatch,
            [says("a LOOP")],
            chunk({"index": 0, "delta": {}, "finish_reason": "stop"}, usage={"x": 1}),
        ),
    ],
)
def test_nothing_of_an_event_is_judged_behind_the_finding_that_halts(
    kind: type[WordWatch], before: list[bytes], event: bytes
) -> None:
    class Rules(WordRules):
        def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> WordWatch:
            return kind(self, mode)

    s = stream(Rules())
    for one in [role(), *before]:
        s.feed(one, 1.0)
    assert [type(one) for one in s.feed(event, 2.0)] == [Halt]


@pytest.mark.parametrize("path", ["/responses", "/messages"])
def test_the_usage_beside_a_finish_holds_though_its_call_is_dropped(path: str) -> None:
    wire = wires.for_path(path)
    body = {"model": "m-1", "stream": True, "messages": [], "input": []}
    speaking = voice_for(path)
    assert speaking is not None
    voice = speaking(body, 1)
    s = Stream(wire, wire.ask(body))
    s.feed(voice.head() + voice.say("I will.") + voice.call("f", '{"a": "x', new=True) + voice.finish("length"), 1.0)
    assert s.finished and s.transcript.usage is not None and s.transcript.usage["output_tokens"] == 2


def test_of_server_cuts_only_so_many_are_kept() -> None:
    """A server may end one choice again and again while another goes on."""
    s = stream(body={"n": 2})
    s.feed(role() + role(1) + says("a") + finish("repetition") * (MOST_CUTS + 5), 1.0)
    while s.busy:
        s.more(1.0)
    assert len(s.server_cuts) == MOST_CUTS
