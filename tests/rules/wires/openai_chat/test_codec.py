"""Chunks of every vendor as deltas, and the repairs without which known clients break."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import wires
from rules.framing.sse import Event, encode
from rules.values.delta import Channel, Delta, Done, Fault, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from rules.values.transcript import Transcript
from rules.wires.openai_chat.codec import ChatCodec
from tests.rules.fakes import HEAD, chunk, finish, role, says, tool

CHAT = wires.get("openai_chat")
TEXT, REASONING, TOOL, REFUSAL = Channel.TEXT, Channel.REASONING, Channel.TOOL, Channel.REFUSAL
CALL = (0, "tool:0")
OLD = (0, "function_call")


def texted(text: str) -> Piece:
    return Piece((0, "text"), TEXT, text)


def reasoned(text: str) -> Piece:
    return Piece((0, "reasoning"), REASONING, text)


def event(data: Any, name: str = "") -> Event:
    raw = data if isinstance(data, bytes) else orjson.dumps(data)
    return Event(encode(raw, name), name, raw)


def of(raw: bytes) -> Event:
    return Event(raw, "", raw[6:-2])


def codec(**body: Any) -> ChatCodec:
    made = CHAT.codec(CHAT.ask(body))
    assert isinstance(made, ChatCodec)
    return made


def after_role(*raws: bytes) -> list[list[Delta]]:
    reader = codec()
    reader.read(of(role()))
    return [list(reader.read(of(raw))) for raw in raws]


# --- reading ---------------------------------------------------------------------------------------------------------
def test_the_first_chunk_gives_head_and_the_choice() -> None:
    deltas = codec().read(of(role()))
    assert deltas == [Head(HEAD), Open((0, "text"), TEXT)]


def test_the_head_waits_for_a_chunk_that_has_one() -> None:
    reader = codec()
    assert reader.read(event({"choices": [], "id": "", "model": "", "created": 0, "prompt_filter_results": []})) == []
    assert reader.read(of(says("x")))[0] == Head(HEAD)
    assert not any(isinstance(d, Head) for d in reader.read(of(says("y"))))


@pytest.mark.parametrize(
    ("delta", "deltas"),
    [
        ({"content": "x"}, [texted("x")]),
        ({"reasoning_content": "x", "content": None}, [reasoned("x")]),
        ({"reasoning": "x"}, [reasoned("x")]),
        ({"thinking": "x"}, [reasoned("x")]),
        ({"reasoning": "x", "reasoning_content": "x"}, [reasoned("x")]),
        ({"reasoning": "x", "reasoning_details": [{"text": "x"}]}, [reasoned("x")]),
        (
            {"reasoning_details": [{"type": "reasoning.text", "text": "a"}, {"summary": "b"}, {"data": "zz"}]},
            [reasoned("ab")],
        ),
        ({"refusal": "no"}, [Piece((0, "refusal"), REFUSAL, "no")]),
        ({"reasoning": "r", "content": "c"}, [reasoned("r"), texted("c")]),
        (
            {"content": [{"type": "thinking", "thinking": [{"text": "t"}]}, {"type": "text", "text": "c"}]},
            [reasoned("t"), texted("c")],
        ),
        ({"content": [{"type": "thinking", "thinking": "t"}]}, [reasoned("t")]),
        ({"content": [{"type": "image_url"}]}, [Unknown("content.image_url")]),
        ({"audio": {"id": "a", "data": "UklG"}}, [Unknown("audio")]),
        ({"audio": {"transcript": "la"}}, [Unknown("audio"), Piece((0, "audio"), TEXT, "la")]),
        ({"annotations": [{}]}, [Unknown("annotations")]),
        ({"role": "assistant", "content": "", "tool_calls": [], "refusal": None}, []),
        ({"provider_specific_fields": {"x": 1}, "token_ids": [1]}, []),
        ({"function_call": {"name": "f", "arguments": "{"}}, [Open(OLD, TOOL, "f"), Piece(OLD, TOOL, "{")]),
    ],
)  # fmt: skip
def test_every_vendors_members(delta: dict[str, Any], deltas: list[Delta]) -> None:
    assert after_role(says(**delta)) == [deltas]


def test_a_call_opens_once_and_goes_on_by_its_index() -> None:
    first, second, third = after_role(tool(0, "", "f"), tool(0, '{"a"'), tool(1, "", "g"))
    assert first == [
        Open(CALL, TOOL, "f", {"id": "call_0_0", "index": 0, "free": False}),
        Piece(CALL, TOOL, ""),
    ]
    assert second == [Piece(CALL, TOOL, '{"a"')]
    assert isinstance(third[0], Open)
    assert third[0].block == (0, "tool:1")


def test_a_late_name_is_told() -> None:
    bare = says(tool_calls=[{"index": 0, "id": "c", "function": {"arguments": ""}}])
    named = says(tool_calls=[{"index": 0, "function": {"name": "f"}}])
    assert after_role(bare, named)[1][0] == Open(CALL, TOOL, "f")


def test_free_text_tools_are_free() -> None:
    (deltas,) = after_role(
        says(tool_calls=[{"index": 0, "id": "c", "type": "custom", "custom": {"name": "q", "input": "S"}}])
    )
    assert deltas[0] == Open(CALL, TOOL, "q", {"id": "c", "index": 0, "free": True})
    assert deltas[1] == Piece(CALL, TOOL, "S")


def test_finish_usage_and_the_end_mark() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    ended, counted, groq, done = after_role(
        finish("length"), chunk(usage=usage), chunk(x_groq={"usage": usage}), b"data: [DONE]\n\n"
    )
    assert ended == [Finish(0, "length")]
    assert counted == groq == [Usage(usage)]
    assert done == [Done()]
    assert after_role(b"data:  [DONE] \n\n") == [[Done()]]


def test_a_comment_teaches_nothing() -> None:
    assert list(codec().read(Event(b": hb\n"))) == []


def ended(reason: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {}, "index": 0, "finish_reason": reason, **more}]}


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"error": {"message": "m", "code": 429, "type": "t"}}, 429, "m"),
        ({"error": {"message": "m", "type": "t"}}, "t", "m"),
        ({"error": {"message": "m", "code": None}}, None, "m"),
        ({"error": "flat"}, None, "flat"),
        ({"error": {"code": "c"}, "choices": [{"index": 0}]}, "c", "The upstream ended with an error."),
        ({"object": "error", "message": "m", "code": 503}, 503, "m"),
        ({"message": "m"}, None, "m"),
        ({"detail": "m"}, None, "m"),
        (ended("abort"), "abort", "The upstream ended with abort."),
        (ended({"type": "abort"}), "abort", "The upstream ended with abort."),
        (ended("error", error={"message": "m", "code": 502}), 502, "m"),
        (ended("stop", error={"message": "m"}), None, "m"),
        ({"choices": [], "x_groq": {"error": "over capacity"}}, "x_groq", "over capacity"),
    ],
)  # fmt: skip
def test_errors_in_all_their_shapes(body: dict[str, Any], code: Any, message: str) -> None:
    (fault,) = codec().read(event(body))
    assert isinstance(fault, Fault)
    assert (fault.code, fault.message) == (code, message)


def test_an_error_event_is_an_error_whatever_it_holds() -> None:
    (fault,) = codec().read(event({"message": "m"}, "error"))
    assert isinstance(fault, Fault)


@pytest.mark.parametrize(
    "data",
    [b"{broken", b"null", b"[]", b"7", {}, {"type": "ping"}, {"choices": None}, {"choices": [None]},
     {"choices": {"0": 1}}, {"choices": [{"index": -1, "delta": {}}]}, {"choices": [{"index": 128, "delta": {}}]}],
)  # fmt: skip
def test_what_is_not_of_this_wire_is_malformed(data: Any) -> None:
    (delta,) = codec().read(event(data))
    assert isinstance(delta, Malformed)


def test_tool_calls_without_end_are_not_kept_apart() -> None:
    (deltas,) = after_role(says(tool_calls=[{"index": 128, "id": "c", "function": {"name": "f"}}]))
    assert deltas == [Unknown("tool_calls")]


# --- repairs ---------------------------------------------------------------------------------------------------------
def repaired(raw: bytes, reader: ChatCodec | None = None) -> Any:
    given = of(raw)
    (reader or codec()).read(given)
    assert given.raw != raw
    return orjson.loads(given.raw[6:])


def test_names_of_events_are_stripped() -> None:
    given = event(HEAD | {"choices": []}, "message")
    codec().read(given)
    assert given.raw == encode(orjson.dumps(HEAD | {"choices": []}))


def test_the_end_mark_loses_a_name_too() -> None:
    given = event(b"[DONE]", "message")
    assert codec().read(given) == (Done(),)
    assert given.raw == b"data: [DONE]\n\n"


def test_usage_without_choices_gets_an_empty_list() -> None:
    for choices in ({"choices": None}, {}):
        assert repaired(encode(orjson.dumps({**HEAD, **choices, "usage": {"total_tokens": 1}})))["choices"] == []


def test_a_choice_without_index_gets_its_place() -> None:
    both = {**HEAD, "choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]}
    assert [choice["index"] for choice in repaired(encode(orjson.dumps(both)))["choices"]] == [0, 1]


def test_a_delta_that_is_null_becomes_empty() -> None:
    raw = chunk({"index": 0, "delta": None, "finish_reason": "stop"})
    assert repaired(raw)["choices"][0]["delta"] == {}


def test_a_whole_message_in_a_first_chunk_becomes_the_delta_and_later_is_dropped() -> None:
    raw = chunk({"index": 0, "message": {"role": "assistant", "content": "all"}, "finish_reason": "stop"})
    assert repaired(raw)["choices"][0]["delta"] == {"role": "assistant", "content": "all"}
    reader = codec()
    reader.read(of(says("all")))
    assert repaired(raw, reader)["choices"][0] == {"index": 0, "finish_reason": "stop", "delta": {}}


def test_a_finish_that_is_an_object_becomes_its_word() -> None:
    raw = chunk({"index": 0, "delta": {}, "finish_reason": {"type": "stop", "matched": 1}})
    assert repaired(raw)["choices"][0]["finish_reason"] == "stop"


def gemini(name: str, arguments: Any, ident: str, **index: int) -> bytes:
    return says(
        tool_calls=[{**index, "id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}]
    )


def test_calls_without_index_get_one_each() -> None:
    reader = codec()
    first = repaired(gemini("f", '{"a":1}', "c1"), reader)
    second = repaired(gemini("g", '{"b":2}', "c2"), reader)
    calls = [body["choices"][0]["delta"]["tool_calls"][0] for body in (first, second)]
    assert [(call["index"], call["id"]) for call in calls] == [(0, "c1"), (1, "c2")]


def test_fragments_without_index_go_to_the_last_call() -> None:
    reader = codec()
    repaired(gemini("f", '{"a"', "c1"), reader)
    rest = of(says(tool_calls=[{"function": {"arguments": ":1}"}}]))
    assert reader.read(rest) == [Piece(CALL, TOOL, ":1}")]


def test_a_new_whole_call_under_an_old_index_gets_the_next_one() -> None:
    reader = codec()
    reader.read(of(gemini("f", '{"a":1}', "c1", index=0)))
    body = repaired(gemini("g", '{"b":2}', "c2", index=0), reader)
    assert body["choices"][0]["delta"]["tool_calls"][0]["index"] == 1


def test_an_id_that_changes_with_every_fragment_is_still_one_call() -> None:
    reader = codec()
    reader.read(of(gemini("f", '{"a":', "c1", index=0)))
    assert reader.read(of(gemini("f", "1}", "c2", index=0))) == [Piece(CALL, TOOL, "1}")]


def test_arguments_that_are_an_object_become_text() -> None:
    body = repaired(gemini("f", {"a": 1}, "c1", index=0))
    assert body["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] == '{"a":1}'


MEMBERS = (
    *("choices", "delta", "index", "content", "tool_calls", "function", "name", "arguments", "finish_reason", "id"),
    *("usage", "error", "message", "reasoning", "reasoning_details", "x_groq", "custom", "audio", "function_call"),
)
json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 200) | st.sampled_from(["", "x", "stop", "error", '{"a":1}']),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=120, deadline=None)
@given(st.lists(json | st.fixed_dictionaries({"choices": st.lists(json, max_size=2)}), max_size=4), st.booleans())
def test_any_json_gives_deltas_and_legal_bytes(bodies: list[Any], splice: bool) -> None:
    reader = codec()
    transcript = Transcript()
    (reader.splice if splice else reader.bind)(transcript)
    for body in bodies:
        given = event(body)
        deltas = reader.read(given)
        if any(isinstance(delta, Malformed | Fault) for delta in deltas):
            continue
        raw = reader.write(given, deltas)
        assert raw == b"" or orjson.loads(raw[6:]) is not None
        reader.without(given, frozenset({0}))
        for delta in deltas:
            transcript.note(delta)


# --- several choices, several upstreams ------------------------------------------------------------------------------
def test_a_chunk_without_an_ended_choice() -> None:
    reader = codec()
    both = of(chunk({"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}))
    reader.read(both)
    assert [c["index"] for c in orjson.loads(reader.without(both, frozenset({0}))[6:])["choices"]] == [1]
    assert reader.without(both, frozenset({0, 1})) == b""
    assert reader.without(both, frozenset({2})) == both.raw
    counted = of(chunk({"index": 0, "delta": {}}, usage={"total_tokens": 1}))
    reader.read(counted)
    assert orjson.loads(reader.without(counted, frozenset({0}))[6:])["choices"] == []
    done = of(b"data: [DONE]\n\n")
    assert reader.without(done, frozenset({0})) == done.raw


def test_a_spliced_answer_counts_its_calls_on() -> None:
    transcript = Transcript()
    transcript.note(Head(HEAD))
    transcript.note(Open(CALL, TOOL, "f"))
    reader = codec()
    reader.splice(transcript)
    given = of(tool(0, '{"b"', "g"))
    deltas = reader.read(given)
    assert isinstance(deltas[1], Open)
    assert deltas[1].block == (0, "tool:1")
    sent = orjson.loads(reader.write(given, deltas)[6:])
    assert sent["choices"][0]["delta"]["tool_calls"][0]["index"] == 1


def test_a_spliced_answer_passes_comments_and_the_end_mark() -> None:
    reader = codec()
    reader.splice(Transcript())
    for raw in (b": hb\n", b"data: [DONE]\n\n"):
        given = Event(raw, "", None if raw.startswith(b":") else b"[DONE]")
        assert reader.write(given, reader.read(given)) == raw


# --- calls under one index -------------------------------------------------------------------------------------------
def fragment(index: int | None, ident: str | None = None, name: str | None = None, text: str | None = None) -> Any:
    function = {key: value for key, value in (("name", name), ("arguments", text)) if value is not None}
    call: dict[str, Any] = {"function": function}
    if index is not None:
        call["index"] = index
    if ident is not None:
        call.update(id=ident, type="function")
    return call


def accumulated(*fragments: Any) -> list[tuple[str, str, str]]:
    """(id, name, arguments) of every call, as openai-python's helper joins them: texts are added to what is there."""
    reader = codec()
    calls: dict[int, list[str]] = {}
    for one in fragments:
        event = of(says(tool_calls=[one]))
        reader.read(event)
        for call in event.json["choices"][0]["delta"]["tool_calls"]:
            into = calls.setdefault(call["index"], ["", "", ""])
            function = call["function"]
            for at, text in enumerate((call.get("id"), function.get("name"), function.get("arguments"))):
                into[at] += text or ""
    assert sorted(calls) == list(range(min(calls), min(calls) + len(calls)))
    return [(ident, name, arguments) for _, (ident, name, arguments) in sorted(calls.items())]


