"""What a person at a terminal reads: a line an exchange, with the reason, and nothing that moves the cursor."""

from __future__ import annotations

import dataclasses
import io
import re
import time

import pytest

from proxy.observers.journal import JournalObserver
from proxy.observers.reports import (
    BreakerChanged,
    EndReason,
    FellBack,
    FromMemory,
    LoopFound,
    Outcome,
    Report,
    RequestInfo,
    Retrying,
    Stage,
    StateChanged,
)
from proxy.observers.terminal import TerminalLines
from rules.values.verdict import Mode

from . import CALL, EXCHANGE, FAILURE, PROMPT, SECRET, ended, found

NOON = time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))


def lines(*reports: Report, colours: bool = False) -> list[str]:
    eyes = TerminalLines(colours=colours, clock=lambda: NOON)
    return [said[1] for report in reports if (said := eyes.line(report)) is not None]


def test_an_exchange_without_news_is_one_short_line() -> None:
    quiet = dataclasses.replace(ended(Outcome.OK, EndReason.DONE), findings=(), attempts=1)
    (line,) = lines(quiet)
    assert re.split(r"\s{2,}", line) == ["12:00:00", "ok", "openai", "gpt-x", "3.0 s"]
    assert len(line) < 80


def test_a_cut_says_why_and_which_exchange_it_was() -> None:
    (line,) = lines(ended())
    assert line.startswith("12:00:00  cut ")
    assert "cut: the same 20 characters, 30 times in the reasoning (rule period)" in line
    assert line.endswith("  req-1")


def test_a_failure_says_what_the_provider_said_and_after_how_many_tries() -> None:
    said = lines(*EXCHANGE[:3], dataclasses.replace(ended(Outcome.FAILED, EndReason.ERROR), findings=()))
    assert "failed after 0.2 s: 429: rate limit" in said[0]
    assert "retry      openai  gpt-x" in said[1] and said[1].endswith("try 2 in 0.2 s: 429: rate limit")
    assert "429: rate limit, after 2 tries  req-1" in said[2]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (found(Mode.WATCH), "finding    openai  gpt-x                 watched only; would have been cut: the same 20"),
        (FromMemory(CALL, "breaker"), "answered from memory: the provider is failing"),
        (FellBack(CALL, FAILURE, "spare", "other"), "asks spare instead (other): 429: rate limit"),
        (BreakerChanged("openai", "gpt-x", True, FAILURE), "openai gpt-x is failing (429: rate limit)"),
        (BreakerChanged("openai", "", False, FAILURE), "breaker    openai answers again"),
        (StateChanged(False, "ConnectionError"), "the shared state is away: ConnectionError"),
        (
            Stage("reload_failed", {"problem": "config.yaml:3: no"}, wrong=True),
            "reload failed  problem: config.yaml:3: no",
        ),
        (dataclasses.replace(ended(Outcome.CLIENT_GONE), findings=()), "left       openai  gpt-x"),
    ],
)
def test_other_news_are_sentences(report: Report, expected: str) -> None:
    (line,) = lines(report)
    assert expected in line


def test_colours_follow_what_happened() -> None:
    (good,) = lines(dataclasses.replace(ended(Outcome.OK), findings=(), attempts=1), colours=True)
    (cut,) = lines(ended(), colours=True)
    assert "\x1b[32mok" in good and "\x1b[33mcut" in cut
    assert "\x1b" not in "".join(lines(*EXCHANGE))


def test_names_that_clients_choose_move_no_cursor() -> None:
    call = RequestInfo("a\x1b[2Jb\r", "openai", "openai_chat", "m\x1b[31m", session="s\n1")
    found_there = LoopFound(call, found().finding, False)
    text = "".join(lines(ended(call=call), Retrying(call, FAILURE, "server", 1.0, 1), found_there))
    assert "\x1b" not in text and "\r" not in text and "\n" not in text


def test_never_content_never_credentials() -> None:
    text = "\n".join(lines(*EXCHANGE))
    assert SECRET not in text and PROMPT not in text and "Incorrect" not in text


def test_levels_hold_for_it_too() -> None:
    out = io.StringIO()
    journal = JournalObserver(format="console", level="warning", stream=out)
    for report in EXCHANGE:
        journal.hear(report)
    said = out.getvalue().splitlines()
    assert [line.split()[1] for line in said] == ["cut", "spent", "state"]


def test_a_config_that_comes_while_a_request_runs_forgets_nothing() -> None:
    out = io.StringIO()
    journal = JournalObserver(format="console", stream=out)
    journal.hear(EXCHANGE[1])
    journal._set("console", "info")
    journal.hear(dataclasses.replace(ended(Outcome.OK, EndReason.DONE), findings=()))
    assert "answered at try 2; before: 429: rate limit" in out.getvalue()
