"""May an answer be healed, and by what second request?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.detect.ruleset import RuleSet
from rules.heal.plan import HealResult, HealStyle, Looped, heal_plan, heal_result, learned
from rules.heal.providers import for_model, takes
from rules.heal.second_watch import SecondWatch, poor
from rules.values.delta import Channel, Finish, Open, Piece, Unknown
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Transcript
from rules.values.verdict import Action, Finding, Hit, Mode
from rules.wires import WIRES, get
from rules.wires.base import Change, Wire
from rules.wires.second_request import least_effort

MEMBERS = (
    "messages", "input", "prompt", "model", "stream", "max_tokens", "max_completion_tokens", "max_output_tokens",
    "temperature", "seed", "top_k", "n", "thinking", "reasoning", "reasoning_effort", "chat_template_kwargs", "store",
    "context_management", "edits", "type", "role", "content", "text", "response_format", "logprobs", "include", "think",
    "options", "modalities",
)  # fmt: skip
START = "The lamp in the hall had gone dark, so I went down to the cellar and opened the old grey box there. "
UNIT = "I took one of them out and held it to the light. "
USER = {"role": "user", "content": "Why?"}
LOCAL = takes("local", "127.0.0.1", "continue_final_message")


def found(channel: Channel = Channel.TEXT, period: int | None = len(UNIT)) -> Finding:
    return Finding("refrain", Action.CUT, Mode.ON, channel, 0, Hit(500, len(START), 300, period, 6.0))


def shown(*pieces: Piece, more: Any = ()) -> Transcript:
    transcript = Transcript(keep=True)
    for delta in (*pieces, *more):
        transcript.note(delta)
    return transcript


def text(said: str) -> Piece:
    return Piece((0, "text"), Channel.TEXT, said)


def thought(said: str) -> Piece:
    return Piece((0, "reasoning"), Channel.REASONING, said)


def plan(
    finding: Finding,
    transcript: Transcript,
    style: HealStyle | None = HealStyle.AUTO,
    wire: str = "openai_chat",
    known: Any = LOCAL,
    whole: bool = False,
    refused: Any = (),
    **ask: Any,
) -> Any:
    spoken = get(wire)
    body = {"model": "m", "stream": not whole, "messages": [USER], **ask}
    looped = Looped(finding, transcript, since=len(START), withheld=UNIT * 2, events=100, whole=whole)
    return heal_plan(looped, wire=spoken, ask=spoken.ask(body), style=style, known=known, refused=refused)


LOOPING = START + UNIT * 4


def test_a_text_is_continued_from_before_the_loop() -> None:
    made = plan(found(), shown(text(LOOPING)), temperature=0.0, seed=7, max_tokens=500)
    assert made.style == "prefill" and made.changed == ("temperature", "seed") and made.unit == UNIT
    body = made.body
    assert body["messages"][-1] == {"role": "assistant", "content": START.strip()}
    assert (body["temperature"], body["max_tokens"], body["continue_final_message"]) == (1.0, 401, True)
    assert "seed" not in body and "frequency_penalty" not in body


@pytest.mark.parametrize(
    ("ask", "left"),
    [
        ({"n": 2}, None),
        ({"logprobs": True}, None),
        ({"response_format": {"type": "json_object"}}, None),
        ({"grammar": "root ::= x"}, None),
        ({"max_tokens": 150}, None),
        ({"max_tokens": 170}, 71),
    ],
)
def test_never_where_a_second_answer_could_contradict(ask: dict[str, Any], left: int | None) -> None:
    made = plan(found(), shown(text(LOOPING)), **ask)
    assert (made.body["max_tokens"] if made else None) == left
    made = plan(found(Channel.REASONING), shown(thought("hm")), **ask)
    assert (made.body["max_tokens"] if made else None) == left


@pytest.mark.parametrize(
    "more",
    [
        [Open((0, "tool:0"), Channel.TOOL, "f")],
        [Unknown("citations")],
        [Finish(0, "stop")],
        [Piece((0, "refusal"), Channel.REFUSAL, "No.")],
        [Piece((1, "text"), Channel.TEXT, "Another.")],
    ],
    ids=["call", "citation", "finish", "refusal", "choice"],
)
def test_never_after_what_cannot_be_gone_on_from(more: Any) -> None:
    assert plan(found(), shown(text(LOOPING), more=more)) is None


def test_the_style_says_how_far_it_may_go() -> None:
    thinking, prose = shown(thought("hm")), shown(text(LOOPING))
    for style in HealStyle:
        healed = plan(found(Channel.REASONING), thinking, style) is not None
        assert healed == (style is not HealStyle.NONE)
        healed = plan(found(), prose, style) is not None
        assert healed == (style not in (HealStyle.NONE, HealStyle.THINKING))
    assert plan(found(Channel.REASONING), thinking, None) is not None, "vLLM is known to take it"
    assert plan(found(), prose, None) is None
    assert plan(found(Channel.REASONING), thinking, None, known=takes("mine", "example.com")) is None
    assert plan(found(), prose, HealStyle.AUTO, known=takes("mine", "example.com")) is None


def test_googles_and_ollamas_own_wires_tell_who_answers() -> None:
    for wire in WIRES:
        known = takes("mine", "10.0.0.7", speaker=wire.speaker)
        assert known.name == wire.speaker and known.safe is bool(wire.speaker), wire.name
    assert takes("mine", "api.mistral.ai", speaker="Ollama").name == "Mistral", "the address says more"
    for host in ("generativelanguage.googleapis.com", "europe-west1-aiplatform.googleapis.com"):
        assert takes("mine", host).name == "Google"


@pytest.mark.parametrize(
    ("model", "effort"),
    [
        ("gemini-2.5-flash", "none"),
        ("models/gemini-2.5-pro", "low"),
        ("gemini-3-flash-preview", "minimal"),
        ("google/gemini-3.1-pro-preview", "low"),
    ],
)
def test_the_least_effort_of_googles_models(model: str, effort: str) -> None:
    assert least_effort(model) == effort


def test_what_somebody_wrote_is_tried_at_a_provider_that_is_not_known() -> None:
    prose = shown(text(LOOPING))
    mine = takes("mine", "example.com", "prefix")
    made = plan(found(), prose, HealStyle.AUTO, known=mine, temperature=0.0)
    assert made.style == "prefill" and made.body["messages"][-1]["prefix"] is True
    assert plan(found(), prose, HealStyle.AUTO, known=mine, refused={"temperature"}) is None
    made = plan(found(), prose, HealStyle.NOTE, known=takes("mine", "example.com"), temperature=0.0)
    assert made.style == "note"
    assert plan(found(), prose, HealStyle.AUTO, known=mine, model="gpt-5.1") is None


def test_a_note_needs_more_than_a_note() -> None:
    openai = takes("openai", "api.openai.com")
    made = plan(found(), shown(text(LOOPING)), HealStyle.NOTE, known=openai, temperature=0.0)
    assert made.style == "note" and [m["role"] for m in made.body["messages"]] == ["user", "assistant", "user"]
    assert plan(found(), shown(text(LOOPING)), HealStyle.NOTE, known=openai, temperature=1.0) is None
    assert plan(found(), shown(text(LOOPING)), HealStyle.NOTE, known=openai, model="gpt-5.1", temperature=1.0) is None


def test_little_text_is_asked_for_from_scratch() -> None:
    made = plan(found(), shown(text(UNIT * 6)))
    assert made.style == "scratch" and made.body["messages"] == [USER] and made.kept == 0


def test_a_whole_answer_is_asked_for_again() -> None:
    made = plan(found(), Transcript(), whole=True, temperature=0.2, max_tokens=70)
    assert made.style == "scratch" and made.body["messages"] == [USER]
    assert (made.body["temperature"], made.body["max_tokens"]) == (1.0, 70)


@pytest.mark.parametrize(
    ("provider", "host", "resume", "changed"),
    [
        ("vllm", "gpu", "none", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
        ("x", "api.deepseek.com", "none", {"thinking": {"type": "disabled"}}),
        ("x", "api.z.ai", "none", {"thinking": {"type": "disabled"}}),
        ("x", "openrouter.ai", "none", {"reasoning": {"effort": "none"}}),
        ("x", "dashscope-intl.aliyuncs.com", "none", {"enable_thinking": False}),
        ("ollama", "localhost", "none", {"reasoning_effort": "none"}),
        ("x", "gpu", "llamacpp", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
    ],
)
def test_thinking_is_ended_as_the_provider_takes_it(
    provider: str, host: str, resume: str, changed: dict[str, Any]
) -> None:
    made = plan(found(Channel.REASONING), shown(thought("hm")), None, known=takes(provider, host, resume))
    assert {name: made.body[name] for name in made.changed} == changed
    assert made.body["messages"] == [USER], "the looped reasoning is not sent back"
    again = plan(found(Channel.REASONING), shown(thought("hm")), None, known=takes(provider, host, resume), **changed)
    assert again is None, "what was asked for already would loop again"


def test_what_was_refused_is_left_out() -> None:
    known = takes("vllm", "gpu")
    made = plan(found(Channel.REASONING), shown(thought("hm")), None, known=known)
    refusal = Failure(Phase.HEADERS, Kind.TERMINAL, "Unknown field: chat_template_kwargs", status=400)
    assert learned(refusal, made) == "template"
    assert plan(found(Channel.REASONING), shown(thought("hm")), None, known=known, refused={"template"}) is None
    made = plan(found(), shown(text(LOOPING)))
    refusal = Failure(Phase.HEADERS, Kind.TERMINAL, "'temperature' does not support 0.9", status=400)
    assert learned(refusal, made) == "temperature"
    assert plan(found(), shown(text(LOOPING)), refused={"temperature"}) is None
    refusal = Failure(Phase.HEADERS, Kind.TERMINAL, "This model does not support assistant message prefill", status=400)
    assert learned(refusal, made) == "prefill"
    for status in (401, 402, 429, 500, 503):
        assert learned(Failure(Phase.HEADERS, Kind.SERVER, "temperature", status=status), made) == ""
    for status in (404, 413):
        assert learned(Failure(Phase.HEADERS, Kind.TERMINAL, "no", status=status), made) == "", "it is no parameter"
    too_long = Failure(Phase.HEADERS, Kind.TERMINAL, "too long", status=400, code="context_length_exceeded")
    assert learned(too_long, made) == "", "a shorter request may pass"


@pytest.mark.parametrize(
    ("model", "prefill", "warm"),
    [
        ("claude-3-5-sonnet-20241022", True, True),
        ("claude-sonnet-4-5-20250929", True, True),
        ("claude-opus-4-6", False, True),
        ("anthropic/claude-opus-4.7", False, False),
        ("claude-opus-4-20250514", True, True),
        ("claude-fable-5", False, False),
        ("gpt-5.1", True, False),
        ("o3-mini", True, False),
        ("gpt-4o", True, True),
    ],
)
def test_models_differ(model: str, prefill: bool, warm: bool) -> None:
    known = for_model(takes("x", "api.anthropic.com"), model)
    assert (bool(known.prefill), known.hottest is not None) == (prefill, warm)


def test_the_known_unit_convicts_at_its_second_copy() -> None:
    watch = SecondWatch(RuleSet().watch(), found(), UNIT)
    assert not watch.feed(0, Channel.TEXT, "text", "And then. " + UNIT[:30])
    assert watch.doubt, "it may be the loop: text waits"
    assert not watch.feed(0, Channel.TEXT, "text", UNIT[30:])
    (again,) = watch.feed(0, Channel.TEXT, "text", UNIT)
    assert again.acts and again.hit.copies == 2.0
    calm = SecondWatch(RuleSet().watch(), found(), UNIT)
    assert not calm.feed(0, Channel.TEXT, "text", UNIT + "and then " + UNIT[:20] + "of the moon.") and not calm.doubt


class Convinced:
    """A watch that convicts at every feed."""

    doubt = True

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> list[Finding]:
        return [found(period=None)]

    def called(self, choice: int, name: str, arguments: str) -> list[Finding]:
        return []

    def drain(self) -> list[Finding]:
        return []

    def near_misses(self, *, now: bool = False) -> list[Any]:
        return []


TABLE = "".join(f"| {n} | room {n * 7} | free |\n" for n in range(12))
SAME = "| 1 | room 7 | free |\n" * 12
POINTS = "".join(f"- {word}: not disclosed\n" for word in ("tin", "iron", "zinc", "lead", "gold", "cobalt", "silver"))
CELLS = "".join(f"seat{n},hall,{n * 3}\n" for n in range(9))
CHOSEN = ("red,S", "blue,M", "red,M", "red,S", "green,L", "blue,S", "green,S", "blue,M", "red,L", "green,L")
COLOURS = "".join(f"{row},in\n" for row in CHOSEN)
WEEK = "".join(f"| {day} | open |\n" for day in ("Mon", "Tue", "Wed") * 5)
STEPS = "".join(f"{n}. Open the next box and look inside.\n" for n in (*range(2, 14), *range(9, 25)))
PROSE = "".join(f"Then he counted {n} of them, and went on.\n" for n in range(9))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (TABLE, True),
        (POINTS, True),
        (CELLS, True),
        (COLOURS, True),
        (COLOURS + "That is all.\n", True),
        (SAME, False),
        (WEEK, False),
        (STEPS, False),
        (PROSE, False),
        (TABLE[:60], False),
    ],
)
def test_rows_that_go_on_with_other_data_were_meant(said: str, meant: bool) -> None:
    watch = SecondWatch(Convinced(), found(period=None))
    assert bool(watch.feed(0, Channel.TEXT, "text", said)) != meant
    assert watch.meant == meant and watch.doubt != meant
    assert heal_result(None, poor=True, meant=watch.meant) is (HealResult.MEANT if meant else HealResult.POOR)


def test_rows_without_end_are_cut_all_the_same() -> None:
    watch = SecondWatch(Convinced(), found(period=None))
    fed = 0
    while not watch.feed(0, Channel.TEXT, "text", TABLE):
        fed += len(TABLE)
    assert watch.meant and fed <= 16_000


def test_poor_is_judged_by_the_text() -> None:
    crawl = "".join(f"The sun gives the plants {word} energy. " for word in ("water", "food", "light", "warm") * 6)
    good = (
        "Its wire had melted, so I put a new one of ten amperes in its place and closed the box again. Upstairs the "
        "lamp was burning, somebody had begun to cook, and the cat slept on the warm radiator, quite undisturbed."
    )
    assert poor(crawl) and not poor(good) and not poor("yes " * 9)


@pytest.mark.parametrize(
    ("came", "result"),
    [
        (None, HealResult.HEALED),
        (found(), HealResult.AGAIN),
        (Failure(Phase.STREAM, Kind.LOOP, "", code="streamfuse_looped_again"), HealResult.AGAIN),
        (Failure(Phase.STREAM, Kind.TERMINAL, "", code="streamfuse_restarted"), HealResult.RESTARTED),
        (Failure(Phase.HEADERS, Kind.STALL, ""), HealResult.SLOW),
        (Failure(Phase.HEADERS, Kind.TERMINAL, "", status=400), HealResult.REFUSED),
        (Failure(Phase.CONNECT, Kind.NETWORK, ""), HealResult.REFUSED),
        (Failure(Phase.STREAM, Kind.NETWORK, ""), HealResult.BROKEN),
    ],
)
def test_results(came: Any, result: HealResult) -> None:
    assert heal_result(came, poor=False) is result
    assert heal_result(None, poor=True) is HealResult.POOR


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 999) | st.sampled_from(["", "user", "assistant", "text", "disabled"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(WIRES), st.dictionaries(st.sampled_from(MEMBERS), ODD, max_size=8), st.data())
@settings(max_examples=200)
def test_no_request_is_too_odd(wire: Wire, body: dict[str, Any], data: st.DataObject) -> None:
    """Whatever a client sent, the wire writes a second request or says that it cannot; the first stays as it was."""
    before = json.dumps(body)
    change = Change(
        kept=data.draw(st.sampled_from(["", "So far."])),
        style=data.draw(st.sampled_from(["none", "llamacpp", "prefix", "prefill", "continue_final_message"])),
        note=data.draw(st.sampled_from(["", "Go on."])),
        thinking=data.draw(st.sampled_from(["", "template", "disabled", "flag", "effort", "openrouter"])),
        hottest=data.draw(st.none() | st.just(1.0)),
        spent=data.draw(st.integers(0, 500)),
    )
    made = wire.heal(wire.ask(body), change)
    assert json.dumps(body) == before
    if made is not None:
        assert made[0] != body or not made[1]
        wire.ask(made[0])
