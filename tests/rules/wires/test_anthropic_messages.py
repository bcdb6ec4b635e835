from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rules.framing.sse import Event
from rules.values.delta import Channel, Close, Fault, Malformed, Piece, Unknown, Usage
from rules.values.failures import Failure, Kind, Phase
from rules.values.notices import marked
from rules.values.transcript import Shown
from rules.wires.anthropic_messages import WIRE
from rules.wires.base import Ending
from tests.readers.anthropic_messages import read

from .play import STREAMS, Play, decoded, prefixes, recorded

GOLDEN = recorded("anthropic_messages")


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_streams_are_legal_and_pass_unchanged(path: Path) -> None:
    raw = path.read_bytes()
    play = Play(WIRE)
    for event in decoded(raw):
        play.feed(event)
    assert play.raw == raw
    read(raw)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
@pytest.mark.parametrize("notice", [None, "The rest was cut."])
def test_a_cut_after_every_event_is_legal(path: Path, notice: str | None) -> None:
    for play in prefixes(WIRE, path.read_bytes()):
        shown = read(play.raw, unended=True)
        tail = play.codec.close(play.transcript, Ending(notice, {"rule": "loop"}))
        answer = read(play.raw + tail)
        if shown.end:
            assert tail in (b"", b'event: message_stop\ndata: {"type":"message_stop"}\n\n')
        else:
            assert answer.end == ("tool_use" if shown.calls else "end_turn")
            assert answer.marker == {"rule": "loop"}
            assert all(answer.texts[index].startswith(text) for index, text in shown.texts.items())
            assert (notice or "") in answer.text


def played(name: str, count: int = 99) -> Play:
    play = Play(WIRE)
    for event in decoded((STREAMS / WIRE.name / f"{name}.sse").read_bytes())[:count]:
        play.feed(event)
    return play


def test_cut_thinking_stays_unsigned_and_is_followed_by_the_notice() -> None:
    """A thinking-only turn makes Claude Code ask again by itself; a faked signature would be refused later."""
    play = played("thinking", 4)
    answer = read(play.raw + play.codec.close(play.transcript, Ending("The rest was cut.")))
    assert [(item["type"], item["signed"]) for item in answer.items] == [("thinking", False), ("text", False)]
    assert answer.text == "The rest was cut."


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        (None, "end_turn"),
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("pause_turn", "pause_turn"),
        ("tool_use", "end_turn"),
        ("made_up", "end_turn"),
    ],
)
def test_the_finish_is_a_setting_but_never_invented(finish: str | None, reason: str) -> None:
    play = played("text", 5)
    assert read(play.raw + play.codec.close(play.transcript, Ending(finish=finish))).end == reason


def test_a_marked_end_names_the_rule() -> None:
    play = played("text", 5)
    tail = play.codec.close(play.transcript, Ending(marker={"rule": "period"}, finish="stop_sequence"))
    assert b'"stop_sequence":"streamfuse:period"' in tail
    read(play.raw + tail)


def test_a_complete_call_that_was_shown_is_to_be_run() -> None:
    play = played("tools", 15)
    answer = read(play.raw + play.codec.close(play.transcript, Ending()))
    assert answer.end == "tool_use"
    assert [name for name, _ in answer.calls] == ["read"]


def test_the_last_known_usage_is_told() -> None:
    play = played("text", 5)
    answer = read(play.raw + play.codec.close(play.transcript, Ending()))
    assert answer.usage == {
        "input_tokens": 25,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 1,
        "service_tier": "standard",
    }


def test_what_each_event_shows() -> None:
    shown = [play.transcript.shown for play in prefixes(WIRE, (STREAMS / WIRE.name / "tools.sse").read_bytes())]
    assert shown[:3] == [Shown.NOTHING] * 3
    assert shown[3] is Shown.REASONING
    assert shown == sorted(shown)
    assert Shown.TEXT in shown
    assert Shown.TOOL in shown


def test_a_signature_alone_teaches_nothing() -> None:
    play = Play(WIRE)
    for data in (
        b'{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eq"}}',
    ):
        play.feed(Event(b"x", "x", data))
    assert play.transcript.shown is Shown.NOTHING


def test_events_without_a_name_get_theirs() -> None:
    """The SDKs drop nameless events; data stays byte for byte."""
    raw = (STREAMS / WIRE.name / "text.sse").read_bytes()
    nameless = b"\n".join(line for line in raw.split(b"\n") if not line.startswith(b"event:"))
    play = Play(WIRE)
    for event in decoded(nameless):
        play.feed(event)
    assert play.raw == raw


