from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rules.framing.sse import Event
from rules.values.delta import Fault, Finish, Malformed, Piece, Unknown
from rules.values.failures import Failure, Kind, Phase
from rules.values.notices import marked
from rules.values.transcript import Shown, Transcript
from rules.wires.base import Ending
from rules.wires.openai_responses import WIRE
from tests.readers.openai_responses import read

from .play import STREAMS, Play, decoded, prefixes, recorded

GOLDEN = recorded("openai_responses")


def lean(path: Path) -> bool:
    return path.stem.startswith("llama")


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_streams_are_legal_and_pass_unchanged(path: Path) -> None:
    raw = path.read_bytes()
    play = Play(WIRE)
    for event in decoded(raw):
        play.feed(event)
    assert play.raw == raw
    read(raw, lean=lean(path))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
@pytest.mark.parametrize("notice", [None, "The rest was cut."])
def test_a_cut_after_every_event_is_legal(path: Path, notice: str | None) -> None:
    for play in prefixes(WIRE, path.read_bytes()):
        shown = read(play.raw, lean=lean(path), unended=True)
        tail = play.codec.close(play.transcript, Ending(notice, {"rule": "loop"}))
        answer = read(play.raw + tail, lean=lean(path))
        if shown.end:
            assert tail == b""
        else:
            assert answer.end == "completed"
            assert answer.marker == {"rule": "loop"}
            assert all(answer.texts[index].startswith(text) for index, text in shown.texts.items())
            assert (notice or "") in answer.text


def golden(name: str) -> list[Event]:
    return decoded((STREAMS / WIRE.name / f"{name}.sse").read_bytes())


def played(name: str, count: int) -> Play:
    play = Play(WIRE)
    for event in golden(name)[:count]:
        play.feed(event)
    return play


def cut(play: Play, **ending: Any) -> dict[str, Any]:
    """The terminal event's response after a cut."""
    tail = play.codec.close(play.transcript, Ending(**ending))
    response: dict[str, Any] = json.loads(decoded(tail)[-1].data or b"")["response"]
    return response


def test_a_cut_text_comes_whole_in_its_done_events() -> None:
    """Codex takes the text from output_item.done, not from the deltas."""
    play = played("text", 6)
    tail = decoded(play.codec.close(play.transcript, Ending()))
    assert [event.name for event in tail] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.json["sequence_number"] for event in tail] == [6, 7, 8, 9]
    assert tail[2].json["item"]["content"][0]["text"] == "Put the kettle on, "
    assert tail[3].json["response"]["output"] == [tail[2].json["item"]]


def test_a_cut_keeps_the_annotations_shown() -> None:
    play = played("text", 10)
    assert cut(play)["output"][0]["content"][0]["annotations"][0]["url"] == "https://example.org/tea"


def test_cut_reasoning_is_marked_and_carries_no_seal() -> None:
    item = cut(played("reasoning_calls", 5))["output"][0]
    assert item == {
        "id": "rs_02",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "**Looking"}],
        "status": "incomplete",
    }


def test_a_call_that_was_held_is_never_in_the_final_output() -> None:
    response = cut(played("reasoning_calls", 25), notice="cut")
    assert [item["type"] for item in response["output"]] == ["reasoning", "message", "message"]


@pytest.mark.parametrize(
    ("finish", "status", "reason"),
    [
        (None, "completed", None),
        ("stop", "completed", None),
        ("length", "incomplete", "max_output_tokens"),
        ("content_filter", "incomplete", "content_filter"),
        ("made_up", "completed", None),
    ],
)
def test_the_finish_is_a_setting_but_never_invented(finish: str | None, status: str, reason: str | None) -> None:
    response = cut(played("text", 6), finish=finish)
    assert response["status"] == status
    assert (response["incomplete_details"] or {}).get("reason") == reason


def test_what_each_event_shows() -> None:
    shown = [
        play.transcript.shown for play in prefixes(WIRE, (STREAMS / WIRE.name / "reasoning_calls.sse").read_bytes())
    ]
    assert shown[:5] == [Shown.NOTHING] * 5
    assert shown[5] is Shown.REASONING
    assert shown == sorted(shown)
    assert Shown.TEXT in shown
    assert Shown.TOOL in shown


def test_an_incomplete_response_finishes_with_its_reason() -> None:
    play = played("incomplete", 99)
    assert [delta.reason for delta in play.read if type(delta) is Finish] == ["max_output_tokens"]


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        ({"type": "error", "code": "server_error", "message": "Boom", "param": None}, "server_error", "Boom"),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow"}}, "rate_limit_error", "Slow"),
        ({"type": "response.failed", "response": {"error": {"code": "x", "message": "No"}}}, "x", "No"),
        ({"error": {"message": "full", "code": 503}}, 503, "full"),
        ({"type": "response.failed", "response": {}}, None, ""),
    ],
)
def test_every_shape_of_an_error_in_the_stream(data: dict[str, Any], code: object, message: str) -> None:
    (fault,) = WIRE.codec(WIRE.ask({})).read(Event(b"", "", json.dumps(data).encode()))
    assert type(fault) is Fault
    assert (fault.code, fault.message) == (code, message)


