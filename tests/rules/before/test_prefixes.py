"""Bodies whose beginning was seen before: what is read of them, and what is made of it, is what the whole gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import wires
from rules.before.evidence.outline import Outlines
from rules.before.past import Past, all_texts, with_texts
from rules.before.prefixes import LEAST, ArrayPlace, Begun, Continued, Parsed, PrefixCache
from rules.before.request import Before, HistoryPolicy, going_on, in_turns
from rules.before.review import finished
from rules.histories import HISTORIES
from rules.values.json import loads
from rules.values.notices import MARK
from rules.values.verdict import Mode

from ...conversations import FORMS, Line

MEMBERS = [history.member for history in HISTORIES.values()]
PAST = Past("openai_chat", 0, True, 9, (1,), (1,))
FILLING = "Some words of a system prompt. " * 300
WIRES = [name for name in FORMS if wires.get(name).cleans_by is not None]


def cache(**more: Any) -> PrefixCache:
    return PrefixCache(MEMBERS, **more)


def read_by(known: PrefixCache, data: bytes) -> Parsed | Continued:
    """Read this body as a request's is read."""
    read = finished(known.going_on(data))
    return read if isinstance(read, Continued) else known.whole(data, read)


def seen(data: bytes, into: PrefixCache) -> Parsed:
    """Read this body, and have it remembered: the first one that begins so is only parsed."""
    read = read_by(into, data)
    if isinstance(read, Parsed) and isinstance(read.place, Begun):
        finished(into.remember(data, read.place, [PAST]))
        read = read_by(into, data)
    assert isinstance(read, Parsed) and isinstance(read.place, ArrayPlace) and read.body == loads(data)
    finished(into.remember(data, read.place, [PAST]))
    return read


