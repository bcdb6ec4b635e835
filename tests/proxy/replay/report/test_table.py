"""What is printed: every number of a finding, never a character of a recording."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from proxy.commands.offline import replay, show_rules
from proxy.replay import JudgingConfig, as_json, run
from proxy.replay.report.listing import pack_of
from rules.before.step_detectors import STEP_DETECTORS
from rules.detect import packs
from rules.errors.provider_packs import packs as error_packs
from rules.values.verdict import Mode

PACKS = error_packs()
RECORDINGS = Path("tests/fixtures/rules")
RULES = packs.assemble(["seeds"])


def console(width: int = 200, *, terminal: bool = False) -> tuple[Console, StringIO]:
    out = StringIO()
    return Console(file=out, width=width, force_terminal=terminal, color_system=None), out


def test_a_table_of_findings_with_their_evidence() -> None:
    (out, written), (err, progress) = console(), console()
    assert replay([RECORDINGS], JudgingConfig(RULES), None, json=False, out=out, err=err) == 1
    text = written.getvalue()
    assert "repeated-block" in text
    assert "tokens 11 ≥ 4, copies 20 ≥ 20, distinct 11 ≥ 3" in text
    assert "the fuse would act in " in text
    assert progress.getvalue() == "", "no bar in a pipe"


@pytest.mark.parametrize("width", [40, 80, 131])
def test_where_a_table_has_no_room_each_finding_is_a_few_whole_lines(width: int) -> None:
    out = StringIO()
    narrow = Console(file=out, width=width, color_system=None, soft_wrap=True)  # as the command's own
    replay([RECORDINGS], JudgingConfig(RULES), None, json=False, out=narrow, err=console()[0])
    told = out.getvalue().splitlines()
    at = next(n for n, line in enumerate(told) if line.startswith("  repeated-block: cut in text at "))
    assert told[at - 1].startswith(str(RECORDINGS))
    assert told[at].partition("(")[2].startswith("from ")
    assert told[at + 1 : at + 3] == ["  the same again, 20 times", "  tokens 4 ≥ 4, copies 20 ≥ 20, distinct 4 ≥ 3"]
    assert told[-2].startswith("by rule: ")
    assert "evidence" not in out.getvalue()


def test_nothing_to_judge_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[1]")
    for other in (None, JudgingConfig(RULES)):
        (out, written), (err, _) = console(), console()
        assert replay([tmp_path], JudgingConfig(RULES), None, json=False, out=out, err=err, other=other) == 2
        assert "nothing to judge" in written.getvalue()


def test_a_bar_on_a_terminal() -> None:
    (out, _), (err, progress) = console(), console(terminal=True)
    replay([RECORDINGS], JudgingConfig(RULES), None, json=False, out=out, err=err)
    assert progress.getvalue()


def test_json_holds_the_same_and_parses() -> None:
    (out, written), (err, _) = console(40), console()
    assert replay([RECORDINGS], JudgingConfig(RULES), None, json=True, out=out, err=err) == 1
    told = json.loads(written.getvalue())
    assert told == json.loads(json.dumps(as_json(run([RECORDINGS], JudgingConfig(RULES)))))
    finding = told["findings"][0]
    assert set(finding["evidence"]) == set(finding["bars"])
    assert finding["acts"] and finding["saved"] > 0 and finding["at"] > finding["since"]
    assert told["unreadable"] == []


def test_quiet_recordings_print_one_line_and_exit_0(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "calm"}\n')
    (out, written), (err, _) = console(), console()
    assert replay([tmp_path], JudgingConfig(RULES), None, json=False, out=out, err=err) == 0
    assert written.getvalue().strip() == (
        "1 recordings, 4 characters: something fires in 0, the fuse would act in 0, 0 characters saved"
    )


@pytest.mark.parametrize("as_json_too", [False, True])
def test_no_text_of_a_recording_is_ever_printed(tmp_path: Path, as_json_too: bool) -> None:
    secret = "xyzzy plugh "
    (tmp_path / "x.jsonl").write_text(
        json.dumps({"text": secret * 100, "instruction": "swordfish"}) + '\n{"text": "plugh'
    )
    (out, written), (err, _) = console(), console()
    assert replay([tmp_path], JudgingConfig(RULES), None, json=as_json_too, out=out, err=err) == 1
    assert not any(word in written.getvalue() for word in ("xyzzy", "plugh", "swordfish"))


def test_the_listing_as_json_holds_every_threshold() -> None:
    out, written = console(40)
    assert show_rules(JudgingConfig(packs.assemble(), mode=Mode.WATCH, history=Mode.OFF), json=True, out=out) == 0
    told = json.loads(written.getvalue())
    assert set(told) == {"format", "rules", "score", "habits", "ladder", "errors"}
    prices = {(row["rule"], row["channel"]): row for row in told["score"]}
    assert all(row["stopped"] + 1 <= row["risk"] * (row["texts"] + 2) for row in prices.values())
    rule = next(rule for rule in told["rules"] if rule["pack"])
    assert rule["params"] and rule["mode"] == "watch" and rule["channels"]
    habit = next(habit for habit in told["habits"] if habit["name"] == "repeated_action")
    assert habit["defaults"] == habit["params"] == {"equal": 3, "polls": 40} and habit["mode"] == "off"
    assert {pack["pack"] for pack in told["errors"]} == set(PACKS)
    assert all(pack["rules"] for pack in told["errors"])


def test_the_listing_of_rules() -> None:
    out, written = console()
    assert show_rules(JudgingConfig(packs.assemble()), json=False, out=out) == 0
    text = written.getvalue()
    for rule in packs.assemble():
        assert rule.name in text
    every: list[Any] = [*STEP_DETECTORS, *PACKS.values()]
    for named in every:
        assert named.title in text
        assert pack_of(rule.name)
    assert pack_of("someone-elses") == ""