TWO = [("c1", "w", '{"city":"Oslo"}'), ("c2", "w", '{"city":"Bern"}')]
OSLO, BERN = ('{"city":', '"Oslo"}'), ('{"city":', '"Bern"}')


@pytest.mark.parametrize(
    ("fragments", "calls"),
    [
        ([fragment(0, "c1", "w", ""), *[fragment(0, None, None, t) for t in OSLO],
          fragment(0, "c2", "w", ""), *[fragment(0, None, None, t) for t in BERN]], TWO),
        ([fragment(0, "c1", "w", ""), *[fragment(0, "c1", None, t) for t in OSLO],
          fragment(0, "c2", "w", ""), *[fragment(0, "c2", None, t) for t in BERN]], TWO),
        ([fragment(0, "c1", "w", OSLO[0]), fragment(0, "c1", "w", OSLO[1]),
          fragment(0, "c2", "w", BERN[0]), fragment(0, "c2", "w", BERN[1])], TWO),
        ([fragment(0, "c1", "w", OSLO[0]), fragment(0, None, None, OSLO[1]),
          fragment(0, "c2", "w", BERN[0]), fragment(0, None, None, BERN[1])], TWO),
        ([fragment(None, "c1", "w", OSLO[0]), fragment(None, None, None, OSLO[1]),
          fragment(None, "c2", "w", BERN[0]), fragment(None, None, None, BERN[1])], TWO),
        ([fragment(None, "c1", "w", ""), *[fragment(None, "c1", None, t) for t in OSLO],
          fragment(None, "c2", "w", ""), *[fragment(None, "c2", None, t) for t in BERN]], TWO),
        ([fragment(0, "c1", "w", '{"city":"Oslo"}'), fragment(0, "c2", "w", '{"city":"Bern"}')], TWO),
        # An opening beside pieces that come in turn, told apart by their ids.
        ([fragment(0, "c1", "v", ""), fragment(0, "c2", "w", ""), fragment(0, "c1", None, '{"a":'),
          fragment(0, "c2", None, '{"b":'), fragment(0, "c1", None, "1}"), fragment(0, "c2", None, "2}")],
         [("c1", "v", '{"a":1}'), ("c2", "w", '{"b":2}')]),
        # A call without arguments, and then another tool.
        ([fragment(0, "c1", "v", ""), fragment(0, "c2", "w", ""), fragment(0, None, None, "{}")],
         [("c1", "v", ""), ("c2", "w", "{}")]),
        # Both indexes, but not from the beginning.
        ([fragment(0, "c1", "w", "{}"), fragment(0, "c2", "w", "{}"), fragment(1, "c3", "w", '{"a"'),
          fragment(1, None, None, ":1}")], [("c1", "w", "{}"), ("c2", "w", "{}"), ("c3", "w", '{"a":1}')]),
        ([fragment(0, None, "w", OSLO[0]), fragment(0, None, None, OSLO[1]),
          fragment(0, None, "w", BERN[0]), fragment(0, None, None, BERN[1])],
         [("", "w", '{"city":"Oslo"}'), ("", "w", '{"city":"Bern"}')]),
        ([fragment(0, None, "w", ""), *[fragment(0, None, None, t) for t in OSLO],
          fragment(0, None, "w", ""), *[fragment(0, None, None, t) for t in BERN]],
         [("", "w", '{"city":"Oslo"}'), ("", "w", '{"city":"Bern"}')]),
        ([fragment(0, None, "w", '{"a":1}'), fragment(0, None, "w", "")], [("", "w", '{"a":1}')]),
        ([fragment(0, "c1", "w", '{"a"'), fragment(0, "", "", ":1}")], [("c1", "w", '{"a":1}')]),
        ([fragment(1, "c1", "w", '{"a"'), fragment(1, None, None, ":1}"), fragment(2, "c2", "w", "{}")],
         [("c1", "w", '{"a":1}'), ("c2", "w", "{}")]),
        # Another id on every piece of one call.
        ([fragment(0, "x1", "w", '{"a"'), fragment(0, "x2", None, ":1}")], [("x1x2", "w", '{"a":1}')]),
    ],
)  # fmt: skip
def test_calls_that_share_an_index_are_told_apart(fragments: list[Any], calls: list[tuple[str, str, str]]) -> None:
    assert accumulated(*fragments) == calls


def test_calls_by_their_own_indexes_pass_untouched() -> None:
    reader = codec()
    for raw in (tool(0, "", "f"), tool(0, '{"a"'), tool(1, "", "g"), tool(0, ":1}"), tool(1, "{}")):
        event = of(raw)
        reader.read(event)
        assert event.raw == raw


@pytest.mark.parametrize("word", ["null", "None", "NULL", "undefined"])
def test_a_word_for_none_is_no_finish(word: str) -> None:
    (deltas,) = after_role(chunk({"index": 0, "delta": {"content": "x"}, "finish_reason": word}))
    assert deltas == [texted("x")]
    assert repaired(chunk({"index": 0, "delta": {}, "finish_reason": word}))["choices"][0]["finish_reason"] is None
