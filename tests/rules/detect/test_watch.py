"""The watch: who is fed with what, what comes out once, and what stays bounded."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from rules.detect import monitors, packs
from rules.detect.monitors.base import SHOWN, MonitorKind, MonitorScope, Params, StreamMonitor
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.detect.watch import CALLS, CHOICES, NEAR_MISS, OVER, Watch
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Action, Hit, Mode

TEXT, REASONING, TOOL = Channel.TEXT, Channel.REASONING, Channel.TOOL


class BarParams(Params):
    bar: int = 10


class Counter(StreamMonitor):
    """Fires once it was fed `bar` characters; explodes on a NUL."""

    def __init__(self, params: Params, brief: Brief) -> None:
        assert isinstance(params, BarParams)
        self.bar, self.fed = params.bar, 0

    def feed(self, text: str, channel: Channel) -> Hit | None:
        if "\0" in text:
            raise RuntimeError("a bug")
        self.fed += len(text)
        return Hit(at=self.fed, since=0, span=self.fed) if self.fed >= self.bar else None

    def called(self, name: str, arguments: str) -> Hit | None:
        return Hit(at=self.fed, since=0, span=0) if name == "loop" else None

    def suspicion(self) -> float:
        return min(1.0, self.fed / self.bar)


@pytest.fixture(autouse=True)
def counters(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, scope in (("each", MonitorScope.CHANNEL), ("whole", MonitorScope.CHOICE)):
        kind = MonitorKind(name=name, title=name, params=BarParams, start=Counter, scope=scope)
        monkeypatch.setitem(monitors.TABLE, name, kind)


def rule(name: str = "r", monitor: str = "each", **more: object) -> Rule:
    return Rule.model_validate({"name": name, "monitor": monitor, "channels": ["text", "reasoning", "tool"], **more})


def test_a_channel_of_a_choice_has_its_own_monitor_whatever_the_block() -> None:
    watch = RuleSet([rule()]).watch()
    assert watch.feed(0, TEXT, "a", "12345") == ()
    assert watch.feed(0, REASONING, "a", "12345") == ()
    assert watch.feed(1, TEXT, "a", "12345") == ()
    (finding,) = watch.feed(0, TEXT, "b", "12345")
    assert (finding.rule, finding.choice, finding.channel, finding.hit.at) == ("r", 0, TEXT, 10)
    assert finding.acts


def test_a_tool_call_has_its_own_monitor() -> None:
    watch = RuleSet([rule()]).watch()
    assert not watch.feed(0, TOOL, "call 0", "12345")
    assert not watch.feed(0, TOOL, "call 1", "12345")
    assert watch.feed(0, TOOL, "call 0", "67890")


def test_a_whole_choice_is_one_monitor_over_its_channels() -> None:
    watch = RuleSet([rule(monitor="whole", channels=["reasoning", "text"])]).watch()
    assert not watch.feed(0, REASONING, "r", "12345")
    assert not watch.feed(0, TOOL, "t", "1234567890")
    assert not watch.feed(1, TEXT, "c", "12345")
    assert watch.feed(0, TEXT, "c", "12345")


def test_a_rule_fires_once_in_its_scope_and_still_watches_others() -> None:
    watch = RuleSet([rule()]).watch()
    assert watch.feed(0, TEXT, "c", "1234567890")
    assert watch.feed(0, TEXT, "c", "1234567890") == ()
    assert watch.feed(0, TEXT, "d", "1234567890") == ()
    assert watch.feed(0, REASONING, "r", "1234567890")
    assert watch.feed(1, TEXT, "c", "1234567890")


def test_the_strongest_finding_that_acts_comes_first_then_the_order_of_the_pack() -> None:
    rules = RuleSet(
        [
            rule("told", action="refuse", mode="watch"),
            rule("noted", action="note"),
            rule("cut", action="cut"),
            rule("again", action="retry"),
            rule("cut-too", action="cut"),
        ]
    )
    found = rules.watch().feed(0, TEXT, "c", "1234567890")
    assert [f.rule for f in found] == ["again", "cut", "cut-too", "told", "noted"]
    assert [f.acts for f in found] == [True, True, True, False, False]


class PreciseCounter(Counter):
    """Fires at `bar` characters to the character."""

    def feed(self, text: str, channel: Channel) -> Hit | None:
        hit = super().feed(text, channel)
        return Hit(at=self.bar, since=0, span=self.bar) if hit else None


@pytest.mark.parametrize("size", [1, 3, 7, 40])
def test_of_equal_findings_the_first_is_the_same_for_every_cutting(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = MonitorKind(name="precise", title="p", params=BarParams, start=PreciseCounter)
    monkeypatch.setitem(monitors.TABLE, "precise", kind)
    late, soon = (rule(name, monitor="precise", params={"bar": bar}) for name, bar in (("late", 12), ("soon", 9)))
    watch = RuleSet([late, rule("even-later", monitor="precise", params={"bar": 12}), soon]).watch()
    found = [f.rule for at in range(0, 40, size) for f in watch.feed(0, TEXT, "c", ("x" * 40)[at : at + size])]
    assert found == ["soon", "late", "even-later"]


@pytest.mark.parametrize(
    ("of_rule", "of_request", "mode", "acts"),
    [
        (Mode.ON, Mode.ON, Mode.ON, True),
        (Mode.WATCH, Mode.ON, Mode.WATCH, False),
        (Mode.ON, Mode.WATCH, Mode.WATCH, False),
    ],
)
def test_the_weaker_mode_holds(of_rule: Mode, of_request: Mode, mode: Mode, acts: bool) -> None:
    (finding,) = RuleSet([rule(mode=of_rule)]).watch(mode=of_request).feed(0, TEXT, "c", "1234567890")
    assert (finding.mode, finding.acts) == (mode, acts)


@pytest.mark.parametrize(("of_rule", "of_request"), [(Mode.OFF, Mode.ON), (Mode.ON, Mode.OFF)])
def test_off_runs_nothing(of_rule: Mode, of_request: Mode) -> None:
    watch = RuleSet([rule(mode=of_rule)]).watch(mode=of_request)
    assert watch.feed(0, TEXT, "c", "1234567890\0") == ()
    assert watch.broken == {}


def test_a_complete_call_is_told_to_monitors_of_whole_choices_on_the_tool_channel() -> None:
    rules = RuleSet([rule("each"), rule("whole", monitor="whole"), rule("deaf", monitor="whole", channels="text")])
    watch = rules.watch()
    assert watch.called(0, "fine", "{}") == ()
    assert [f.rule for f in watch.called(0, "loop", "{}")] == ["whole"]
    assert watch.called(0, "loop", "{}") == ()
    assert watch.called(1, "loop", "{}")


def test_suspicion_is_that_of_the_most_suspicious_rule_that_would_act() -> None:
    watch = RuleSet([rule("a"), rule("b", params={"bar": 2}, action="note")]).watch()
    assert watch.suspicion(0) == 0.0
    watch.feed(0, TEXT, "c", "1")
    watch.feed(0, REASONING, "r", "12345")
    assert watch.suspicion(0) == 0.5
    assert watch.suspicion(1) == 0.0


def test_nobody_is_suspicious_while_only_watching() -> None:
    watch = RuleSet([rule()]).watch(mode=Mode.WATCH)
    watch.feed(0, TEXT, "c", "12345")
    assert watch.suspicion(0) == 0.0


def test_stutters_are_asked_of_watching_rules_too_once_a_channel_of_a_choice() -> None:
    rules = [rule("a"), rule("b", mode="watch", params={"bar": 8}), rule("c", monitor="whole", params={"bar": 100})]
    watch = RuleSet(rules).watch(mode=Mode.WATCH)
    watch.feed(0, TEXT, "c", "1234")
    watch.feed(0, REASONING, "r", "12345")
    watch.feed(2, TOOL, "call", "1234567")
    assert [(s.rule, s.channel, s.choice, s.suspicion) for s in watch.near_misses()] == [
        ("b", TEXT, 0, 0.5),
        ("b", REASONING, 0, 0.625),
        ("b", TOOL, 2, 0.875),
    ]


@pytest.mark.parametrize("size", [1, 7, 250, OVER])
def test_a_channel_that_is_over_is_watched_anew_if_it_goes_on_after_all(size: int) -> None:
    for between, anew in ((OVER - 1, False), (OVER, True)):
        watch = RuleSet([rule(channels=["reasoning"]), rule("other", channels=["text"], params={"bar": 10**6})]).watch()
        watch.feed(0, REASONING, "r", "1234567")
        for at in range(0, between, size):
            watch.feed(0, TEXT, "t", "x" * min(size, between - at))
        assert bool(watch.feed(0, REASONING, "r", "123")) is not anew
        assert bool(watch.feed(0, REASONING, "r", "4567890")) is anew


def test_the_monitors_of_a_channel_that_is_over_are_freed_and_their_near_miss_is_told() -> None:
    rules = [rule(), rule("whole", "whole", params={"bar": 10**6})]
    watch = RuleSet([rules[0].model_copy(update={"channels": (REASONING, TOOL)}), rules[1]]).watch()
    watch.feed(0, REASONING, "r", "12345678")
    watch.feed(0, TOOL, "call", "1234567")
    live = watch._choices[0].live
    assert len(live) == 3
    for _ in range(OVER):
        watch.feed(0, TEXT, "t", "xx")
    assert [scope[1] for scope in live] == [-1], "that of the whole choice goes on"
    assert [(s.channel, s.suspicion) for s in watch.near_misses()] == [(REASONING, 0.8), (TOOL, 0.7)]
    assert [(s.channel, s.suspicion) for s in watch.near_misses(now=True)] == []
    watch.feed(0, REASONING, "r", "123456789")
    assert [s.suspicion for s in watch.near_misses() if s.channel is REASONING] == [0.9]


def test_a_rule_that_fired_and_one_that_breaks_when_asked_have_no_stutter(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = RuleSet([rule(), rule("broken", params={"bar": 100})]).watch()
    assert watch.feed(0, TEXT, "c", "1234567890")
    assert watch.near_misses() == ()
    watch.feed(1, TEXT, "c", "123456789")
    assert [s.rule for s in watch.near_misses()] == ["r"]

    def raises(monitor: Counter) -> float:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Counter, "suspicion", raises)
    assert watch.near_misses() == ()


def test_a_monitor_that_raises_is_disarmed_and_the_others_go_on() -> None:
    watch = RuleSet([rule("a"), rule("b")]).watch()
    assert watch.feed(0, TEXT, "c", "\0") == ()
    assert watch.broken == {"a": "RuntimeError", "b": "RuntimeError"}
    assert watch.feed(0, TEXT, "c", "1234567890") == ()
    assert watch.feed(1, TEXT, "c", "1234567890") == ()


def test_empty_text_reaches_no_monitor() -> None:
    watch = RuleSet([rule(params={"bar": 0})]).watch()
    assert watch.feed(0, TEXT, "c", "") == ()
    assert watch.feed(0, TEXT, "c", "1")


class Paced(Counter):
    """Looks at every tenth character only, and says so."""

    shown: ClassVar[list[str]] = []

    def feed(self, text: str, channel: Channel) -> Hit | None:
        self.shown.append(text)
        before = self.fed
        hit = super().feed(text, channel)
        self.quiet = self.plain = 10 - self.fed % 10
        return hit if self.fed // 10 > before // 10 else None


@pytest.fixture
def paced(monkeypatch: pytest.MonkeyPatch) -> type[Paced]:
    monkeypatch.setattr(Paced, "shown", [])
    kind = MonitorKind("paced", "t", BarParams, Paced, gathers=True)
    monkeypatch.setitem(monitors.TABLE, "paced", kind)
    return Paced


def test_text_is_kept_until_a_monitor_could_fire(paced: type[Paced]) -> None:
    watch = RuleSet([rule(monitor="paced", params={"bar": 30})]).watch()
    found = [watch.feed(0, TEXT, "c", "abcd") for _ in range(8)]
    assert [bool(f) for f in found] == [False] * 7 + [True]
    assert found[7][0].hit.at == 32
    assert paced.shown == ["abcd", "abcdabcd", "abcdabcd", "abcdabcdabcd"]
    assert watch.gathers


def test_what_is_kept_is_shown_before_anyone_asks(paced: type[Paced]) -> None:
    watch = RuleSet([rule(monitor="paced", params={"bar": 30})]).watch()
    for _ in range(4):
        watch.feed(0, TEXT, "c", "abcd")
    assert watch.suspicion(0) == pytest.approx(16 / 30)
    watch.feed(0, TEXT, "c", "a")
    assert [s.suspicion for s in watch.near_misses()] == [pytest.approx(17 / 30)]
    watch.feed(0, TEXT, "c", "a")
    assert not watch.drain() and sum(map(len, paced.shown)) == 17
    assert watch.near_misses() and sum(map(len, paced.shown)) == 18


def test_a_monitor_that_does_not_gather_is_shown_each_piece(paced: type[Paced]) -> None:
    watch = RuleSet([rule("a", monitor="paced", params={"bar": 99}), rule("b", params={"bar": 99})]).watch()
    for piece in ("a", "bc", "d"):
        watch.feed(0, TEXT, "c", piece)
    (counter,) = (one for one in watch._choices[0].live.values() if not isinstance(one, Paced))
    assert isinstance(counter, Counter) and counter.fed == 4 and not watch.gathers
    assert paced.shown == ["a"]


def test_what_is_kept_survives_a_rule_that_fires_on_another_channel(paced: type[Paced]) -> None:
    watch = RuleSet([rule("a", monitor="paced", params={"bar": 10}, channels=["text", "reasoning"])]).watch()
    watch.feed(0, TEXT, "c", "x")
    watch.feed(0, TEXT, "c", "kept")
    assert [f.channel for _ in range(12) for f in watch.feed(0, REASONING, "r", "y")] == [REASONING]
    assert [f.hit.at for f in watch.feed(0, TEXT, "c", "z" * 20)] == [25]


def test_text_that_no_monitor_waits_for_does_not_pile_up() -> None:
    same = RuleSet([Rule(name="same", monitor="same_call", channels=(TOOL,))]).watch()
    for _ in range(1000):
        same.feed(0, TOOL, "t", "x" * 10)
    assert len(same._slots[0, TOOL, "t"].kept) < SHOWN


def test_choices_and_calls_without_end_keep_bounded_state() -> None:
    watch = RuleSet([rule()]).watch()
    for n in range(20 * CHOICES):
        watch.feed(n, TEXT, f"k{n}", "1")
        watch.feed(0, TOOL, f"call {n}", "1")
        watch.feed(1, TEXT, f"block {n}", "")
    assert len(watch._choices) <= CHOICES
    assert len(watch._slots) <= 5 * CHOICES
    assert all(len(w.live) <= CALLS + 2 for w in watch._choices.values())


def test_as_many_calls_as_are_watched_at_once_each_keep_their_monitor() -> None:
    watch = RuleSet([rule()]).watch()
    for n in range(CALLS):
        assert not watch.feed(0, TOOL, f"call {n}", "12345")
    for n in range(CALLS):
        assert watch.feed(0, TOOL, f"call {n}", "67890"), n


def test_keys_without_end_in_one_choice_keep_bounded_state_and_a_loop_is_still_seen() -> None:
    watch = RuleSet([rule()]).watch()
    for n in range(4 * CHOICES + 9):
        assert not watch.feed(0, TEXT, f"block {n}", "")
        assert len(watch._slots) <= 4 * CHOICES
    assert not watch.feed(0, TEXT, "last", "12345")
    assert watch.feed(0, TEXT, "another", "67890")


def test_rule_reads_words_and_yaml_booleans() -> None:
    made = rule(channels="text", action="retry", mode=True, references="https://a.example", params={"bar": 3})
    assert (made.channels, made.action, made.mode) == ((TEXT,), Action.RETRY, Mode.ON)
    assert made.references == ("https://a.example",)
    assert made.params == BarParams(bar=3)
    assert rule(mode=False).mode is Mode.OFF
    assert Rule.model_validate(made.model_dump()) == made


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"monitor": "nobody"}, "no monitor is called 'nobody'"),
        ({"channels": ["smell"]}, "'smell' is none of text, reasoning, tool, refusal"),
        ({"action": "explode"}, "'explode' is none of pass, note"),
        ({"params": {"bars": 3}}, "bars: Extra inputs are not permitted"),
        ({"params": {"bar": "x"}}, "bar: Input should be a valid integer"),
        ({"name": "No Spaces"}, "name"),
        ({"mode": "perhaps"}, "mode"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_rule_says_which_field(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError) as e:
        Rule.model_validate({"name": "r", "monitor": "each", **wrong})
    assert told in str(e.value)


def test_a_rule_cannot_change() -> None:
    with pytest.raises(ValidationError):
        rule().name = "other"  # type: ignore[misc]


def test_rule_set_finds_leaves_out_and_refuses_doubles() -> None:
    rules = RuleSet([rule("a"), rule("b")])
    assert (len(rules), rules["b"].name) == (2, "b")
    assert [r.name for r in rules.without(["a"])] == ["b"]
    with pytest.raises(KeyError):
        rules["c"]
    with pytest.raises(ValueError, match="no rule is called c"):
        rules.without(["c"])
    with pytest.raises(ValueError, match="two rules are called a"):
        RuleSet([rule("a"), rule("a")])


# what needs no monitor ----------------------------------------------------------------------------------------------
UNITS = st.text(st.sampled_from("ab01 \n\t-|=❤字│`"), min_size=1, max_size=9)


@given(UNITS, st.integers(0, 256), st.sampled_from([0.1, 0.4, 1.0, 3.0]), st.sampled_from(Channel))
@example("字", 63, 0.4, TEXT)
@example(" ", 63, 1.0, TOOL)
@example("\0", 95, 1.0, TEXT)
@example("a b ", 64, 1.0, TEXT)
@example("\\ud83d\\ude00", 12, 1.0, TOOL)
def test_a_text_that_needs_no_monitor_leaves_every_one_calm(unit: str, size: int, factor: float, channel: Channel):
    """Nothing is found in it, and no suspicion of it is worth telling."""
    for name in monitors.TABLE:
        kind = monitors.get(name)
        params = kind.params(**({"factor": factor} if "factor" in kind.params.model_fields else {}))
        calm, calm_ascii = kind.needless(params, channel)
        text = (unit * size)[: calm_ascii if unit.isascii() else calm]
        monitor = kind.start(params, Brief())
        if text:
            assert monitor.feed(text, channel) is None, name
            assert max(monitor.suspicion(), monitor.peak()) < NEAR_MISS, name


def test_no_monitor_is_made_for_a_short_text():
    watch = RuleSet(packs.load("default").rules).watch()
    assert watch.feed(0, TEXT, "", "x" * 95) == () and not watch.doubt
    assert not watch.drain() and not watch.near_misses()
    assert not watch._choices[0].live
    watch.feed(0, TEXT, "", "x")
    assert watch._choices[0].live


def test_monitors_are_made_one_after_the_other_as_the_text_grows():
    rules = RuleSet(packs.load("default").rules)
    watch, made = rules.watch(), []
    for sign in "The quick brown fox jumps over the lazy dog while nobody at all is looking at it. " * 4:
        watch.feed(0, TEXT, "", sign)
        made.append(len(watch._choices[0].live))
    assert [made.index(count) + 1 for count in sorted(set(made) - {0})] == [96, 192, 256]
    names = [type(monitor).__name__ for monitor in watch._slots[0, TEXT, ""].monitors]
    assert names == ["ExactRepetition", "Novelty", "SpacedRepetition", "LongPassage"]


@given(
    st.lists(st.tuples(UNITS, st.integers(1, 300)), min_size=1, max_size=3),
    st.lists(st.integers(1, 90), min_size=1, max_size=12),
    st.sampled_from(Channel),
    st.integers(0, 700),
)
def test_monitors_that_are_made_late_find_the_same(
    parts: list[tuple[str, int]], cuts: list[int], channel: Channel, stop: int
):
    """Against a watch whose monitors are made with the first character."""
    rules = RuleSet(packs.load("default").rules)
    at_once = {
        channel: (tuple(one._replace(calm=-1, calm_ascii=-1) for one in due), 0, 0)
        for channel, (due, _, _) in rules.dues.items()
    }
    late, early = rules.watch(), Watch(rules.armed, Brief(), Mode.ON, due=at_once)
    text = "".join((unit * size)[:size] for unit, size in parts)[:stop]
    at, turn = 0, 0
    while at < len(text):
        piece = text[at : at + cuts[turn % len(cuts)]]
        at, turn = at + len(piece), turn + 1
        found = late.feed(0, channel, "", piece)
        assert found == early.feed(0, channel, "", piece)
        if found:
            break
    assert late.near_misses() == early.near_misses()