def test_done_of_another_wire_is_dropped() -> None:
    assert WIRE.codec(WIRE.ask({})).read(Event(b"", "", b"[DONE]")) == [Malformed("not an object")]


def test_new_types_pass_unread() -> None:
    read_ = WIRE.codec(WIRE.ask({})).read
    assert read_(Event(b"", "", b'{"type":"hologram"}')) == [Unknown("hologram")]
    delta = b'{"type":"content_block_delta","index":0,"delta":{"type":"hologram_delta","x":1}}'
    assert read_(Event(b"", "", delta)) == [Unknown("hologram_delta")]


def test_an_error_event_is_a_fault() -> None:
    data = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "r"}
    (fault,) = WIRE.codec(WIRE.ask({})).read(Event(b"", "error", json.dumps(data).encode()))
    assert type(fault) is Fault
    assert (fault.code, fault.message) == ("overloaded_error", "Overloaded")


SPENT = "streamfuse_budget_exhausted"
OVERLOADED = b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}'


@pytest.mark.parametrize(
    ("failure", "status", "kind"),
    [
        (Failure(Phase.HEADERS, Kind.SERVER, "x", status=503), 529, "overloaded_error"),
        (Failure(Phase.HEADERS, Kind.SERVER, "x", status=529), 529, "overloaded_error"),
        (Failure(Phase.STREAM, Kind.SERVER, "x", code="overloaded_error"), 529, "overloaded_error"),
        (Failure(Phase.STREAM, Kind.SERVER, "x", code=SPENT, body=OVERLOADED), 529, "overloaded_error"),
        (Failure(Phase.STREAM, Kind.SERVER, "x", code=SPENT, body=b'{"type":"error","error":[]}'), 502, "api_error"),
        (Failure(Phase.STREAM, Kind.SERVER, "x", code=SPENT, body=b'{"error":{"type":["x"]}}'), 502, "api_error"),
        (Failure(Phase.STREAM, Kind.SERVER, "x", code=SPENT, body=b"{"), 502, "api_error"),
        (Failure(Phase.HEADERS, Kind.RATE_LIMIT, "x"), 429, "rate_limit_error"),
        (Failure(Phase.STREAM, Kind.STALL, "x"), 504, "timeout_error"),
        (Failure(Phase.CONNECT, Kind.NETWORK, "x"), 502, "api_error"),
        (Failure(Phase.HEADERS, Kind.TERMINAL, "x", status=401), 401, "authentication_error"),
        (Failure(Phase.HEADERS, Kind.TERMINAL, "x", status=413), 413, "request_too_large"),
        (Failure(Phase.HEADERS, Kind.TERMINAL, "x", status=418), 418, "invalid_request_error"),
    ],
)
def test_errors_have_anthropics_types_and_statuses(failure: Failure, status: int, kind: str) -> None:
    told, body = WIRE.error(failure)
    assert told == status
    assert json.loads(body)["type"] == "error"
    assert json.loads(body)["error"]["type"] == kind
    play = played("text", 5)
    answer = read(play.raw + play.codec.fail(play.transcript, failure))
    assert answer.error is not None
    assert answer.error["type"] == kind


def test_heartbeats() -> None:
    play = played("text", 5)
    assert play.codec.heartbeat(False) == b": hb\n"
    read(play.raw + play.codec.heartbeat(True) + play.codec.close(play.transcript, Ending()))


# requests ------------------------------------------------------------------------------------------------
USER: dict[str, Any] = {"role": "user", "content": "go on"}
CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
TEXT = {"type": "text", "text": "cut"}


def thinking(signature: str | None) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "hm", **({} if signature is None else {"signature": signature})}


def assistant(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def test_the_request_is_read() -> None:
    ask = WIRE.ask(
        {
            "model": "m",
            "stream": True,
            "system": [{"type": "text", "text": "be brief"}],
            "tools": [{"name": "f"}],
            "messages": [
                {"role": "user", "content": "first"},
                assistant(TEXT),
                {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "result"}]}]},
            ],
        }
    )
    assert (ask.model, ask.streaming, ask.has_tools, ask.wants_json) == ("m", True, True, False)
    assert ask.brief.prompt == "be brief\nfirst\nresult"
    assert ask.brief.asked == "be brief\nfirst"  # a tool's result is no wish


@pytest.mark.parametrize("signature", ["", None])
def test_thinking_we_closed_does_not_go_back_to_the_api(signature: str | None) -> None:
    notice = {"type": "text", "text": marked("The reasoning was cut here.")}
    body = {"messages": [USER, assistant(thinking(signature), notice), USER]}
    assert WIRE.clean(body)["messages"] == [USER, assistant(notice), USER]
    body = {"messages": [USER, assistant(thinking("s"), CALL, thinking(signature), notice), USER]}
    assert WIRE.clean(body)["messages"] == [USER, assistant(thinking("s"), CALL, notice), USER]
    body = {"messages": [USER, assistant(thinking(signature)), USER]}
    assert WIRE.clean(body)["messages"] == [USER, USER]


