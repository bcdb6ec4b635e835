"""Before a call: loops that span calls are found on every wire, and what only looks like one is left alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.before.ladder import Ladder, Pace
from rules.before.reminders import Rung
from rules.before.review import DetectorRule, Review, bind, review
from rules.histories import HISTORIES
from rules.values.notices import MARK
from rules.values.verdict import Action, Mode

from ...conversations import FORMS, Line

WIRES = pytest.mark.parametrize("wire", list(FORMS))


def look(wire: str, lines: Sequence[Line], **options: Any) -> Review:
    return review(HISTORIES[wire].run(FORMS[wire](lines)), **options)


def steps_of(lines: Sequence[Line]) -> list[int]:
    """Where an agent would have sent a request: after every result, and at the end."""
    return [i + 1 for i, line in enumerate(lines) if line[0].startswith("call")] + [len(lines)]


def strongest(wire: str, lines: Sequence[Line]) -> tuple[Action, set[str]]:
    """The strongest action over all requests of the conversation, and the rules that acted."""
    best, rules = Action.PASS, set()
    for end in steps_of(lines):
        found = look(wire, lines[:end])
        if found.acting is not None:
            rules.add(found.acting.rule)
            best = max(best, found.action)
    return best, rules


def call(name: str, args: str, result: str | None) -> Line:
    return ("call", name, args, result)


ASK: Line = ("user", "Fix the build of the parser.")
SHUFFLE = [0, 3, 1, 5, 2, 4, 3, 0, 5, 1, 4, 2]

LOOPS: dict[str, list[Line]] = {
    "one call, same result": [call("read", '{"f":"a.py"}', "x = 1")] * 20,
    "two calls in turn": [call("read", '{"f":"a"}', "X"), call("grep", '{"q":"b"}', "Y")] * 8,
    "read, failing edit, failing test": [
        call("read", '{"f":"a"}', "X"),
        call("edit", '{"f":"a","old":"u","new":"v"}', "error: text not found in file"),
        call("bash", '{"c":"make test"}', "3 failed, exit code 1"),
    ]
    * 8,
    "drifting arguments, same error": [call("search", f'{{"q":"word {i}"}}', "401 unauthorized") for i in range(16)],
    "six files again and again": [call("read", f'{{"f":"f{i}.py"}}', f"text {i}") for i in SHUFFLE * 4],
    "failing test between other look-ups": list(
        itertools.chain.from_iterable(
            (call("bash", '{"c":"pytest"}', "1 failed: test_x"), call("read", f'{{"f":"g{i}.py"}}', f"text {i}"))
            for i in range(10)
        )
    ),
    "no-op command under changing titles": [
        call("run", f'{{"code":"echo noop","title":"try {i}"}}', "noop") for i in range(20)
    ],
    "a poll that never ends": [call("log", '{"id":"s1"}', "no new output")] * 60,
    "forty commands, one missing file": [
        call("exec", f'{{"c":"head -c {i} data.bin"}}', "head: cannot open 'data.bin': No such file or directory")
        for i in range(40)
    ],
    "a sentence that only counts": list(
        itertools.chain.from_iterable(
            (
                ("say", f"I keep watching; {i} checks green and {30 - i} pending"),
                call("status", '{"pr":7}', f"{i} green, {30 - i} pending"),
            )
            for i in range(30)
        )
    ),
    "the same thinking": [("think", "I should look at the parser again. " * 80), call("read", '{"f":"p"}', "P")] * 6,
    "the same call three times in one answer": [("calls", [("read", '{"f":"a"}', "X")] * 3)],
}  # fmt: skip

LEGIT: dict[str, list[Line]] = {
    "a poll with growing output": [call("read_output", '{"h":1}', f"line {i}") for i in range(14)],
    "edit and test, fewer failures": list(
        itertools.chain.from_iterable(
            (
                call("edit", f'{{"f":"a","new":"v{i}"}}', "ok"),
                call("bash", '{"c":"make test"}', f"{8 - i} failed"),
            )
            for i in range(8)
        )
    ),
    "edit and test, the same failure for a while": list(
        itertools.chain.from_iterable(
            (
                call("edit", f'{{"f":"a","new":"v{i}"}}', "ok"),
                call("bash", '{"c":"make test"}', "1 failed: test_x"),
            )
            for i in range(8)
        )
    ),
    "twenty-four files edited": [call("edit", f'{{"f":"f{i}"}}', "ok") for i in range(24)],
    "status between edits": [
        call("bash", '{"c":"git status"}', "clean") if i % 5 == 4 else call("edit", f'{{"f":"f{i}"}}', "ok")
        for i in range(50)
    ],
    "three different calls": [call("a", "{}", "1"), call("b", "{}", "2"), call("c", "{}", "3")],
    "three reads before and after an edit": [
        *[call("read", f'{{"f":"f{i}"}}', f"old {i}") for i in range(3)],
        call("edit", '{"f":"f0"}', "ok"),
        *[call("read", f'{{"f":"f{i}"}}', f"new {i}") for i in range(3)],
    ],
    "seven look-ups, nothing found": [call("search", f'{{"q":"term {i}"}}', "No results") for i in range(14)],
    "polls of a build": [call("build_status", '{"id":3}', "status: pending")] * 14,
    "sleep and poll": [call("sleep", '{"s":60}', "done"), call("build_status", '{"id":3}', "still running")] * 10,
    "one line before different calls": list(
        itertools.chain.from_iterable(
            (("say", "Checking the state again."), call("read", f'{{"f":"f{i}"}}', f"text {i}")) for i in range(6)
        )
    ),
    "long thinking about different things": list(
        itertools.chain.from_iterable(
            (("think", f"Part {i}: " + " ".join(f"{chr(97 + (i * 7 + j) % 26)}{i * j}w" for j in range(600))),
             call("read", f'{{"f":"f{i}"}}', f"text {i}"))
            for i in range(6)
        )
    ),
}  # fmt: skip


@WIRES
@pytest.mark.parametrize("name", list(LOOPS))
def test_a_loop_is_found(wire: str, name: str) -> None:
    best, rules = strongest(wire, [ASK, *LOOPS[name]])
    assert best >= Action.ADVISE, f"nothing acted on {name}"
    assert rules


@WIRES
@pytest.mark.parametrize("name", list(LEGIT))
def test_work_that_repeats_rightly_is_left_alone(wire: str, name: str) -> None:
    best, rules = strongest(wire, [ASK, *LEGIT[name]])
    assert best < Action.ADVISE, f"{rules} acted on {name}"


def rungs_of(wire: str, repeated: Line, count: int, **options: Any) -> list[Rung | None]:
    """The rung at every step of a run that does one thing."""
    return [look(wire, [ASK, *[repeated] * n], **options).rung for n in range(1, count + 1)]


SURE_LOOP = call("read", '{"path":"a.py"}', "x = 1")
DOUBTFUL = call("query", '{"id":7}', "seven")


@WIRES
def test_the_ladder_reminds_replans_and_refuses_late(wire: str) -> None:
    replans = [Rung.REPLAN] * 8
    assert rungs_of(wire, SURE_LOOP, 13) == [None, None, Rung.REMIND, *replans, Rung.REFUSE, Rung.REFUSE]


@WIRES
def test_where_a_wait_cannot_be_ruled_out_a_refusal_comes_later(wire: str) -> None:
    rungs = rungs_of(wire, DOUBTFUL, 18)
    assert rungs[2] is Rung.REMIND and rungs[16] is Rung.REPLAN and rungs[17] is Rung.REFUSE
    unknown = rungs_of(wire, SURE_LOOP, 18, pace=Pace())
    assert unknown[16] is Rung.REPLAN and unknown[17] is Rung.REFUSE, "nobody knows how far the steps lie apart"


@WIRES
def test_nothing_is_refused_where_steps_lie_minutes_apart(wire: str) -> None:
    fast, slow, once = Pace((3.0,) * 9), Pace((40.0,) * 9), Pace((3.0, 90.0, 3.0, 3.0))
    assert rungs_of(wire, SURE_LOOP, 12, pace=fast)[-1] is Rung.REFUSE
    for pace in (slow, once):
        assert rungs_of(wire, SURE_LOOP, 40, pace=pace)[-1] is Rung.REPLAN


@WIRES
def test_the_ladder_of_the_seeds_refuses_the_third_finding(wire: str) -> None:
    seeds = Ladder(refuse_after=0)
    assert rungs_of(wire, DOUBTFUL, 5, ladder=seeds, pace=Pace((900.0,) * 9))[2:] == [
        Rung.REMIND,
        Rung.REPLAN,
        Rung.REFUSE,
    ]


@WIRES
def test_the_reminder_is_marked_and_always_the_same(wire: str) -> None:
    lines = [ASK, *[call("read", '{"f":"a.py"}', "x = 1")] * 3]
    first, again = look(wire, lines), look(wire, lines)
    assert first.reminder is not None and first.reminder.startswith(MARK)
    assert first.reminder == again.reminder
    chinese = look(wire, lines, ladder=Ladder(language="zh")).reminder
    assert chinese is not None and chinese.startswith(MARK) and "工具" in chinese


@WIRES
def test_a_new_user_message_always_goes_through(wire: str) -> None:
    lines = [ASK, *LOOPS["one call, same result"]]
    assert look(wire, lines).action is Action.REFUSE
    after = look(wire, [*lines, ("user", "Stop using tools and tell me what you know.")])
    assert after.action is Action.PASS and not after.findings


@WIRES
def test_a_model_that_heeds_the_reminder_is_left_alone(wire: str) -> None:
    lines = [ASK, *[call("read", '{"f":"a.py"}', "x = 1")] * 3]
    assert look(wire, lines).rung is Rung.REMIND
    assert look(wire, [*lines, call("read", '{"f":"b.py"}', "y = 2")]).action is Action.PASS


@WIRES
def test_the_same_answer_to_the_same_nudge_is_refused_where_only_a_machine_can_have_sent_it(wire: str) -> None:
    nudge: Line = ("user", "[SYSTEM] This run is not complete until you call submit.")
    lines: list[Line] = [ASK]
    rungs, fast = [], []
    for _ in range(14):
        lines += [("say", "The task is done, nothing is left to do."), nudge]
        rungs.append(look(wire, lines).rung)
        fast.append(look(wire, lines, pace=Pace((1.0,) * 9)).rung)
    assert rungs == [None, None, None, Rung.REMIND, *[Rung.REPLAN] * 10]
    assert fast == [*rungs[:11], *[Rung.REFUSE] * 3]
    assert look(wire, [*lines[:-1], ("user", "Then write me a poem.")]).action is Action.PASS


ASKED_AGAIN = [
    ("Heartbeat: read HEARTBEAT.md and reply HEARTBEAT_OK if nothing needs attention.", "HEARTBEAT_OK"),
    ("[cron] Check the mailbox.", "Nothing to report."),
    ("B", "Correct! Next question."),
    ("Is the door closed?", "Yes, it is."),
    ("定时检查：有新邮件吗？", "没有。"),
    ("Neue Nachrichten?", "Keine neuen Nachrichten."),
    ("Scheduled check, please continue the watch.", "All quiet."),
]


@WIRES
@pytest.mark.parametrize(("asked", "answer"), ASKED_AGAIN)
def test_the_same_answer_to_a_person_or_a_timer_goes_on_for_ever(wire: str, asked: str, answer: str) -> None:
    lines: list[Line] = [("user", asked)]
    for _ in range(30):
        lines += [("say", answer), ("user", asked)]
        assert look(wire, lines, pace=Pace((1.0,) * 9)).action < Action.ADVISE


@WIRES
def test_two_agents_that_thank_each_other_are_reminded(wire: str) -> None:
    lines = [ASK, *[("say", "Acknowledged, until tomorrow."), ("user", "@cody confirmed, thank you.")] * 20]
    assert look(wire, lines, pace=Pace((1.0,) * 9)).action is Action.ADVISE


@WIRES
def test_watch_tells_and_touches_nothing(wire: str) -> None:
    found = look(wire, [ASK, *LOOPS["one call, same result"]], mode=Mode.WATCH)
    assert found.findings and found.action is Action.PASS and found.reminder is None
    assert look(wire, [ASK, *LOOPS["one call, same result"]], mode=Mode.OFF) == Review()


@WIRES
def test_a_habit_can_be_switched_off_or_kept_to_warnings(wire: str) -> None:
    lines = [ASK, *LOOPS["one call, same result"]]
    off = bind([DetectorRule(detector="repeated_action", mode=Mode.OFF)])
    assert look(wire, lines, watchers=off).findings == ()
    warn = bind([DetectorRule(detector="repeated_action", most="warn")])
    assert look(wire, lines, watchers=warn).action is Action.PASS
    steer = bind([DetectorRule(detector="repeated_action", most="steer")])
    assert look(wire, lines, watchers=steer).rung is Rung.REPLAN


def test_wrong_rules_say_what_is_wrong() -> None:
    with pytest.raises(KeyError, match="there are: repeated_action"):
        bind([DetectorRule(detector="no_such")])
    with pytest.raises(ValueError, match="equal"):
        bind([DetectorRule(detector="text_loop", params={"equal": 1})])


def test_same_text_three_times_within_five_steps() -> None:
    say = [("say", "I will now finish the refactoring."), call("noop", "{}", "ok")]
    lines: list[Line] = [ASK]
    for i in range(5):
        lines += say if i % 2 == 0 else [("say", f"Something else {i}."), call("read", f'{{"n":{i}}}', str(i))]
    assert "text_return" in strongest("openai_chat", lines)[1]


MEMBERS = (
    *("role", "content", "type", "text", "tool_calls", "id", "function", "name", "arguments", "tool_call_id", "input"),
    *("tool_use_id", "output", "call_id", "summary", "is_error", "thinking", "reasoning_content"),
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(MEMBERS) | st.text(max_size=4),
            inner
            | st.sampled_from(["assistant", "user", "tool", "tool_use", "tool_result", "function_call", "reasoning"]),
            max_size=6,
        )
    ),
    max_leaves=20,
)


@WIRES
@settings(max_examples=60, deadline=None)
@given(items=st.lists(ODD, max_size=8))
def test_odd_bodies_never_raise(wire: str, items: list[Any]) -> None:
    history = HISTORIES[wire]
    for body in ({history.member: items}, {history.member: None}, {}, {history.member: "text"}):
        review(history.run(body))


@WIRES
def test_duplicate_ids_and_orphans_pass_unharmed(wire: str) -> None:
    body = FORMS[wire]([ASK, *LEGIT["three different calls"]])
    items = body[HISTORIES[wire].member]
    body[HISTORIES[wire].member] = [*items, *items[1:], {"role": "nobody"}, {"role": "tool", "content": [1, None]}]
    review(HISTORIES[wire].run(body))


@WIRES
def test_only_the_newest_steps_are_read(wire: str) -> None:
    lines = [ASK, *[call("read", f'{{"f":"{i}"}}', "y" * 2000) for i in range(400)]]
    run = HISTORIES[wire].run(FORMS[wire](lines))
    assert 64 <= len(run.steps) <= 100
