"""A looping answer and its second one through the Stream, cut into pieces anywhere: strict readers see one answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.demo.voice import Voice
from proxy.demo.voices import voice_for
from rules.detect.packs import assemble
from rules.during.output import Forward, Halt
from rules.during.splice import Splice
from rules.during.stream import Stream
from rules.heal.plan import HealStyle, Looped, heal_plan
from rules.heal.providers import takes
from rules.heal.second_watch import second_watch
from rules.values.transcript import Transcript
from rules.values.verdict import Finding
from rules.wires import get
from tests.readers.anthropic_messages import read as read_messages
from tests.readers.openai_chat import read as read_chat
from tests.readers.openai_completions import read as read_completions
from tests.readers.openai_responses import read as read_responses

START = (
    "The lamp in the hall had gone dark, so I went down to the cellar and opened the old grey box. "
    "There were nine fuses in it, and eight of them were whole. "
)
UNIT = "I took the ninth one out and held it to the light of the window. "
NEW = "Its wire had melted, so I put in a new one of ten amperes. Upstairs the lamp was burning again."
RULES = assemble(["default"])
WIRES: dict[str, tuple[str, Any]] = {
    "openai_chat": ("/v1/chat/completions", read_chat),
    "openai_completions": ("/v1/completions", read_completions),
    "anthropic_messages": ("/v1/messages", read_messages),
    "openai_responses": ("/v1/responses", read_responses),
}
BODY = {
    "model": "m", "stream": True, "store": False, "temperature": 0.2, "prompt": "Why?", "input": "Why?",
    "messages": [{"role": "user", "content": "Why?"}],
}  # fmt: skip


def cut(text: str, sizes: list[int]) -> list[str]:
    """The text in pieces of these sizes, over and over."""
    out, at, turn = [], 0, 0
    while at < len(text):
        out.append(text[at : at + sizes[turn % len(sizes)]])
        at += sizes[turn % len(sizes)]
        turn += 1
    return out


def fed(stream: Stream, voice: Voice, pieces: list[str]) -> tuple[bytes, Any]:
    """What the client is sent of these pieces, and what halted the answer."""
    raw = b""
    frames = [voice.head(), *(voice.say(piece) for piece in pieces), voice.finish("stop")]
    for frame in frames:
        for out in stream.feed(frame, 1.0) if frame else ():
            if isinstance(out, Forward):
                raw += out.raw
            elif isinstance(out, Halt):
                return raw, out.cause
    return raw, None


SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=4)


@pytest.mark.parametrize("name", WIRES)
@given(SIZES, SIZES, st.sampled_from(["", START, START[-45:], UNIT, " ", "\n"]))
@settings(max_examples=12)
def test_one_legal_answer_however_it_comes(name: str, first: list[int], second: list[int], echo: str) -> None:
    path, read = WIRES[name]
    kind, wire = voice_for(path), get(name)
    assert kind is not None
    ask = wire.ask(BODY)
    transcript = Transcript(keep=True)
    stream = Stream(wire, ask, RULES, transcript=transcript)
    before, finding = fed(stream, kind(BODY, 1), cut(START + UNIT * 30, first))
    assert isinstance(finding, Finding)
    shown = transcript.text()
    looped = Looped(finding, transcript, finding.hit.since, stream.withheld, stream.events)
    style = HealStyle.NOTE if name == "openai_responses" else HealStyle.AUTO
    plan = heal_plan(looped, wire=wire, ask=ask, style=style, known=takes("x", "h", "llamacpp"))
    assert plan is not None and plan.text[: plan.kept].strip() == START.strip() and plan.unit in UNIT * 2
    transcript.earlier = stream.events
    watch = second_watch(RULES, ask, finding, plan.text[: plan.kept], plan.unit)
    splice = Splice(plan.seam(), watch=watch, told=lambda _: {"heal": 1})
    stream = Stream(wire, ask, RULES, transcript=transcript, splice=splice)
    after, halted = fed(stream, kind(BODY, 2), cut(echo + NEW, second))
    assert halted is None and stream.finished and not watch.poor
    answer = read(before + after)
    assert answer.text.startswith(shown) and answer.text.endswith((" " + NEW, "\n" + NEW))
    middle = answer.text[len(shown) : -len(NEW)]
    assert len(middle) <= len(UNIT) + 1 and (shown + middle).rstrip().endswith((UNIT.rstrip(), START.rstrip()))
    assert answer.ident.endswith("1") and answer.marker == {"heal": 1} and answer.error is None