def compact(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def spaced(body: dict[str, Any]) -> bytes:
    return json.dumps(body, indent=3, ensure_ascii=False).encode()


def body(messages: list[Any], **more: Any) -> dict[str, Any]:
    """A body with a member before its messages and others behind them."""
    return {"model": FILLING, "messages": messages, **more}


@pytest.mark.parametrize("write", [compact, spaced])
def test_only_what_is_new_is_read_of_a_body_that_goes_on(write: Callable[[dict[str, Any]], bytes]) -> None:
    known = cache()
    tools = [{"name": "a", "schema": {"enum": ["x", "]"], "items": [[], {}]}}]
    seen(write(body([{"role": "user"}], stream=True, tools=tools)), known)
    read = read_by(known, write(body([{"role": "user"}, {"n": 1}, {"n": "]}"}], stream=False, tools=tools)))
    assert isinstance(read, Continued) and read.new == [{"n": 1}, {"n": "]}"}]
    assert read.members == {"model": FILLING, "stream": False, "tools": tools}


def test_the_longest_beginning_counts_and_an_earlier_one_stays() -> None:
    known = cache()
    seen(compact(body([{"n": 0}])), known)
    longer = compact(body([{"n": n} for n in range(3)]))
    read = read_by(known, longer)
    assert isinstance(read, Continued) and len(read.new) == 2
    finished(known.remember(longer, read, [PAST]))
    branch = read_by(known, compact(body([{"n": 0}, {"n": "other"}])))
    assert isinstance(branch, Continued) and branch.new == [{"n": "other"}]
    again = read_by(known, longer)
    assert isinstance(again, Continued) and again.new == []


def test_of_a_conversation_the_newest_two_beginnings_are_remembered() -> None:
    known = cache()
    seen(compact(body([{"n": 0}])), known)
    for end in range(2, 40):
        data = compact(body([{"n": n} for n in range(end)]))
        read = read_by(known, data)
        assert isinstance(read, Continued) and read.new == [{"n": end - 1}]
        finished(known.remember(data, read, [PAST]))
    assert sum(map(len, known._kept.values())) == 2


def test_the_oldest_beginnings_are_forgotten() -> None:
    known = cache(most=3)
    for name in range(10):
        seen(compact({"messages": [{"n": f"{name}{FILLING}"}]}), known)
    assert len(known) == 3
    assert isinstance(read_by(known, compact({"messages": [{"n": f"0{FILLING}"}, {}]})), Parsed)
    assert isinstance(read_by(known, compact({"messages": [{"n": f"9{FILLING}"}, {}]})), Continued)


@pytest.mark.parametrize(
    "data",
    [
        compact(body([{"n": 1}])) + b"]",
        compact(body([{"n": 1}]))[:-1],
        b"",
        b"[" * LEAST,
        FILLING.encode(),
    ],
)
def test_what_is_no_json_is_no_json_here(data: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError) as told:
        loads(data)
    with pytest.raises(orjson.JSONDecodeError) as here:
        read_by(cache(), data)
    assert str(told.value) == str(here.value)


def test_what_goes_on_as_no_json_is_no_json_here() -> None:
    known = cache()
    data = compact(body([{"n": 1}]))
    seen(data, known)
    for more in (b',{"n":2}', b',{"n":2}]', b',{"n":2}}', b",]}", b',{"n":2}],}', b'],"model":1', b"]}}"):
        with pytest.raises(orjson.JSONDecodeError):
            read_by(known, data[:-2] + more)


@pytest.mark.parametrize(
    "rest",
    [
        b',{"n":2}],"messages":[{"n":9}]}',
        b',{"n":2}],"model":"other"}',
        b',{"n":2}],"stop":["a"],"more":[[{}]]}',
        b',{"n":"],\\"stop\\":[{}]}"}],"x":":],"}',
        b',{"n":"%b"}]}' % (b"\x7f" * 32),
        b',"%b"]}' % (b"\x7f" * 32),
        b',"x","],",":",{"y":1}],"stop":"],","z":":"}',
        b']  ,  "stop" : [ ] } ',
        b',{"n":"\\ud83d"}]}',
    ],
)
def test_odd_ends_are_read_as_the_whole_is(rest: bytes) -> None:
    known = cache()
    data = compact(body([{"n": 1}]))
    seen(data, known)
    _same(read_by(known, data[:-2] + rest), data[:-2] + rest, [{"n": 1}])
    _same(read_by(cache(), data[:-2] + rest), data[:-2] + rest, [])


@pytest.mark.parametrize(
    "head",
    [
        b'{"messages":[{"n":0}],"x":1,"messages":[{"n":1}',
        b'{"x":{"messages":[{"n":0}]},"messages":[{"n":1}',
        b'{"x":"\\"messages\\":[{","messages":[{"n":1}',
        b'{"x":[{"y":[]}],"messages" : [ {"n":1}',
        b'{"messages":[{"messages":[{"n":0}]},{"n":1}',
        b'{"input":[{"n":0}],"messages":[{"n":1}',
        b'{"x":[1],"messages":[{"n":1}],"x":[{"n":2}',
    ],
)
def test_odd_beginnings_are_read_as_the_whole_is(head: bytes) -> None:
    data = head + b',{"n":"' + FILLING.encode() + b'"}]}'
    known = cache()
    read = read_by(known, data)
    assert isinstance(read, Parsed) and read.body == loads(data)
    if read.place is not None:
        finished(known.remember(data, read.place, [PAST]))
    longer = data[:-2] + b',{"n":3}]}'
    whole = loads(longer)
    _same(read_by(known, longer), longer, whole.get("messages", [])[:-1])


def _same(read: Parsed | Continued, data: bytes, old: list[Any]) -> None:
    whole = loads(data)
    if isinstance(read, Parsed):
        assert read.body == whole and list(read.body) == list(whole)
    else:
        assert {**read.members, read.prefix.member: [*old, *read.new]} == whole


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab"\\[]{},: é', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["messages", "x", "]"]), inner, max_size=2)
    ),
    max_leaves=6,
)
OTHERS = st.dictionaries(st.sampled_from(["tools", "stop", "stream", "input", "contents"]), VALUES, max_size=3)