def test_a_rate_limit_says_when_to_come_back() -> None:
    """Codex waits as the message tells it."""
    play = played("text", 6)
    failure = Failure(Phase.STREAM, Kind.RATE_LIMIT, "Too many tokens.", retry_after=1.5)
    answer = read(play.raw + play.codec.fail(play.transcript, failure))
    assert answer.error == {
        "code": "rate_limit_exceeded",
        "message": "Too many tokens. Please try again in 1.5s.",
    }


def test_heartbeats_repeat_the_last_number_and_move_none() -> None:
    play = Play(WIRE)
    assert play.codec.heartbeat(False) == b": hb\n"
    for event in golden("text"):
        play.feed(event)
        if not play.transcript.done:
            play.out.append(play.codec.heartbeat(True))
    read(play.raw)


def test_new_event_types_pass_unread() -> None:
    play = played("text", 6)
    news = Event(b"x", "response.hologram.delta", b'{"type":"response.hologram.delta","sequence_number":6}')
    assert play.codec.read(news) == [Unknown("response.hologram.delta")]


# requests ------------------------------------------------------------------------------------------------
def test_the_request_is_read() -> None:
    ask = WIRE.ask(
        {
            "model": "m",
            "stream": True,
            "instructions": "be brief",
            "tools": [{"type": "function"}],
            "text": {"format": {"type": "json_schema"}},
            "input": [
                {"role": "user", "content": "first"},
                {"role": "assistant", "content": [{"type": "output_text", "text": "not this"}]},
                {"type": "function_call_output", "call_id": "c", "output": "result"},
                {"role": "user", "content": [{"type": "input_text", "text": "last"}]},
            ],
        }
    )
    assert (ask.model, ask.streaming, ask.has_tools, ask.wants_json, ask.choices) == ("m", True, True, True, 1)
    assert ask.brief.prompt == "be brief\nfirst\nresult\nlast"
    assert ask.brief.asked == "be brief\nfirst\nlast"  # a tool's result is no wish


def test_advice_goes_to_the_last_user_turn() -> None:
    assert WIRE.advise({"input": "do"}, "try else")["input"] == "do\n\ntry else"
    said = WIRE.advise({"input": [{"role": "user", "content": "do"}]}, "try else")["input"]
    assert [part["text"] for part in said[0]["content"]] == ["do", "try else"]
    result = {"type": "function_call_output", "call_id": "c", "output": "x"}
    said = WIRE.advise({"input": [result]}, "try else")["input"]
    assert said[0] is result
    assert said[1]["role"] == "user"


def test_reasoning_we_closed_does_not_go_back_to_the_backend() -> None:
    ours = cut(played("reasoning_calls", 5), notice="The rest was cut.")["output"]
    user = {"role": "user", "content": "go on"}
    body = {"model": "m", "input": [user, *ours, user]}
    sent = WIRE.clean(body)["input"]
    assert [item.get("type") for item in sent] == [None, "message", None]
    assert "id" not in sent[1]  # an id of ours that no backend knows
    assert body["input"][1] is ours[0]


def test_a_stateless_client_drops_statuses_and_still_gets_rid_of_it() -> None:
    """Codex sends neither status nor id back."""
    ours = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look"}], "encrypted_content": None}
    notice = marked("The reasoning was cut here.")
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": notice}]}
    body: dict[str, Any] = {"store": False, "input": [ours, said, {"role": "user", "content": "go on"}]}
    assert WIRE.clean(body)["input"] == body["input"][1:]


def test_reasoning_of_others_stays() -> None:
    user = {"role": "user", "content": "x"}
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    local = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "x"}
    for body in (
        {"store": False, "input": [user, sealed, user]},
        {"store": False, "input": [user, {**sealed, "status": "incomplete"}, call, result]},
        {"store": False, "input": [user, local, {"role": "assistant", "content": "an answer"}, user]},
        {"store": False, "input": [user, local, call, result]},
        {"input": [user, {**local, "id": "rs_1"}, user]},
        {"input": "x"},
    ):
        assert WIRE.clean(body) is body


def test_a_reference_to_our_notice_is_dropped() -> None:
    body = {"input": [{"type": "item_reference", "id": "msg_streamfuse_0a"}, {"role": "user", "content": "x"}]}
    assert WIRE.clean(body)["input"] == body["input"][1:]


def test_nothing_is_resumed_by_request() -> None:
    assert WIRE.resume(WIRE.ask({"input": "x"}), Transcript(keep=True), "prefill") is None


# servers that leave things out ---------------------------------------------------------------------------
def heard(*events: dict[str, Any]) -> list[tuple[str, str]]:
    """(channel, text) of all pieces."""
    play = Play(WIRE)
    for event in events:
        play.feed(Event(b"x", str(event["type"]), json.dumps(event).encode()))
    return [(d.channel.label, d.text) for d in play.read if type(d) is Piece and d.text]


