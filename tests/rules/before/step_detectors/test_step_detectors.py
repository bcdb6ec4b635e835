"""The table of step detectors, and the edges of each that the conversations do not reach."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.before import step_detectors
from rules.before.evidence.facts import MOST_CALLS, facts
from rules.before.review import review
from rules.before.step_detector import StepDetector
from rules.before.step_detectors import STEP_DETECTORS, stalled
from rules.values.steps import Run, Step, ToolCall


def step(*calls: tuple[str, str, str | None], text: str = "", reasoning: str = "", cut: bool = False) -> Step:
    return Step(text=text, reasoning=reasoning, calls=tuple(ToolCall("", *c) for c in calls), cut=cut)


def start(name: str, **params: object) -> StepDetector:
    kind = step_detectors.get(name)
    return kind.start(kind.params(**params))


def first_hit(name: str, steps: list[Step], **params: object) -> int | None:
    detector = start(name, **params)
    return next((n for n, s in enumerate(steps, 1) if detector.look(facts(s)) is not None), None)


def test_names_are_unique_and_titles_said() -> None:
    assert len({kind.name for kind in STEP_DETECTORS}) == len(STEP_DETECTORS)
    assert all(kind.title and kind.params().model_config["frozen"] for kind in STEP_DETECTORS)
    with pytest.raises(KeyError, match="there are: repeated_action, doom_loop"):
        step_detectors.get("x")


def test_the_page_of_steps_has_a_row_for_each() -> None:
    page = (Path(__file__).parents[4] / "docs/steps.md").read_text(encoding="utf-8")
    lacking = [kind.name for kind in STEP_DETECTORS if f"\n| `{kind.name}` |" not in page]
    assert not lacking, f"docs/steps.md has no row for {lacking}: when does it fire, and when not?"


@pytest.mark.parametrize("kind", STEP_DETECTORS, ids=lambda kind: kind.name)
def test_quiet_on_nothing_and_on_one_step(kind: step_detectors.DetectorKind) -> None:
    detector = kind.start(kind.params())
    assert detector.look(facts(Step())) is None
    assert detector.look(facts(step(("f", "{}", "x"), text="I look at the file."))) is None


CALL = ("read", '{"f":"a"}', "x")


def test_repeated_action_counts_on_polls_for_longer() -> None:
    assert first_hit("repeated_action", [step(CALL)] * 5) == 3
    assert first_hit("repeated_action", [step(("poll", "{}", "still running"))] * 50) == 40
    assert first_hit("repeated_action", [step(("bash", "{}", "Running tests\n2 failed\nexit code 1"))] * 50) == 3
    assert first_hit("repeated_action", [step(("read", "{}", None))] * 5) == 3


IDS = [
    "request {:08x} failed quietly",
    "ok, trace req_{:x}Zq9k1Lw2x",
    "id 01HZX{:05d}K4Q7M9V2B8C3 kept",
    '{{"trace":"c29tZS{:04d}IGJ5dGVz","rows":"none of them"}}',
    "served at 17{:08d}, nothing new here",
    "node a1b2-{:06d}-c3d4 says hello",
]


@pytest.mark.parametrize("form", IDS)
def test_ids_that_change_in_the_results_do_not_hide_a_repetition(form: str) -> None:
    row = [step(("query", "{}", form.format(0xBEEF00 + 77 * n))) for n in range(30)]
    assert first_hit("repeated_action", row) == 6
    detector = start("repeated_action")
    assert [detector.look(facts(one)) for one in row][-1] is not None and detector.doubtful, "reminded, never refused"


@pytest.mark.parametrize(
    "form", ["{} of 900 done", "line {}", "epoch {} loss 0.41", "step00012345 of run {}", "v1.{}.0"]
)
def test_counters_and_bare_ids_are_news(form: str) -> None:
    row = [step(("query", "{}", form.format(n))) for n in range(10, 40)]
    assert first_hit("repeated_action", row) is None
    assert first_hit("repeated_action", [step(("new_id", "{}", f"{n:016x}")) for n in range(7**9, 7**9 + 30)]) is None


def test_a_text_step_ends_a_row_of_actions() -> None:
    row = [step(CALL), step(CALL), step(text="Done."), step(CALL), step(CALL)]
    assert first_hit("repeated_action", row) is None


def test_a_changed_result_is_progress_for_every_habit() -> None:
    for kind in STEP_DETECTORS:
        detector = kind.start(kind.params())
        for n in range(40):
            seen = facts(step(("read", '{"f":"log"}', f"row {n}"), text=f"Part {n} of the work is different: {n * n}"))
            hit = detector.look(seen)
            assert hit is None or kind.name == "narration", kind.name


@pytest.mark.parametrize("period", range(2, 7))
def test_cycles_of_every_period(period: int) -> None:
    calls = [step((f"f{i % period}", "{}", f"r{i % period}")) for i in range(period * 3)]
    assert first_hit("call_cycle", calls) == period * 3
    assert first_hit("call_cycle", calls[:-1]) is None


def test_a_foreign_call_inside_does_not_hide_a_cycle() -> None:
    cycle = [step((f"f{i % 3}", "{}", f"r{i % 3}")) for i in range(9)]
    assert first_hit("call_cycle", [*cycle[:4], step(("other", "{}", "once")), *cycle[4:]]) == 10


def test_seven_periods_are_too_many() -> None:
    assert first_hit("call_cycle", [step((f"f{i % 7}", "{}", f"r{i % 7}")) for i in range(35)]) is None


def test_empty_look_ups_only_warn() -> None:
    detector = start("same_error")
    hits = [detector.look(facts(step(("search", f'{{"q":{n}}}', "No results")))) for n in range(10)]
    assert hits[7] is not None and detector.warn_only
    detector = start("same_error")
    hits = [detector.look(facts(step(("search", f'{{"q":{n}}}', f"error {n}: denied")))) for n in range(10)]
    assert hits[7] is not None and not detector.warn_only


def test_one_success_starts_the_errors_again() -> None:
    bad = step(("search", '{"q":1}', "error: denied"))
    assert first_hit("same_error", [*[bad] * 7, step(CALL), *[bad] * 7]) is None


def test_an_edit_is_news() -> None:
    reads = [step((f"read{i % 4}", "{}", "x")) for i in range(22)]
    assert first_hit("no_news", reads) == 22
    assert first_hit("no_news", [*reads[:20], step(("edit", "{}", "ok")), *reads[20:]]) is None


def test_thinking_of_an_answer_we_cut_is_not_judged() -> None:
    thought = "We go round and round. " * 120
    assert first_hit("stalled", [step(reasoning=thought)] * 4) == 3
    assert first_hit("stalled", [step(reasoning=thought, cut=True)] * 9) is None


def test_stalled_reacts_four_times_at_most() -> None:
    detector = start("stalled")
    thought = facts(step(reasoning="We go round and round. " * 120))
    assert sum(detector.look(thought) is not None for _ in range(60)) == 4


def test_narration_needs_the_same_call() -> None:
    same = [step(("status", "{}", f"{n}"), text=f"Still waiting: {n} of 30 are done.") for n in range(14)]
    other = [step(("read", f'{{"n":{n}}}', "x"), text=f"Still waiting: {n} of 30 are done.") for n in range(14)]
    assert first_hit("narration", same) == 12 and first_hit("narration", other) is None


PREAMBLE = "I will now examine the configuration to see what is wrong with the loader."
SEARCHES = [
    ("grep", lambda n: f'{{"q":"x{n}"}}', lambda n: f"match {n}"),
    (
        "search_files",
        lambda n: f'{{"pattern":"{"abcdefghijklmn"[n]}zq"}}',
        lambda n: f"nothing for {'abcdefghijklmn'[n]}zq",
    ),
    ("bash", lambda n: f'{{"command":"rg -n handler{n} src"}}', lambda n: ""),
]
WORK = [
    ("read", lambda n: f'{{"path":"f{n}.py"}}', lambda n: f"class {'abcdefghijklmn'[n] * 5}: pass"),
    ("grep", lambda n: f'{{"q":"x{n}"}}', lambda n: "a line of some file\n" * 60),
    ("edit", lambda n: f'{{"path":"f{n}.py"}}', lambda n: "ok"),
    ("close_ticket", lambda n: f'{{"id":{n}}}', lambda n: f"ticket {n} is closed"),
    ("bash", lambda n: f'{{"command":"rm /tmp/{n}"}}', lambda n: ""),
    ("get_job", lambda n: f'{{"id":{n}}}', lambda n: "pending"),
]


def told(tool: tuple[str, Any, Any], text: str = PREAMBLE) -> list[Step]:
    name, asks, gets = tool
    return [step((name, asks(n), gets(n)), text=text) for n in range(14)]


@pytest.mark.parametrize("tool", SEARCHES, ids=lambda tool: tool[0])
def test_narration_before_look_ups_that_bring_nothing(tool: tuple[str, Any, Any]) -> None:
    assert first_hit("narration", told(tool)) == 12
    assert first_hit("narration", told(tool, "Next, let me see.")) is None, "a set phrase"
    varied = [*told(tool)[:6], step((tool[0], tool[1](6), "def found(): ..."), text=PREAMBLE), *told(tool)[7:]]
    assert first_hit("narration", varied) is None, "one of them brought something"


@pytest.mark.parametrize("tool", WORK, ids=lambda tool: tool[0])
def test_narration_before_work_is_none(tool: tuple[str, Any, Any]) -> None:
    assert first_hit("narration", told(tool)) is None


FIXES = [
    "sed -i s/a/b/ x.py",
    "cat > x.py <<E",
    "apply_patch <<'E'",
    "git checkout x.py",
    "pip install y",
    "echo 1 >> x",
]
LOOKS = [
    "cat x.py",
    "grep -n a x.py 2>/dev/null",
    "ls -l >/dev/null",
    "awk '$1 >= 2' x",
    "python -c 'a->b'",
    "pytest 2>&1",
]


@pytest.mark.parametrize(("commands", "hit"), [(FIXES, None), (LOOKS, 11)], ids=["fixes", "looks"])
def test_a_shell_that_edits_between_failing_tests_is_work(commands: list[str], hit: int | None) -> None:
    steps = []
    for n in range(10):
        steps.append(step(("bash", '{"command":"pytest"}', "FAILED 1 failed")))
        steps.append(step(("bash", json.dumps({"command": f"{commands[n % len(commands)]} {n}"}), f"text {n}")))
    assert first_hit("call_cycle", steps) == hit


WORDS = st.sampled_from(["a", "b", "c", "d"])


@given(st.lists(st.tuples(WORDS, st.booleans(), st.booleans()), max_size=12), st.integers(2, 4))
def test_stalled_is_asked_only_where_it_could_hit(shape: list[tuple[str, bool, bool]], bar: int) -> None:
    kind = step_detectors.get("stalled")
    params = kind.params.model_validate({"steps": bar, "min_chars": 256})
    steps = [
        facts(step(*([CALL] if calls else []), reasoning=f"{word} thinks " * 40, cut=cut)) for word, calls, cut in shape
    ]
    assert kind.may_hit is not None
    detector = kind.start(params)
    for n, one in enumerate(steps, 1):
        if detector.look(one) is not None:
            assert kind.may_hit(params, steps[:n])


def test_going_on_costs_one_comparison_however_long_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def restates(*texts: str) -> bool:
        compared.append(texts)
        return False

    monkeypatch.setattr(stalled, "restates", restates)
    run = Run(tuple(step(("f", f'{{"n":{n}}}', "x"), reasoning=f"{n} " * 2000) for n in range(64)))
    assert review(run).findings == () and len(compared) == 1


def test_a_crowd_of_calls_in_one_step_is_looked_at_as_one() -> None:
    crowd = [("write", f'{{"n":{n}}}', "ok") for n in range(3000)]
    other = [*crowd[:-1], ("write", '{"n":0}', "ok")]
    assert len(facts(step(*crowd)).calls) == MOST_CALLS + 1
    assert first_hit("repeated_action", [step(*crowd)] * 3) == 3
    assert first_hit("repeated_action", [step(*crowd), step(*crowd), step(*other)]) is None


def cycles(keys: str, copies: int = 3) -> bool:
    """Do the newest calls repeat with a period of 2 to 6, as they are or without any one of them but the last?"""

    def even(some: str, period: int) -> bool:
        return all(some[i] == some[i - period] for i in range(period, len(some)))

    for period in range(2, 7):
        need = period * copies
        if len(keys) < need or len(set(keys[-period:])) < 2:
            continue
        longer = keys[-need - 1 :] if len(keys) > need else ""
        if even(keys[-need:], period) or any(
            even(longer[:i] + longer[i + 1 :], period) for i in range(len(longer) - 1)
        ):
            return True
    return False


@given(st.text(alphabet="ab", max_size=24) | st.text(alphabet="abcd", max_size=30))
def test_call_cycle_finds_what_its_definition_says(keys: str) -> None:
    detector = start("call_cycle", returns=99)
    hits = [detector.look(facts(step((key, "{}", "ok")))) is not None for key in keys]
    assert hits == [cycles(keys[:n]) for n in range(1, len(keys) + 1)]