@settings(max_examples=30)
@given(OTHERS, OTHERS, st.lists(VALUES, min_size=1, max_size=4), st.lists(VALUES, max_size=3), st.booleans(), st.data())
def test_any_body_is_read_as_the_whole_is(
    before: dict[str, Any], after: dict[str, Any], old: list[Any], new: list[Any], wide: bool, data: st.DataObject
) -> None:
    write = spaced if wide else compact
    first = [{"filling": FILLING}, *old]
    one, two = write({**before, "messages": first, **after}), write({**before, "messages": [*first, *new], **after})
    known = cache()
    read = read_by(known, one)
    assert isinstance(read, Parsed) and isinstance(read.place, Begun) and read.body == loads(one)
    finished(known.remember(one, read.place, [PAST]))
    read = read_by(known, one)
    assert isinstance(read, Parsed) and read.body == loads(one)
    if isinstance(read.place, ArrayPlace):
        finished(known.remember(one, read.place, [PAST]))
        if read.place.member == "messages":
            _same(read_by(known, two), two, first)
    cut = data.draw(st.integers(0, len(two)))
    try:
        whole = loads(two[:cut])
    except orjson.JSONDecodeError:
        with pytest.raises(orjson.JSONDecodeError):
            read_by(known, two[:cut])
    else:
        again = read_by(known, two[:cut])
        assert isinstance(again, Continued) or again.body == whole


# --- what is made of it ----------------------------------------------------------------------------------------------
def whole_look(wire: str, of: dict[str, Any], known: Outlines, policy: HistoryPolicy, mode: Mode = Mode.ON) -> Before:
    made = wires.get(wire)
    return finished(in_turns(made, HISTORIES[wire], of, policy, mode, known=known, keep=True))


def short_look(
    wire: str, of: dict[str, Any], items: int, past: Past, known: Outlines, policy: HistoryPolicy, mode: Mode = Mode.ON
) -> Before | None:
    member = HISTORIES[wire].member
    members = {name: value for name, value in of.items() if name != member}
    return finished(going_on(wires.get(wire), HISTORIES[wire], members, of[member][items:], past, policy, mode, known))


def run(calls: int) -> list[Line]:
    """An agent's steps that all differ."""
    return [("call", "read", f'{{"path":"{chr(97 + n % 26)}{n // 26}"}}', f"text {n} of {n * n}") for n in range(calls)]


@pytest.mark.parametrize("wire", WIRES)
def test_an_agent_that_goes_on_is_looked_at_by_its_new_step_alone(wire: str) -> None:
    known, policy = Outlines(), HistoryPolicy()
    past = whole_look(wire, FORMS[wire]([("user", "Go."), *run(59)]), known, policy).pasts[0]
    for steps in (60, 61, 64, 65, 66, 80):
        of = FORMS[wire]([("user", "Go."), *run(steps)])
        short = short_look(wire, of, past.items, past, known, policy)
        whole = whole_look(wire, of, known, policy)
        assert short is not None and short == whole == Before()
        assert short.pasts[0] == whole.pasts[0]
        past = short.pasts[0]


LINES = st.lists(
    st.sampled_from(
        [
            ("user", "Go on."),
            ("user", "Something else?"),
            ("say", "I look."),
            ("say", f"{MARK} cut"),
            ("think", "Hm."),
            ("call", "read", '{"a":1}', "x"),
            ("call", "read", '{"a":2}', "error: no such file"),
            ("call", "edit", '{"b":1}', None),
            ("calls", [("read", '{"a":3}', "y"), ("read", '{"a":1}', "x")]),
        ]
    ),
    max_size=9,
)


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=30)
@given(LINES, LINES, st.sampled_from([Mode.ON, Mode.WATCH]), st.sampled_from([Mode.ON, Mode.WATCH]))
def test_any_history_that_goes_on_is_judged_as_the_whole_is(
    wire: str, old: list[Line], new: list[Line], first: Mode, then: Mode
) -> None:
    known, policy = Outlines(), HistoryPolicy()
    start = FORMS[wire]([("user", "Go."), *old])
    pasts = whole_look(wire, start, known, policy, first).pasts
    if not pasts:
        return
    member = HISTORIES[wire].member
    of = FORMS[wire]([("user", "Go."), *old, *new])
    whole = whole_look(wire, of, known, policy, then)
    for past in pasts:
        if of[member][: past.items] != start[member][: past.items]:
            continue
        short = short_look(wire, of, past.items, past, known, policy, then)
        if short is not None:
            assert short == whole
            assert not whole.pasts or short.pasts[0] == whole.pasts[0]._replace(clean=past.clean)


