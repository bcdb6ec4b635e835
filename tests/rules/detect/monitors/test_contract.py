"""What is true of every monitor in the table: one name, bounded state, linear work, and no care for how text is cut."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.detect import monitors
from rules.detect.monitors.base import MonitorKind, StreamMonitor
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.values.brief import Brief
from rules.values.delta import Channel

from .play import cut, lines_run, monitor, play

KINDS = sorted(monitors.TABLE)
ABOUT_EVENTS = {"equal_deltas"}
"""It looks at deltas as such, so cutting is its subject."""

sentence = st.sampled_from(
    ["The end is near. ", "再检查一下。", "ok\n", "}\n", "a", "  ", "wait, no: ", "| - | - |\n", "0", "😀"]
)
story = st.lists(st.tuples(st.lists(sentence, min_size=1, max_size=3), st.integers(1, 90)), max_size=6).map(
    lambda parts: "".join("".join(unit) * times for unit, times in parts)
)


def test_the_table_names_each_by_its_own_name() -> None:
    assert set(monitors.TABLE) >= {"period", "equal_deltas", "cycle", "lines"}
    assert all(kind.name == name and kind.title for name, kind in monitors.TABLE.items())
    assert monitors.names()[: len(KINDS)] == list(monitors.TABLE)


def test_a_strangers_monitor_comes_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        def load(self) -> MonitorKind:
            return MonitorKind("theirs", "t", monitors.Params, lambda params, brief: StreamMonitor())

    class Broken:
        def load(self) -> str:
            return "not a kind"

    monitors._installed.cache_clear()
    monkeypatch.setattr(monitors, "entry_points", lambda group: [Point(), Broken()] if group == monitors.GROUP else [])
    try:
        assert monitors.get("theirs").name == "theirs"
        assert monitors.names()[-1] == "theirs"
    finally:
        monitors._installed.cache_clear()
    with pytest.raises(monitors.UnknownMonitor, match="theirs"):
        monkeypatch.undo()
        monitors.get("theirs")


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ABOUT_EVENTS])
@settings(max_examples=60, deadline=None)
@given(text=story, sizes=st.lists(st.integers(1, 200), min_size=1, max_size=5))
def test_the_verdict_does_not_depend_on_the_cutting(name: str, text: str, sizes: list[int]) -> None:
    by_character = play(monitor(name), text)
    assert play(monitor(name), [text]) == by_character
    assert play(monitor(name), cut(text, sizes)) == by_character


@pytest.mark.parametrize("name", [name for name in KINDS if monitors.get(name).gathers])
@settings(max_examples=60, deadline=None)
@given(
    text=story,
    channel=st.sampled_from([Channel.TEXT, Channel.REASONING, Channel.TOOL]),
    factor=st.sampled_from([0.7, 0.85, 1.0, 2.0]),
)
def test_a_quiet_monitor_keeps_its_word(name: str, text: str, channel: Channel, factor: float) -> None:
    given = {"factor": factor} if "factor" in monitors.get(name).params.model_fields else {}
    looking = monitor(name, **given)
    quiet = plain = 0
    for at, sign in enumerate(text, 1):
        if not sign.isascii():
            plain = 0
        hit = looking.feed(sign, channel)
        if hit is not None:
            assert at >= quiet and at >= plain
            return
        quiet = max(quiet, at + looking.quiet)
        plain = max(plain, at + looking.plain)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=30, deadline=None)
@given(text=st.text(max_size=400), sizes=st.lists(st.integers(1, 50), min_size=1, max_size=4))
def test_any_text_is_judged_without_an_exception(name: str, text: str, sizes: list[int]) -> None:
    looking = monitor(name)
    play(looking, cut(text, sizes))
    assert 0.0 <= looking.suspicion() <= 1.0
    assert looking.suspicion() <= looking.peak() <= 1.0


AWKWARD = {
    "distinct lines": lambda n: f"Line {n} is like no other: {n * 7919 % 1000003}\n",
    "no newline, no space": lambda n: f"{n:x}",
    "emoji words": lambda n: f"{chr(0x1F600 + n % 50) * 80}{n} ",
    "ideographs": lambda n: chr(0x4E00 + n * 31 % 20000),
    "white space": lambda n: " \n\t\u3000"[n % 4] * 3,
    "rules of growing length": lambda n: "=" * (n % 700) + "\n",
    "runs of one letter": lambda n: "a" * (40 + n * 17 % 23) + "b" * (n % 5),
}


@pytest.mark.parametrize("shape", AWKWARD)
def test_all_monitors_of_an_answer_together_keep_64_kib_at_most(shape: str) -> None:
    """As the seeds' rules run them: one period, and echo, lines and cycle on text and on reasoning."""
    made = AWKWARD[shape]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        watching = [monitor(name) for name in ("period", "equal_deltas", "lines", "cycle", "lines", "cycle")]
        fed = 0
        for n in range(1_500):
            piece = made(n)
            fed += len(piece)
            if fed > 48_000:  # more than any of them looks back
                break
            watching = [looking for looking in watching if looking.feed(piece, Channel.TEXT) is None]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before <= 64 * 1024


def deaf(name: str) -> StreamMonitor:
    """A monitor whose bars nothing reaches, so that it goes on looking: its `factor`, else its last number, is a
    thousand million."""
    never = {"period": "distinct", "lines": "chars", "cycle": "distinct"}
    fields = monitors.get(name).params.model_fields
    numbers = [field for field, info in fields.items() if info.annotation in (int, float)]
    bar = "factor" if "factor" in fields else never.get(name, numbers[-1] if numbers else None)
    return monitor(name, **({bar: 10**9} if bar else {}))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("flood", ["a", " ", "\n", "=", "0", "😀", "\ufffd", "ab", "a\n", "- \n", "好", "0.0 "])
def test_work_grows_with_the_text_and_not_faster(name: str, flood: str) -> None:
    """Counted in interpreter lines, not in time: twice the flood is about twice the work, in pieces or whole."""
    once, twice = (flood * (n // len(flood)) for n in (2_000, 4_000))
    few, all_of_it = lines_run(deaf(name), cut(once, [3]), cut(twice[len(once) :], [3]))
    assert all_of_it <= 2.2 * few + 300
    (few,), (all_of_it,) = lines_run(deaf(name), [once]), lines_run(deaf(name), [twice])
    assert all_of_it <= 2.2 * few + 300


def test_a_watch_of_every_monitor_is_calm_on_healthy_text() -> None:
    """A licence: real prose that says nearly the same often, in lists, headings and legal turns of phrase."""
    rules = RuleSet(Rule(name=name.replace("_", "-"), monitor=name) for name in KINDS)
    watch = rules.watch(Brief("Tell me the terms of the licence."))
    for piece in cut(Path("LICENSE").read_text(encoding="utf-8"), [5, 3, 7]):
        assert watch.feed(0, Channel.TEXT, "c", piece) == () if piece else True
    assert watch.broken == {}