def test_thinking_of_others_stays() -> None:
    for message in (
        assistant(thinking("s"), TEXT),
        assistant(thinking(None), TEXT),  # a server without signatures
        assistant(thinking(None), CALL),
        {"role": "assistant", "content": "x"},
    ):
        body = {"messages": [USER, message, USER]}
        assert WIRE.clean(body) is body


def test_a_server_tool_that_was_cut_before_its_result_does_not_go_back() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    assert WIRE.clean({"messages": [USER, assistant(search, TEXT), USER]})["messages"][1] == assistant(TEXT)
    for messages in ([USER, assistant(search, found), USER], [USER, assistant(search)]):  # answered; a paused turn
        assert WIRE.clean({"messages": messages})["messages"] is messages


def test_a_server_tool_whose_result_comes_later_stays() -> None:
    """Programmatic tool calling: code at the provider calls a tool of the client, and waits for its result."""
    code = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {"code": "f()"}}
    call = {**CALL, "caller": {"type": "code_execution_20250825", "tool_id": "s1"}}
    answered = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "5"}]}
    for turn in (assistant(code, call), assistant(code, TEXT, call)):
        messages = [USER, turn, answered, USER]
        assert WIRE.clean({"messages": messages})["messages"] is messages


def test_advice_goes_to_the_last_user_turn() -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}
    said = WIRE.advise({"messages": [USER, assistant(CALL), result]}, "try else")["messages"]
    assert said[2]["content"] == [*result["content"], {"type": "text", "text": "try else"}]
    assert WIRE.advise({"messages": [USER]}, "a")["messages"][0]["content"][0] == {"type": "text", "text": "go on"}
    assert WIRE.advise({"messages": []}, "a") == {"messages": []}


def resumed(play: Play, style: str = "prefill", **body: Any) -> Any:
    return WIRE.resume(WIRE.ask({"model": "m", "messages": [USER], **body}), play.transcript, style)


def test_a_prefill_goes_on_after_the_shown_text() -> None:
    play = played("text", 4)  # "Put " ends in a blank, which the API refuses
    for style in ("prefill", "llamacpp"):
        assert resumed(play, style=style)["messages"] == [USER, assistant({"type": "text", "text": "Put"})]
    play = played("text", 6)
    assert resumed(play)["messages"] == [USER, assistant({"type": "text", "text": "Put the kettle on, wait —"})]


def test_a_clients_own_prefill_is_continued() -> None:
    own = {"role": "assistant", "content": "Title: "}
    play = played("text", 6)
    said = {"type": "text", "text": "Title: Put the kettle on, wait —"}
    assert resumed(play, messages=[USER, own])["messages"] == [USER, assistant(said)]
    assert resumed(play, messages=[USER, assistant(CALL)]) is None


def test_no_prefill_where_it_cannot_go_on() -> None:
    play = played("text", 6)
    assert resumed(play, style="prefix") is None
    assert resumed(play, thinking={"type": "enabled", "budget_tokens": 9}) is None
    assert resumed(play, output_format={"type": "json_schema"}) is None
    assert resumed(played("thinking", 9)) is None
    assert resumed(played("tools", 15)) is None
    assert resumed(played("text")) is None
    play.transcript.whole = False
    assert resumed(play) is None


# servers that leave things out ---------------------------------------------------------------------------
def deltas(*events: dict[str, Any]) -> list[Any]:
    play = Play(WIRE)
    for event in events:
        play.feed(Event(b"x", str(event.get("type", "")), json.dumps(event).encode()))
    return play.read


def test_deltas_without_a_block_have_lost_it() -> None:
    said = {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "hello"}}
    assert [delta.torn for delta in deltas(said) if type(delta) is Malformed] == [True]
    sealed = {"type": "content_block_delta", "index": 4, "delta": {"type": "signature_delta", "signature": "x"}}
    assert deltas(sealed) == [Piece((0, "4"), Channel.REASONING, "")]
    assert [type(delta) for delta in deltas({"type": "content_block_stop", "index": 5})] == [Malformed]
    begun = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    ended = {"type": "content_block_stop", "index": 0}
    assert [type(delta) for delta in deltas(begun, ended, {**said, "index": 0})][-2:] == [Close, Malformed]