def test_a_client_that_changes_its_newest_messages_is_known_by_those_before() -> None:
    known, policy, kept = Outlines(), HistoryPolicy(), cache()
    for steps in range(70, 76):
        of = FORMS["openai_chat"]([("user", f"Go. {FILLING}"), *run(steps)])
        for message in of["messages"][-3:]:
            message["mark"] = True
        read = read_by(kept, data := compact(of))
        whole = whole_look("openai_chat", of, known, policy)
        if isinstance(read, Parsed):
            assert steps in (70, 71) and read.place is not None
            finished(kept.remember(data, read.place, whole.pasts))
            continue
        assert len(read.new) <= 8
        past = read.prefix.past
        short = short_look("openai_chat", of, past.items, past, known, policy)
        assert short is not None and short == whole and short.pasts[0] == whole.pasts[0]
        finished(kept.remember(data, read, short.pasts))


def test_a_result_of_an_old_call_needs_the_whole() -> None:
    known, policy = Outlines(), HistoryPolicy()
    of = FORMS["openai_chat"]([("user", "Go."), *run(2), ("call", "read", "{}", None), ("user", "And?"), *run(1)])
    past = whole_look("openai_chat", of, known, policy).pasts[0]
    late = {"role": "tool", "tool_call_id": of["messages"][5]["tool_calls"][0]["id"], "content": "at last"}
    step = FORMS["openai_chat"](run(1))["messages"]
    more = {**of, "messages": [*of["messages"], step[0], step[1], late]}
    assert short_look("openai_chat", more, len(of["messages"]), past, known, policy) is None


def test_a_step_whose_outline_is_forgotten_needs_the_whole() -> None:
    known, policy = Outlines(), HistoryPolicy()
    past = whole_look("openai_chat", FORMS["openai_chat"]([("user", "Go."), *run(3)]), known, policy).pasts[0]
    of = FORMS["openai_chat"]([("user", "Go."), *run(4)])
    assert short_look("openai_chat", of, past.items, past, Outlines(), policy) is None


def test_another_model_needs_the_whole_where_cleaning_asks_for_it() -> None:
    known, policy = Outlines(), HistoryPolicy()
    past = whole_look(
        "anthropic_messages", FORMS["anthropic_messages"]([("user", "Go."), *run(3)]), known, policy
    ).pasts[0]
    of = FORMS["anthropic_messages"]([("user", "Go."), *run(4)])
    assert short_look("anthropic_messages", of, past.items, past, known, policy) is not None
    assert short_look("anthropic_messages", {**of, "model": "claude"}, past.items, past, known, policy) is None


def test_the_keys_of_answers_are_told_where_they_are_known() -> None:
    history = HISTORIES["openai_chat"]
    new = [{"role": "assistant", "content": "A long enough answer. " * 9}]
    assert all_texts(history, new, PAST) is None
    found = all_texts(history, new, with_texts(PAST, {}))
    assert found is not None and list(found) == [PAST.items]
    later = with_texts(PAST._replace(items=PAST.items + 1), found)
    assert list((all_texts(history, [], later) or {}).values()) == list(found.values())
    assert with_texts(PAST, found).texts == (), "it is none of the beginning's"
    assert with_texts(PAST, dict.fromkeys(range(-300, 0), found[PAST.items])).texts is None
