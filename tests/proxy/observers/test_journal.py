"""The journal's lines, and what may never stand in them."""

from __future__ import annotations

import dataclasses
import io
import json

import pytest

from proxy.observers.journal import JournalObserver
from proxy.observers.reports import (
    Attempted,
    EndReason,
    NearMissed,
    Outcome,
    Retrying,
    Stage,
    StateChanged,
    UpstreamCut,
    safe_code,
)
from rules.values.delta import Channel
from rules.values.verdict import Mode, NearMiss

from . import CALL, EXCHANGE, FAILURE, PROMPT, SECRET, ended, found


def lines(*reports, format: str = "json", level: str = "debug") -> list:
    out = io.StringIO()
    journal = JournalObserver(format=format, level=level, stream=out)
    for report in reports:
        journal.hear(report)
    text = out.getvalue().splitlines()
    return [json.loads(line) for line in text] if format == "json" else text


def test_one_line_an_exchange_with_numbers_and_names():
    (line,) = lines(ended(), level="info")
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "exchange",
        "level": "warning",
        "request_id": "req-1",
        "provider": "openai",
        "wire": "openai_chat",
        "model": "gpt-x",
        "stream": True,
        "outcome": "cut",
        "end": "cut",
        "status": 200,
        "seconds": 3.0,
        "first_event": 0.5,
        "attempts": 2,
        "events": 40,
        "malformed": 1,
        "bytes_in": 1000,
        "bytes_out": 900,
        "code": "streamfuse_loop_cut",
        "step": "final",
        "findings": [
            {
                "rule": "period",
                "action": "cut",
                "mode": "on",
                "acted": True,
                "channel": "reasoning",
                "choice": 0,
                "at": 700,
                "since": 100,
                "span": 600,
                "period": 20,
                "copies": 30.0,
                "evidence.span": 600.0,
                "bar.span": 512.0,
                "because": "the same 20 characters, 30 times",
            }
        ],
    }


def test_a_good_exchange_is_info():
    (line,) = lines(ended(Outcome.OK, EndReason.DONE))
    assert line["level"] == "info" and line["end"] == "done"


@pytest.mark.parametrize("format", ["json", "console"])
def test_never_content_never_credentials(format):
    text = "\n".join(map(str, lines(*EXCHANGE, format=format)))
    assert ("exchange" in text and "rate_limit" in text) or ("cut: " in text and "rate limit" in text)
    assert SECRET not in text and PROMPT not in text and "Incorrect" not in text


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("rate_limit_exceeded", True),
        ("RESOURCE_EXHAUSTED", True),
        ("1305", True),
        (SECRET, False),
        ("two words", False),
        ("x" * 65, False),
        ("1234567", False),
        (None, False),
        ("a\nb", False),
    ],
)
def test_codes_that_may_be_written(code, kept):
    assert safe_code(code) == (code if kept else None)


def test_a_watching_finding_has_its_own_line_an_acting_one_comes_with_its_exchange():
    assert [line["event"] for line in lines(found(Mode.WATCH), found(Mode.ON))] == ["finding"]


def test_every_attempt_says_on_whose_behalf_it_was():
    call = dataclasses.replace(CALL, scope="max-judge")
    said = lines(Attempted(call, 1, 0.2, 500, FAILURE), Retrying(call, FAILURE, "max_judge", 0.5, 1), level="debug")
    assert [(line["event"], line["scope"]) for line in said] == [("attempt", "max-judge"), ("retry", "max-judge")]


def test_levels():
    said = [line["event"] for line in lines(*EXCHANGE, level="info")]
    assert said == ["retry", "error_rule", "exchange", "budget_exhausted", "state_down"]
    assert [line["event"] for line in lines(*EXCHANGE, level="warning")] == [
        "exchange",
        "budget_exhausted",
        "state_down",
    ]
    assert [line["event"] for line in lines(*EXCHANGE, level="error")] == ["state_down"]
    assert lines(*EXCHANGE, level="off") == []
    assert sum(line["event"] == "attempt" for line in lines(*EXCHANGE, level="debug")) == 2


def test_the_process_and_its_state():
    said = lines(Stage("started", {"port": 8787}), StateChanged(True))
    assert [(line["event"], line.get("port")) for line in said] == [("started", 8787), ("state_up", None)]


def test_console_has_no_colours_where_nobody_sees_them(monkeypatch):
    assert "\x1b" not in "".join(lines(*EXCHANGE, format="console"))

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def shown(**env: str) -> str:
        out = Terminal()
        for name in ("NO_COLOR",):
            monkeypatch.delenv(name, raising=False)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        JournalObserver(stream=out).hear(ended())
        return out.getvalue()

    assert "\x1b" in shown() and "\x1b" not in shown(NO_COLOR="1")


def test_the_cuts_of_servers_and_stutters_stand_with_their_exchange():
    cut = UpstreamCut(CALL, "repetition", 0)
    near_miss = NearMissed(CALL, NearMiss("refrain", Channel.TEXT, 1, 0.6789))
    (line,) = lines(cut, near_miss, dataclasses.replace(ended(), server_cuts=(cut,), near_misses=(near_miss,)))
    assert line["server_cuts"] == [{"reason": "repetition", "choice": 0}]
    assert line["stutters"] == [{"rule": "refrain", "channel": "text", "choice": 1, "suspicion": 0.68}]


def test_a_name_whose_bytes_are_no_utf_8_has_its_line():
    (line,) = lines(ended(call=dataclasses.replace(CALL, request_id="req-\udcff")))
    assert line["request_id"] == "req-\udcff" and line["event"] == "exchange"