MESSAGE = {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}
CALL = {"id": "f", "type": "function_call", "call_id": "c", "name": "read", "arguments": '{"a":1}'}
THOUGHT = {"id": "r", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "content": []}


def test_deltas_without_an_item_are_heard() -> None:
    for stem, channel in (("output_text", "text"), ("refusal", "refusal"), ("reasoning_text", "reasoning")):
        assert heard({"type": f"response.{stem}.delta", "delta": "hello"}) == [(channel, "hello")]
    call = {"type": "response.function_call_arguments.delta", "item_id": "f", "delta": "{}"}
    assert heard(call, {**call, "type": "response.function_call_arguments.done", "arguments": "{}"}) == [("tool", "{}")]


def test_items_that_come_whole_are_heard() -> None:
    done = [{"type": "response.output_item.done", "item": item} for item in (THOUGHT, MESSAGE, CALL)]
    assert heard(*done) == [("reasoning", "hm"), ("text", "hello"), ("tool", '{"a":1}')]


def test_a_response_that_comes_whole_is_heard() -> None:
    items = [THOUGHT, MESSAGE, {"type": "web_search_call", "id": "w"}, CALL, None]
    whole = {"type": "response.completed", "response": {"id": "r", "output": items}}
    assert heard(whole) == [("reasoning", "hm"), ("text", "hello"), ("tool", '{"a":1}')]


def test_arguments_may_come_with_the_item() -> None:
    added = {"type": "response.output_item.added", "output_index": 0, "item": CALL}
    done = {"type": "response.output_item.done", "output_index": 0, "item": CALL}
    assert heard(added, done) == [("tool", '{"a":1}')]


def test_a_text_may_come_with_the_end_of_its_part() -> None:
    bare = {**MESSAGE, "content": []}
    added = {"type": "response.output_item.added", "output_index": 0, "item": bare}
    part = {"output_index": 0, "content_index": 0, "part": MESSAGE["content"][0]}
    begun = {**part, "type": "response.content_part.added", "part": {"type": "output_text", "text": ""}}
    assert heard(added, begun, {**part, "type": "response.content_part.done"}) == [("text", "hello")]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.output_item.added", "output_index": 0, "item": None},
        {"type": "response.content_part.added", "part": {"type": "output_audio"}},
        {"type": "response.content_part.done", "part": {"type": "output_audio"}},
    ],
)
def test_what_we_do_not_read_passes(event: dict[str, Any]) -> None:
    (delta,) = WIRE.codec(WIRE.ask({})).read(Event(b"x", "", json.dumps(event).encode()))
    assert type(delta) is Unknown


@pytest.mark.parametrize("event", [{"type": "response.output_text.delta"}, {"type": "response.output_item.done"}, {}])
def test_what_lacks_its_members_is_dropped(event: dict[str, Any]) -> None:
    (delta,) = WIRE.codec(WIRE.ask({})).read(Event(b"x", "", json.dumps(event).encode()))
    assert type(delta) is Malformed


def test_a_comment_is_no_event() -> None:
    assert WIRE.codec(WIRE.ask({})).read(Event(b": hb\n")) == []


def test_a_message_that_goes_on_with_nothing_is_closed() -> None:
    play = played("text", 6)
    play.again()
    empty = {"id": "msg_2", "type": "message", "role": "assistant", "content": []}
    for event in (
        {"type": "response.output_item.added", "output_index": 0, "item": empty, "sequence_number": 0},
        {"type": "response.output_item.done", "output_index": 0, "item": empty, "sequence_number": 1},
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}, "sequence_number": 2},
    ):
        play.feed(Event(b"x", str(event["type"]), json.dumps(event).encode()))
    assert read(play.raw).text == "Put the kettle on, "


def test_events_whose_members_contradict_each_other_are_torn() -> None:
    codec = WIRE.codec(WIRE.ask({}))
    item = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    other = {**item, "id": "msg_2"}
    part = {"type": "output_text", "text": "", "annotations": []}
    where: dict[str, Any] = {"item_id": "msg_1", "output_index": 0, "content_index": 0}

    def torn(name: str = "", **event: Any) -> bool:
        read = next(iter(codec.read(Event(b"x", name, json.dumps(event).encode()))), None)
        return isinstance(read, Malformed) and read.torn

    assert not torn(type="response.output_item.added", output_index=0, item=item)
    assert not torn(type="response.output_item.added", output_index=1, item=other)
    assert not torn(type="response.content_part.added", **where, part=part)
    delta: dict[str, Any] = {"type": "response.output_text.delta", "delta": "x"}
    assert not torn(**delta, **where)
    assert torn(**delta, **{**where, "output_index": 8})
    assert torn(**delta, **{**where, "output_index": 1})
    assert torn(**delta, **{**where, "content_index": 8})
    assert torn(**{**delta, "delta": 7}, **where)
    assert torn("response.output_text.delta", **{**delta, "type": "response.output_text.dxlta"}, **where)
    assert not torn(**delta, **{**where, "item_id": "an id of its own on every event"})
