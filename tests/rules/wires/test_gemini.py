"""Gemini: requests, parts, finishes that come too early, whole answers, ends in both framings, and second requests."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest

from rules.detect.packs import assemble
from rules.during.output import Forward, Halt
from rules.during.stream import Stream
from rules.during.whole_body.whole_json import watch_whole
from rules.framing.framing import JSON_ARRAY, SSE_AS_SENT
from rules.framing.json_array import CLOSED
from rules.framing.sse import Event, encode
from rules.values.delta import Channel, Close, Done, Fault, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Shown, Transcript
from rules.values.verdict import Finding
from rules.wires.base import Change, Ending
from rules.wires.gemini import WIRE
from rules.wires.gemini.request import least_thinking
from tests.readers.gemini import read

from .play import STREAMS, Play, decoded

SSE = "/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
ARRAY = "/models/gemini-2.5-flash:streamGenerateContent"
USER = {"role": "user", "parts": [{"text": "Tea?"}]}


def response(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> Event:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return event({"candidates": [candidate], "responseId": "r1", **more})


def event(body: Any) -> Event:
    data = orjson.dumps(body)
    return Event(encode(data), "", data)


def played(*events: Event, call: str = SSE, **body: Any) -> Play:
    play = Play(WIRE, WIRE.ask({"contents": [USER], **body}, call))
    for one in events:
        play.feed(one)
    return play


def test_the_path_says_model_method_and_framing() -> None:
    asked = WIRE.ask({"contents": [USER], "tools": [{}]}, SSE)
    assert (asked.model, asked.streaming, asked.has_tools) == ("gemini-2.5-flash", True, True)
    assert WIRE.framing(asked) is SSE_AS_SENT and WIRE.framing(WIRE.ask({}, ARRAY + "?alt=json")) is JSON_ARRAY
    whole = WIRE.ask({}, "/projects/p/locations/l/publishers/google/models/m:generateContent")
    assert (whole.model, whole.streaming, WIRE.framing(whole)) == ("m", False, SSE_AS_SENT)


@pytest.mark.parametrize(
    ("query", "array"), [("", True), ("?alt=sse", False), ("?$alt=sse", False), ("?%24alt=sse&key=k", False)]
)
def test_both_spellings_of_alt_name_the_framing(query: str, array: bool) -> None:
    assert (WIRE.framing(WIRE.ask({}, ARRAY + query)) is JSON_ARRAY) is array


@pytest.mark.parametrize(
    ("query", "start", "array"),
    [
        ("?alt=sse&key=k", b'\r\n[{"candidates"', True),
        ("?%24alt=sse", b"[", True),
        ("?key=k", b"data: {", False),
        ("?key=k", b":", False),
        ("?alt=json", b"d", False),
        ("?alt=sse", b"data: {", False),
        ("", b"[", True),
        ("", b'{"error"', True),
        ("?alt=sse", b'{"error"', False),
        ("?alt=sse", b"<html>", False),
        ("", b"\xef\xbb\xbf", True),
    ],
)
def test_a_stream_in_the_other_framing_is_read_as_it_comes(query: str, start: bytes, array: bool) -> None:
    asked = WIRE.as_framed(WIRE.ask({}, ARRAY + query), start)
    assert (WIRE.framing(asked) is JSON_ARRAY) is array and asked.model == "gemini-2.5-flash"


@pytest.mark.parametrize(
    ("path", "matches", "claims"),
    [
        ("/models/gemini-2.5-flash:generateContent", True, True),
        ("/models/gemini-2.5-flash:streamGenerateContent", True, True),
        ("/tunedModels/x:streamGenerateContent", True, True),
        ("/projects/p/locations/l/publishers/google/models/m:streamGenerateContent", True, True),
        ("/projects/p/locations/l/endpoints/123:generateContent", True, True),
        ("/models/gemini-2.5-flash:countTokens", False, True),
        ("/models/gemini-2.5-flash", False, False),
        ("/models/gpt-4", False, False),
        ("/v1internal:streamGenerateContent", False, False),
    ],
)
def test_paths(path: str, matches: bool, claims: bool) -> None:
    assert (WIRE.matches(path), WIRE.claims(path)) == (matches, claims)


@pytest.mark.parametrize("snake", [False, True])
def test_members_in_camel_and_in_snake_case(snake: bool) -> None:
    config = {"candidateCount": 2, "responseMimeType": "application/json"}
    body: dict[str, Any] = {"generationConfig": config, "systemInstruction": {"parts": [{"text": "Be brief."}]}}
    if snake:
        config = {"candidate_count": 2, "response_mime_type": "application/json"}
        body = {"generation_config": config, "system_instruction": {"parts": [{"text": "Be brief."}]}}
    result = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "out"}}}]}
    asked = WIRE.ask({**body, "contents": [USER, {"role": "model", "parts": [{"text": "no"}]}, result]}, SSE)
    assert (asked.choices, asked.wants_json) == (2, True)
    assert asked.brief.prompt.startswith("Be brief.\nTea?\n") and "out" in asked.brief.prompt
    assert "Tea?" in asked.brief.asked and "out" not in asked.brief.asked and "no" not in asked.brief.prompt


def test_every_kind_of_part() -> None:
    play = played(
        response({"text": "hm", "thought": True}, {"text": "Yes."}, {"executableCode": {"code": "1"}}),
        response({"inlineData": {"data": "aGk="}}, {"new": 1}, {"text": "", "thoughtSignature": "c2ln"}),
        response({"functionCall": {"name": "f", "args": {"a": 1}, "id": "c1"}, "thoughtSignature": "c2ln"}),
    )
    assert play.read == [
        Head({"responseId": "r1"}),
        Piece((0, "thought"), Channel.REASONING, "hm"),
        Piece((0, "text"), Channel.TEXT, "Yes."),
        Open((0, "code:0"), Channel.TOOL, "executableCode"),
        Piece((0, "code:0"), Channel.TOOL, '{"code":"1"}'),
        Close((0, "code:0")),
        Unknown("inlineData"),
        Unknown("part"),
        Piece((0, "text"), Channel.TEXT, ""),
        Open((0, "call:0"), Channel.TOOL, "f", {"id": "c1"}),
        Piece((0, "call:0"), Channel.TOOL, '{"a":1}'),
        Close((0, "call:0")),
    ]


def streamed(**call: Any) -> Event:
    return response({"functionCall": call})


def test_a_call_that_comes_in_pieces_is_open_until_its_end() -> None:
    first = streamed(name="note", willContinue=True)
    second = streamed(
        partialArgs=[{"jsonPath": "$.t", "stringValue": 'a "b" {', "willContinue": True}], willContinue=True
    )
    play = played(first, second)
    assert play.raw == b"" and [shape.open for shape in play.transcript.shapes.values()] == []
    play.feed(streamed())
    assert play.raw == first.raw + second.raw + streamed().raw
    text = "".join(delta.text for delta in play.read if type(delta) is Piece)
    assert json.loads(text) == {"streamed": 'a "b" {'}


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": {}},
        {"candidates": [5]},
        {"candidates": [{"index": "x"}]},
        {"candidates": [{"content": []}]},
        {"candidates": [{"content": {"parts": {}}}]},
        {"candidates": [{"content": {"parts": [5]}}]},
        {"candidates": [{"content": {"parts": [{"text": 5}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": 5}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"args": "x"}}]}}]},
        {"candidates": [{"finishReason": 5}]},
    ],
)
def test_a_value_of_another_type_is_damage(body: dict[str, Any]) -> None:
    (found,) = played(event(body)).read
    assert type(found) is Malformed and found.torn


def test_objects_without_content_are_no_damage() -> None:
    assert played(event({"modelVersion": "m"})).read == [Head({"modelVersion": "m"})]
    assert played(event({"usageMetadata": {"promptTokenCount": 1}})).read == [Usage({"promptTokenCount": 1})]
    (found,) = played(event({})).read
    assert type(found) is Malformed and not found.torn


def test_an_event_with_nothing_but_new_members_is_passed_on() -> None:
    new = event({"hello": 1})
    found = played(new)
    assert found.read == [Unknown("event")] and b"".join(found.out) == new.raw


def test_errors_in_their_shapes() -> None:
    error = {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}
    for body in ({"error": error}, [{"error": error}]):
        (fault,) = played(event(body)).read
        assert type(fault) is Fault and (fault.code, fault.message) == (429, "Slow down.")
    (fault,) = played(event({"error": {"status": "UNAVAILABLE"}})).read
    assert type(fault) is Fault and (fault.code, fault.message) == ("UNAVAILABLE", "UNAVAILABLE")


def test_a_refused_prompt_is_an_answer() -> None:
    play = played(event({"promptFeedback": {"blockReason": "SAFETY"}}))
    assert play.read == [Finish(0, "SAFETY")] and play.transcript.shown is Shown.FINISHED


def test_a_finish_before_any_content_counts_only_at_the_end() -> None:
    play = played(response(finish="STOP"))
    assert not play.transcript.finished
    play.feed(response({"text": "Yes."}))
    play.feed(response({"text": ""}, finish="STOP"))
    assert not play.transcript.finished  # one was none: only the end of the body says which is the last
    play.end()
    assert play.transcript.finished == {0: "STOP"}
    empty = played(response(finish="STOP"))
    empty.end()
    assert empty.transcript.shown is Shown.FINISHED


def test_an_answer_goes_on_behind_a_finish() -> None:
    play = played(response({"text": "Yes"}, finish="STOP"))
    assert play.transcript.shown is Shown.FINISHED
    play.feed(response({"text": ", now."}, finish="STOP"))
    assert play.transcript.shown is Shown.TEXT and not play.transcript.finished
    assert read(play.raw + play.codec.close(play.transcript, Ending())).text == "Yes, now."


def test_a_cut_tells_the_newest_counts_in_both_framings() -> None:
    for call, suffix in ((SSE, ".sse"), (ARRAY, ".json")):
        ask = WIRE.ask({}, call)
        play = Play(WIRE, ask)
        name = "text" if suffix == ".sse" else "array_text"
        for one in decoded((STREAMS / f"gemini/{name}{suffix}").read_bytes(), WIRE.framing(ask))[:3]:
            play.feed(one)
        answer = read(play.raw + play.codec.close(play.transcript, Ending("Cut.", {"rule": "exact"})))
        assert answer.text == "Put the kettle on, wait\n\nCut." and answer.end == "0:STOP"
        assert answer.usage is not None and answer.usage["candidatesTokenCount"] == 6
        assert answer.marker == {"rule": "exact"}


def test_a_bracket_without_a_finish_ends_no_answer() -> None:
    """It would be a hole: something cut the answer off and closed the array."""
    closed = Event(b"\n]", "", CLOSED)
    play = played(response({"text": "Put the "}), closed, call=ARRAY)
    assert not any(isinstance(delta, Done) for delta in play.read) and play.out[-1] != closed.raw
    play = played(response({"text": "Tea."}, finish="STOP"), closed, call=ARRAY)
    assert isinstance(play.read[-1], Done) and play.out[-1] == closed.raw


def test_an_empty_array_is_ended_as_an_array() -> None:
    for end in (lambda p: p.codec.close(p.transcript, Ending("Cut.")), lambda p: p.codec.fail(p.transcript, DIED)):
        raw = end(played(call=ARRAY))
        assert raw.startswith(b"[") and len(json.loads(raw)) == 1


DIED = Failure(Phase.STREAM, Kind.NETWORK, "The upstream went away.")


def test_an_error_ends_with_the_bare_object_that_older_sdks_look_for() -> None:
    raw = played().codec.fail(played().transcript, DIED)
    told, _, bare = raw.partition(b"\n\n")
    assert json.loads(told.removeprefix(b"data: ")) == json.loads(bare)
    error = json.loads(bare)["error"]
    assert (error["code"], error["status"]) == (502, "UNAVAILABLE")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (Kind.STALL, None),
        (Kind.STREAM, "streamfuse_truncated"),
        (Kind.STREAM, "streamfuse_empty_stream"),
        (Kind.STREAM, "streamfuse_not_an_answer"),
    ],
)
def test_a_client_that_would_ask_again_by_itself_is_not_kept_from_it(kind: Kind, code: str | None) -> None:
    """Gemini CLI takes the event for an end without a finish and asks again; the bare error ends its run."""
    asked = WIRE.ask({"contents": [USER]}, SSE)
    broke = Failure(Phase.STREAM, kind, "It broke.", code=code)
    for again, bare in ((True, False), (False, True)):
        raw = WIRE.codec(replace(asked, asks_again=again)).fail(Transcript(), broke)
        assert raw.startswith(b"data: ") and raw.endswith(b"\n\n") is not bare
    reset = Failure(Phase.STREAM, Kind.NETWORK, "It broke.")
    assert not WIRE.codec(replace(asked, asks_again=True)).fail(Transcript(), reset).endswith(b"\n")


def test_the_upstreams_own_error_is_told_with_its_details() -> None:
    given = {"code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "26s"}]}
    failure = Failure(Phase.STREAM, Kind.RATE_LIMIT, "Quota.", status=429, body=orjson.dumps({"error": given}))
    play = played()
    assert json.loads(play.codec.fail(play.transcript, failure).rpartition(b"\n\n")[2])["error"] == given


def test_events_that_differ_in_text_and_counts_are_read_without_a_parser() -> None:
    ask = WIRE.ask({}, SSE)
    codec = WIRE.codec(ask)
    codec.bind(Transcript())
    events = decoded((STREAMS / "gemini/text.sse").read_bytes(), WIRE.framing(ask))
    codec.read(events[0])
    codec.read(events[1])
    assert codec.quick is not None
    assert codec.quick(events[2].raw) == Piece((0, "text"), Channel.TEXT, " on, wait")


def test_a_trimmed_thought_loses_its_signature_and_no_other_part_does() -> None:
    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}
    parts = [{"text": "hmhmhm", "thought": True, "thoughtSignature": "a"}, {"text": "Yes."}, call, call]
    body = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    cut = WIRE.trim(body, {(0, "thought"): 2, (0, "call:1"): 0}, Ending("Cut."))
    assert cut["candidates"][0]["content"]["parts"] == [
        {"text": "hm", "thought": True}, {"text": "Yes."}, call, {"text": "\n\nCut."},
    ]  # fmt: skip


def test_a_reminder_never_stands_between_a_call_and_its_result() -> None:
    told = WIRE.advise({"contents": [USER]}, "Stop.")["contents"]
    assert told == [{"role": "user", "parts": [{"text": "Tea?"}, {"text": "Stop."}]}]
    result = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}
    told = WIRE.advise({"contents": [USER, result]}, "Stop.")["contents"]
    assert told == [USER, result, {"role": "user", "parts": [{"text": "Stop."}]}]
    assert WIRE.advise({"contents": []}, "Stop.") == {"contents": []}


def test_an_answer_goes_on_as_a_trailing_model_turn() -> None:
    play = played(response({"text": "Put the "}), generationConfig={"maxOutputTokens": 50})
    body = WIRE.resume(play.ask, play.transcript, "prefill")
    assert body is not None and body["contents"] == [USER, {"role": "model", "parts": [{"text": "Put the"}]}]
    assert body["generationConfig"] == {"maxOutputTokens": 50}
    assert WIRE.resume(play.ask, play.transcript, "none") is None
    called = played(response({"functionCall": {"name": "f"}}))
    assert WIRE.resume(called.ask, called.transcript, "prefill") is None


def healed(change: Change, model: str = "gemini-2.5-flash", **config: Any) -> Any:
    ask = WIRE.ask({"contents": [USER], "generationConfig": config}, f"/models/{model}:streamGenerateContent?alt=sse")
    return WIRE.heal(ask, change)


def test_thinking_ends_by_level_or_by_budget_and_never_by_both() -> None:
    assert least_thinking("gemini-3-pro-preview") == {"thinkingLevel": "low"}
    assert least_thinking("gemini-3-flash") == {"thinkingLevel": "minimal"}
    assert least_thinking("gemini-2.5-pro") == {"thinkingBudget": 128}
    body, changed = healed(
        Change(thinking="level"), "gemini-3-pro", thinkingConfig={"thinkingBudget": 9, "includeThoughts": True}
    )
    assert body["generationConfig"]["thinkingConfig"] == {"includeThoughts": True, "thinkingLevel": "low"}
    assert changed == ["thinkingConfig"]


def test_a_loop_is_healed_by_warmer_sampling_behind_what_was_good() -> None:
    body, changed = healed(Change(kept="Put the", style="prefill", hottest=1.0), temperature=0, seed=3, topK=1)
    assert body["contents"] == [USER, {"role": "model", "parts": [{"text": "Put the"}]}]
    assert body["generationConfig"] == {"temperature": 1.0} and sorted(changed) == ["seed", "temperature", "topK"]
    body, _ = healed(Change(kept="Put", note="Do not repeat."))
    assert [turn["parts"][0]["text"] for turn in body["contents"]] == ["Tea?", "Put", "Do not repeat."]
    assert healed(Change(spent=100), maxOutputTokens=120) is None
    assert healed(Change(), responseMimeType="application/json") is None
    assert healed(Change(), candidateCount=2) is None


def test_a_healed_whole_answer_tells_the_tokens_of_both() -> None:
    first = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}}
    second = {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4, "totalTokenCount": 13}}
    told = WIRE.healed(first, second, {"action": "heal"})["usageMetadata"]
    assert told == {"promptTokenCount": 3, "candidatesTokenCount": 9, "thoughtsTokenCount": 2, "totalTokenCount": 14}


@pytest.mark.parametrize("given", [None, {}, {"code": 1}, "print(1)"])
def test_a_program_without_its_code_passes_unread(given: Any) -> None:
    assert played(response({"executableCode": given})).read[1:] == [Unknown("executableCode")]


PROGRAM = {"executableCode": {"language": "PYTHON", "code": "total = total + price(row)\n" * 200}}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "10\n" * 400}}


def test_a_program_that_repeats_itself_is_cut_and_what_it_prints_may_repeat() -> None:
    stream = Stream(WIRE, WIRE.ask({"contents": [USER]}, SSE), assemble(["default"]))
    passed = response({"text": "So."}, RESULT)
    out = stream.feed(passed.raw, 1.0) + stream.feed(response({"text": " Now."}, PROGRAM, RESULT).raw, 2.0)
    while stream.busy:
        out += stream.more(2.0)
    halt = out[-1]
    assert isinstance(halt, Halt) and isinstance(halt.cause, Finding) and halt.cause.channel is Channel.TOOL
    sent = b"".join(one.raw for one in out if isinstance(one, Forward)) + stream.closing(stream.ending())
    assert sent.startswith(passed.raw) and b" Now." in sent and b"price(row)" not in sent
    assert read(sent).end == "0:STOP"


def test_the_same_program_again_and_again_is_cut() -> None:
    again = {"executableCode": {"language": "PYTHON", "code": "print(open('log.txt').read())"}}
    stream = Stream(WIRE, WIRE.ask({"contents": [USER]}, SSE), assemble(["default"]))
    outs = [out for _ in range(40) for out in stream.feed(response(again, RESULT).raw, 1.0)]
    assert any(isinstance(out, Halt) for out in outs)


def test_a_whole_answer_loses_the_looping_program_and_what_it_printed() -> None:
    body = {"candidates": [{"content": {"parts": [{"text": "So."}, PROGRAM, RESULT]}, "finishReason": "STOP"}]}
    seen = watch_whole(WIRE, WIRE.ask({"contents": [USER]}, ""), assemble(["default"]), body)
    assert seen.cut is not None
    assert seen.body["candidates"][0]["content"]["parts"] == [{"text": "So."}]


@pytest.mark.parametrize("call", [SSE, ARRAY])
def test_a_later_answer_has_one_finish_though_it_says_stop_in_every_event(call: str) -> None:
    asked = WIRE.ask({"contents": [USER]}, call)
    first = Stream(WIRE, asked)
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
    ends = (("One", None), (" two", "STOP"), (" three.", "STOP"), ("", "STOP"))
    said = [response({"text": text}, finish=finish, usageMetadata=usage).data or b"" for text, finish in ends]
    array = call == ARRAY
    sent = first.feed(b"[" + said[0] if array else encode(said[0]), 1.0)
    second = Stream(WIRE, asked, transcript=first.transcript)
    rest = b"[" + b",".join(said[1:]) + b"]" if array else b"".join(map(encode, said[1:]))
    sent += second.feed(rest, 2.0) + second.eof(3.0)
    raw = b"".join(one.raw for one in sent if isinstance(one, Forward))
    answer = read(raw)
    assert second.finished and (answer.texts, answer.end) == ({0: "One two three."}, "0:STOP")
    assert raw.count(b"finishReason") == 1
    assert answer.usage == {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}, "of both"
