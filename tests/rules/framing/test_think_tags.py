"""Thinking inside the text: what counts as thinking, how a cut closes the tag, and what a second answer may bring."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules import wires
from rules.during.output import Forward, Halt, Output
from rules.during.splice import Splice
from rules.during.stream import Stream
from rules.during.whole_body.whole_json import watch_whole
from rules.framing.sse import Event, encode
from rules.framing.think_tags import HIDDEN, THINK, ThinkTags, inside
from rules.heal.plan import HealStyle, Looped, heal_plan
from rules.heal.providers import takes
from rules.heal.seam import Seam
from rules.values.delta import Channel, Close, Piece
from rules.values.transcript import Shown
from rules.values.verdict import Finding
from rules.wires.base import Ask, Wire

from ..fakes import WordRules

CHAT, COMPLETIONS, OLLAMA = (wires.get(name) for name in ("openai_chat", "openai_completions", "ollama"))
ALL = pytest.mark.parametrize("wire", [CHAT, COMPLETIONS, OLLAMA], ids=lambda wire: wire.name)
ASKED = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}], "prompt": "hi"}


def ask(wire: Wire) -> Ask:
    body = dict(ASKED)
    del body["prompt" if wire is not COMPLETIONS else "messages"]
    return wire.ask(body, "/api/chat" if wire is OLLAMA else "")


def says(wire: Wire, text: str, finish: str | None = None) -> bytes:
    if wire is OLLAMA:
        last = {"done": True, "done_reason": finish} if finish else {"done": False}
        return orjson.dumps({"model": "m", "message": {"role": "assistant", "content": text}, **last}) + b"\n"
    said: dict[str, Any] = {"delta": {"content": text}} if wire is CHAT else {"text": text}
    kind = "chat.completion.chunk" if wire is CHAT else "text_completion"
    choice = {"index": 0, **said, "finish_reason": finish}
    return encode(orjson.dumps({"id": "c", "object": kind, "created": 1, "model": "m", "choices": [choice]}))


def shown(wire: Wire, raw: bytes) -> str:
    """All text that the client has."""
    text = ""
    for line in raw.splitlines():
        line = line.removeprefix(b"data: ")
        if line and line != b"[DONE]":
            body = orjson.loads(line)
            choice = body if wire is OLLAMA else next(iter(body["choices"]), {})
            text += choice.get("text") or (choice.get("message") or choice.get("delta") or {}).get("content") or ""
    return text


def raw(out: list[Output]) -> bytes:
    return b"".join(one.raw for one in out if isinstance(one, Forward))


def cut(wire: Wire, *texts: str) -> tuple[Stream, bytes, Finding]:
    stream = Stream(wire, ask(wire), WordRules())
    out = [one for text in texts for one in stream.feed(says(wire, text), 1.0)]
    assert isinstance(out[-1], Halt) and isinstance(out[-1].cause, Finding)
    return stream, raw(out), out[-1].cause


@ALL
@pytest.mark.parametrize("first", ["<think>", "\n<think>\n", "<think>Hm. "])
def test_a_loop_inside_the_tag_is_one_in_thinking_and_the_cut_closes_the_tag(wire: Wire, first: str) -> None:
    stream, sent, finding = cut(wire, first, "So. ", "LOOP")
    assert finding.channel is Channel.REASONING and inside(stream.transcript)
    assert stream.transcript.shown is Shown.TEXT, "an answer asked for anew must not follow it"
    text = shown(wire, sent + stream.closing())
    assert text.startswith(first + "So. \n</think>\n\n[streamfuse]") and text.count("</think>") == 1


SPLIT = (["<", "think", ">"], ["\n", "<thi", "nk>", "Hm. "], [" ", "\n", "<think>Hm. "])


@ALL
@pytest.mark.parametrize("first", SPLIT, ids=repr)
def test_a_tag_that_comes_in_pieces_is_a_tag(wire: Wire, first: list[str]) -> None:
    stream, sent, finding = cut(wire, *first, "So. ", "LOOP")
    assert finding.channel is Channel.REASONING and inside(stream.transcript)
    assert stream.transcript.shapes[THINK].chars == len("".join(first) + "So. ")
    text = shown(wire, sent + stream.closing())
    assert text.startswith("".join(first) + "So. \n</think>\n\n[streamfuse]") and text.count("</think>") == 1


@ALL
@pytest.mark.parametrize("first", [["<", "table>"], ["\n", "\n"], ["<thinker>"], [" " * 65, "<think>"]], ids=repr)
def test_what_only_begins_like_a_tag_is_text(wire: Wire, first: list[str]) -> None:
    stream, sent, finding = cut(wire, *first, "So. ", "LOOP")
    assert finding.channel is Channel.TEXT and not inside(stream.transcript)
    assert shown(wire, sent + stream.closing()).partition("[streamfuse]")[0].rstrip().endswith("So.")


@ALL
@pytest.mark.parametrize("begun", ["Why?<think>", "Why?<think>\n", "Why?"])
def test_a_request_may_open_the_tag_itself(wire: Wire, begun: str) -> None:
    """The answer then has the closing tag alone."""
    last = {"role": "assistant", "content": begun.removeprefix("Why?")}
    body = {**ASKED, "messages": [{"role": "user", "content": "Why?"}, last], "prompt": begun}
    del body["prompt" if wire is not COMPLETIONS else "messages"]
    for texts, thinks in ((["Hm. ", "LOOP"], "<" in begun), (["Hm. </th", "ink>So. ", "LOOP"], False)):
        stream = Stream(wire, wire.ask(body, "/api/chat" if wire is OLLAMA else ""), WordRules())
        out = [one for text in texts for one in stream.feed(says(wire, text), 1.0)]
        assert isinstance(out[-1], Halt) and isinstance(out[-1].cause, Finding)
        assert out[-1].cause.channel is (Channel.REASONING if thinks else Channel.TEXT)
        text = shown(wire, raw(out) + stream.closing())
        assert text.startswith("Hm. \n</think>\n\n[streamfuse]" if thinks else texts[0])


@ALL
def test_behind_the_tag_text_is_text(wire: Wire) -> None:
    for pieces in (["<think>", "Hm.", "</think>", "So. ", "LOOP"], ["<think>Hm.</thi", "nk>So. ", "LOOP"], ["LOOP"]):
        stream, sent, finding = cut(wire, *pieces)
        assert finding.channel is Channel.TEXT and not inside(stream.transcript)
        text = shown(wire, sent + stream.closing()).partition("[streamfuse]")[0].rstrip()
        assert text == "".join(pieces[:-1]).rstrip()


@ALL
def test_events_pass_as_they_are(wire: Wire) -> None:
    told = [says(wire, text) for text in ("<think>", "Hm. ", "Yes.", "</think>\n\nTea", " it is.")]
    stream = Stream(wire, ask(wire), WordRules())
    assert raw([out for event in told for out in stream.feed(event, 1.0)]) == b"".join(told)
    assert stream.transcript.text() in ("", "\n\nTea it is.")  # kept where somebody asked for it
    assert [shape.chars for shape in stream.transcript.shapes.values() if shape.channel is Channel.REASONING] == [23]


@given(st.lists(st.integers(1, 40), max_size=6))
def test_the_pieces_are_the_text_however_it_is_cut(cuts: list[int]) -> None:
    text, tags, at = "<think>ab</thin</think>cd</think>ef", ThinkTags(), 7
    pieces = [text[:7]]
    for size in cuts:
        pieces.append(text[at : at + size])
        at += size
    pieces.append(text[at:])
    told = [
        d for one in pieces if one for d in tags.marked(Event(b"", "", b"{}"), [Piece((0, "text"), Channel.TEXT, one)])
    ]
    thought = "".join(d.text for d in told if isinstance(d, Piece) and d.block == THINK)
    said = "".join(d.text for d in told if isinstance(d, Piece) and d.block != THINK)
    assert (thought, said) == ("<think>ab</thin</think>", "cd</think>ef") and told.count(Close(THINK)) == 1


def healed(wire: Wire, stream: Stream, finding: Finding) -> Stream:
    """The stream of a second answer, which a heal puts behind this one."""
    looped = Looped(finding, stream.transcript, events=stream.events, withheld=stream.withheld)
    plan = heal_plan(looped, wire=wire, ask=ask(wire), style=HealStyle.AUTO, known=takes("vllm", ""))
    assert plan is not None and plan.style == "thinking" and plan.tagged
    seam = Splice(plan.seam(), told=lambda finish: {"heal": finish})
    return Stream(wire, ask(wire), WordRules(), transcript=stream.transcript, splice=seam)


def second(wire: Wire, stream: Stream, finding: Finding, *texts: str) -> tuple[Stream, bytes]:
    """A whole second answer of a heal behind this one."""
    later = healed(wire, stream, finding)
    out = [one for text in texts for one in later.feed(says(wire, text), 2.0)]
    out += later.feed(says(wire, "", "stop") + (b"" if wire is OLLAMA else b"data: [DONE]\n\n"), 3.0)
    return later, raw(out) + later.closing()


CHAT_AND_OLLAMA = pytest.mark.parametrize("wire", [CHAT, OLLAMA], ids=lambda wire: wire.name)


@CHAT_AND_OLLAMA
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["\n\nTea", " it is."], "<think>Hm. \n</think>\n\nTea it is."),
        (["<think>", "\n\n", "</think>", "\n\nTea", " it is."], "<think>Hm. \n\n</think>\n\nTea it is."),
        (["<think>Other. ", "Yes.</think>", "Tea."], "<think>Hm. Other. Yes.</think>Tea."),
        (["<think>Other.</think>Tea."], "<think>Hm. Other.</think>Tea."),
        (["<", "think", ">", "Other.</think>Tea."], "<think>Hm. Other.</think>Tea."),
        (["\n", "<think>Other.", "</think>", "Tea."], "<think>Hm. Other.</think>Tea."),
        (["<", "b>Tea</b>"], "<think>Hm. \n</think>\n\n<b>Tea</b>"),
        (["<"], "<think>Hm. \n</think>\n\n<"),
    ],
)
def test_a_second_answer_goes_on_behind_or_inside_the_tag(wire: Wire, texts: list[str], expected: str) -> None:
    stream, sent, finding = cut(wire, "<think>", "Hm. ", "LOOP")
    later, more = second(wire, stream, finding, *texts)
    assert shown(wire, sent + more) == expected and later.finished


@CHAT_AND_OLLAMA
def test_a_second_answer_that_loops_inside_the_tag_leaves_it_closed(wire: Wire) -> None:
    stream, sent, finding = cut(wire, "<think>", "Hm. ", "LOOP")
    later = healed(wire, stream, finding)
    out = [one for text in ("<think>", "LOOP") for one in later.feed(says(wire, text), 2.0)]
    assert isinstance(out[-1], Halt)
    text = shown(wire, sent + raw(out) + later.closing())
    assert text.startswith("<think>Hm. \n</think>\n\n[streamfuse]") and text.count("think>") == 2


@CHAT_AND_OLLAMA
def test_a_second_answer_that_is_only_a_call_does_not_leave_the_tag_open(wire: Wire) -> None:
    stream, sent, finding = cut(wire, "<think>", "Hm. ", "LOOP")
    later = healed(wire, stream, finding)
    arguments: Any = {"a": 1} if wire is OLLAMA else '{"a": 1}'
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": arguments}}
    if wire is OLLAMA:
        said = orjson.dumps({"model": "m", "message": {"role": "assistant", "tool_calls": [call]}, "done": False})
        out = later.feed(said + b"\n", 2.0) + later.feed(says(wire, "", "stop"), 3.0)
    else:
        choice = {"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}
        out = later.feed(encode(orjson.dumps({"id": "d", "model": "m", "choices": [choice]})), 2.0)
        out += later.feed(says(wire, "", "tool_calls") + b"data: [DONE]\n\n", 3.0)
    after = sent + raw(out) + later.closing()
    assert shown(wire, after) == "<think>Hm. \n</think>\n\n" and after.count(b'"read"') == 1 and later.finished
    tag, called = (next(at for at, line in enumerate(after.splitlines()) if it in line) for it in (b"</th", b'"read"'))
    assert tag <= called, "not behind the call, and maybe beside it"


@CHAT_AND_OLLAMA
@pytest.mark.parametrize("texts", [("<think>", "Hm.", "</think>\n\n", "Two."), ("<", "think>Hm.</think>", "Two.")])
def test_thinking_of_a_second_answer_is_not_shown_behind_text(wire: Wire, texts: tuple[str, ...]) -> None:
    stream = Stream(wire, ask(wire), WordRules())
    sent = raw(stream.feed(says(wire, "One."), 1.0))
    seam = Splice(Seam("One.", 4, 4), told=lambda finish: {})
    later = Stream(wire, ask(wire), WordRules(), transcript=stream.transcript, splice=seam)
    out = [one for text in texts for one in later.feed(says(wire, text), 2.0)]
    out += later.feed(says(wire, "", "stop"), 3.0)
    assert " ".join(shown(wire, sent + raw(out)).split()) == "One. Two."
    assert stream.transcript.shapes[HIDDEN].chars


@ALL
@pytest.mark.parametrize(("loops_in_text", "begins"), [(False, "<think>"), (True, "<think>"), (False, "")])
def test_a_whole_answer_is_cut_inside_or_behind_the_tag(wire: Wire, loops_in_text: bool, begins: str) -> None:
    text = begins + ("Hm.</think>So. LOOP, LOOP" if loops_in_text else "Hm. LOOP, LOOP")
    text += "" if begins else "\n</think>\n\nTea."  # the prompt's template has opened the tag
    if wire is OLLAMA:
        body: dict[str, Any] = {"model": "m", "message": {"role": "assistant", "content": text}, "done": True}
    else:
        said: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if wire is CHAT else {"text": text}
        body = {"id": "c", "object": "x", "choices": [{"index": 0, **said, "finish_reason": "stop"}]}
    seen = watch_whole(wire, ask(wire), WordRules(), body)
    assert seen.cut is not None
    assert seen.cut.channel is (Channel.TEXT if loops_in_text else Channel.REASONING)
    choice = seen.body if wire is OLLAMA else seen.body["choices"][0]
    left = choice["text"] if wire is COMPLETIONS else choice["message"]["content"]
    if loops_in_text:
        assert left.startswith("<think>Hm.</think>So. LO") and "[streamfuse]" not in left
    else:
        assert left.startswith(begins + "Hm. LO") and left.count("</think>") == 1 and "</think>\n\n[streamfuse]" in left