def test_text_and_input_may_come_with_the_start_of_the_block() -> None:
    text = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hello"}}
    assert deltas(text)[1] == Piece((0, "0"), Channel.TEXT, "hello")
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    start = {"type": "content_block_start", "index": 0, "content_block": call}
    assert deltas(start)[1] == Piece((0, "0"), Channel.TOOL, '{"a":1}')


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message_start"},
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_start", "content_block": {"type": "text"}},
        {"type": "content_block_stop"},
        {"type": "content_block_delta", "index": 0},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 7}},
        {},
    ],
)
def test_what_lacks_its_members_is_dropped(event: dict[str, Any]) -> None:
    assert [type(delta) for delta in deltas(event)] == [Malformed]


def test_a_usage_without_a_reason_is_no_finish() -> None:
    told = {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 3}}
    assert deltas(told) == [Usage({"output_tokens": 3})]
    assert deltas({**told, "usage": None}) == []


def test_text_in_the_block_of_another_kind_passes_unread() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "f"}}
    said = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}}
    assert deltas(start, said)[-1] == Unknown("text_delta")


def test_what_the_upstream_answered_itself_stays_as_it_is_where_it_is_json() -> None:
    for body in (b'{"error":{"message":"no"}}', b'[{"error": {"code": 400}}]', b'{"detail": "no"}'):
        assert WIRE.error(Failure(Phase.HEADERS, Kind.TERMINAL, "no", status=400, body=body)) == (400, body)


@pytest.mark.parametrize(
    ("status", "phase", "body"),
    [
        (400, Phase.HEADERS, b"<html>"),
        (400, Phase.HEADERS, b"[]"),
        (400, Phase.STREAM, b'{"error":{"message":"no"}}'),
        (503, Phase.HEADERS, b'{"error":{"message":"no"}}'),  # becomes 529, which must say why
    ],
)
def test_an_error_of_another_shape_becomes_anthropics(status: int, phase: Phase, body: bytes) -> None:
    said = json.loads(WIRE.error(Failure(phase, Kind.TERMINAL, "no", status=status, body=body))[1])
    assert said["type"] == "error"
    assert said["error"]["message"] == "no"


@pytest.mark.parametrize("word", ["", "null", "None"])
def test_a_word_for_none_is_no_stop_reason(word: str) -> None:
    ended = {"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 3}}
    assert deltas(ended) == [Usage({"output_tokens": 3})]


def test_an_event_is_named_by_its_type_and_a_type_nobody_knows_under_a_known_name_is_torn() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    data = json.dumps(start).encode()
    event = Event(b"event: content_blxck_start\ndata: " + data + b"\n\n", "content_blxck_start", data)
    codec = WIRE.codec(WIRE.ask({}))
    assert not isinstance(codec.read(event)[0], Malformed)
    assert event.raw == b"event: content_block_start\ndata: " + data + b"\n\n"
    lost = Event(b"x", "content_block_delta", data.replace(b"block_start", b"blxck_start"))
    assert [delta.torn for delta in codec.read(lost) if isinstance(delta, Malformed)] == [True]
    empty = Event(b"", "content_block_delta", b"")
    assert [delta.torn for delta in codec.read(empty) if isinstance(delta, Malformed)] == [True]


UNSIGNED = {"type": "thinking", "thinking": "Round and", "signature": ""}
SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
USED = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}


def test_unsigned_thinking_of_a_healed_answer_goes_where_the_model_signs() -> None:
    on = {"type": "enabled", "budget_tokens": 2000}
    clearing = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    healed = {"role": "assistant", "content": [UNSIGNED, {"type": "text", "text": "I look."}, USED]}
    body = {"model": "claude-sonnet-4-5", "thinking": on, "context_management": clearing}
    now = WIRE.clean({**body, "messages": [USER, healed, RESULT]})
    assert now["messages"][1]["content"] == healed["content"][1:]
    assert now["thinking"] == {"type": "disabled"} and "context_management" not in now, (
        "this turn has no signed thinking"
    )
    adaptive = WIRE.clean({**body, "thinking": {"type": "adaptive"}, "messages": [USER, healed, RESULT]})
    assert adaptive["thinking"] == {"type": "adaptive"}
    later = WIRE.clean({**body, "messages": [USER, healed, RESULT, assistant({"type": "text", "text": "Done."}), USER]})
    assert later["thinking"] == on and later["messages"][1]["content"] == healed["content"][1:]
    for same in (
        {**body, "model": "qwen3", "messages": [USER, healed, RESULT]},
        {**body, "messages": [USER, {"role": "assistant", "content": [SIGNED, USED]}, RESULT]},
    ):
        assert WIRE.clean(same) is same
