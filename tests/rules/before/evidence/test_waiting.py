"""Waits of all kinds, in many languages: reminded at most, never refused for as long as anybody waits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rules.before.evidence.waiting import Sign, waits
from rules.before.ladder import Pace
from rules.before.review import review
from rules.histories import HISTORIES
from rules.values.steps import ToolCall
from rules.values.verdict import Action

from ....conversations import FORMS, Line

FAST = Pace((1.0,) * 12)
"""The hardest case: the requests follow each other at once."""

SHELL = "bash"
WAITS: list[tuple[str, dict[str, Any], str]] = [
    # commands and tools that wait
    (SHELL, {"command": "sleep 90"}, ""),
    (SHELL, {"command": "sleep 30; cat build.status"}, "no"),
    (SHELL, {"command": "until nc -z localhost 5432; do :; done"}, ""),
    (SHELL, {"command": "while ! test -f ready; do true; done"}, ""),
    (SHELL, {"command": "tail -f server.log"}, "listening on 8080 soon, loading the model with 7 layers"),
    (SHELL, {"command": "kubectl wait --for=condition=ready pod/web"}, "timed out"),
    (SHELL, {"command": "gh run watch 991"}, "build 1 of 3"),
    (SHELL, {"command": "inotifywait -e create out"}, "Watches established."),
    (SHELL, {"command": "journalctl -u web -f"}, "-- No entries --"),
    ("python", {"code": "import time; time.sleep(60); print(job.state)"}, "JobState.A"),
    ("browser_evaluate", {"function": "() => new Promise(r => setTimeout(r, 5000))"}, "undefined"),
    ("computer", {"action": "wait", "duration": 5}, "waited"),
    ("wait_for_user", {}, "nobody"),
    ("WaitForJob", {"id": 9}, "1 of 9"),
    ("mcp__ci__watch", {"run": 4}, "3/9"),
    ("task_output", {"task_id": "t1", "block": True, "timeout": 30000}, "<retrieval_status>timeout</retrieval_status>"),
    ("get_job", {"id": 1, "wait": "30s"}, "A"),
    ("poll_queue", {}, "[]"),
    ("Sleep", {"ms": 30000}, "ok"),
    # states in words
    ("get_deployment", {"id": "d"}, '{"phase": "ROLLING_OUT", "progressing": true, "state": "PATCHING"}'),
    ("get_vm", {"id": "v"}, "Booting"),
    ("job", {"id": 1}, "任务正在排队，请稍候"),
    ("job", {"id": 1}, "尚未完成"),
    ("job", {"id": 1}, "デプロイを準備中です"),
    ("job", {"id": 1}, "まだ完了していません"),
    ("job", {"id": 1}, "배포 진행 중입니다"),
    ("job", {"id": 1}, "État : en attente"),
    ("job", {"id": 1}, "Status: läuft noch"),
    ("job", {"id": 1}, "Сборка выполняется"),
    ("job", {"id": 1}, "Estado: en curso"),
    ("job", {"id": 1}, "Estado: pendente"),
    ("job", {"id": 1}, "Stato: in corso"),
    ("job", {"id": 1}, "الحالة: قيد التنفيذ"),
    ("job", {"id": 1}, "Durum: çalışıyor"),
    ("job", {"id": 1}, "Stan: w toku"),
    ("job", {"id": 1}, "Wordt uitgevoerd"),
    ("job", {"id": 1}, "Stav: čeká"),
    ("job", {"id": 1}, "स्थिति: जारी है"),
    ("job", {"id": 1}, "đang xử lý"),
    ("job", {"id": 1}, "sedang diproses"),
    # somebody does not answer yet, something is not there yet
    (SHELL, {"command": "curl -sf localhost:8080/healthz"}, "curl: (7) Failed to connect: Connection refused"),
    (SHELL, {"command": "psql -c 'select 1'"}, "could not connect to server: Connection refused"),
    ("http_get", {"url": "http://localhost:9/ready"}, "503 Service Unavailable"),
    ("check", {"id": "x"}, '{"done":false}'),
    ("check", {"id": "x"}, '{"finished_at":null}'),
    ("check_inbox", {}, '{"unread":0}'),
    (
        "kubectl",
        {"args": "get pods"},
        "NAME READY STATUS\n" + "web 1/1 Running 0\n" * 40 + "db 0/1 Init:0/2 0",
    ),
]


def steps(name: str, arguments: dict[str, Any], result: str, count: int) -> list[Line]:
    return [("user", "Go on."), *[("call", name, json.dumps(arguments, ensure_ascii=False), result)] * count]


@pytest.mark.parametrize("wire", list(FORMS))
@pytest.mark.parametrize("row", WAITS, ids=[f"{n} {json.dumps(a)} {r[:20]}" for n, a, r in WAITS])
def test_whoever_waits_is_never_refused(wire: str, row: tuple[str, dict[str, Any], str]) -> None:
    for count in (3, 14, 30, 60):
        run = HISTORIES[wire].run(FORMS[wire](steps(*row, count)))
        assert review(run, pace=FAST).action < Action.REFUSE, count


DOUBTFUL: list[tuple[str, dict[str, Any], str]] = [
    (SHELL, {"command": "ls out/"}, ""),
    (SHELL, {"command": "test -f done.flag && echo yes || echo no"}, "no"),
    (SHELL, {"command": "pgrep -f train.py"}, "4711"),
    (SHELL, {"command": "nvidia-smi --query-gpu=memory.used"}, "40536 MiB"),
    ("list_background_agents", {}, "[]"),
    ("read_file", {"path": "train.log"}, "epoch 3/90 loss 0.41, so it goes on and on and on"),
]


@pytest.mark.parametrize("row", DOUBTFUL, ids=[f"{n} {json.dumps(a)}" for n, a, _ in DOUBTFUL])
def test_a_look_that_may_be_a_wait_is_reminded_and_refused_late(row: tuple[str, dict[str, Any], str]) -> None:
    def action(count: int) -> Action:
        return review(HISTORIES["openai_chat"].run(FORMS["openai_chat"](steps(*row, count))), pace=FAST).action

    assert [action(n) for n in (2, 3, 17, 18)] == [Action.PASS, Action.ADVISE, Action.ADVISE, Action.REFUSE]


LOOPS: list[tuple[str, dict[str, Any], str]] = [
    ("read_file", {"path": "src/a.py"}, "print(1)"),
    (SHELL, {"command": "git add -A && git commit -m wip"}, "On branch main\nnothing to commit, working tree clean"),
    (SHELL, {"command": "pytest -q"}, "Running tests\n1 failed: test_a AssertionError"),
    ("edit", {"path": "k.md", "old": "a", "new": "a"}, "No changes made to k.md."),
    ("search", {"query": "how to wait for kubernetes"}, "3 results: a, b, c"),
    (SHELL, {"command": "cat src/poll.py", "timeout": 120000}, "def poll(): return 1"),
]


@pytest.mark.parametrize("row", LOOPS, ids=[f"{n} {json.dumps(a)}" for n, a, _ in LOOPS])
def test_a_loop_without_a_wait_is_reminded_at_three_and_refused_by_twenty(
    row: tuple[str, dict[str, Any], str],
) -> None:
    acts = [
        review(HISTORIES["openai_chat"].run(FORMS["openai_chat"](steps(*row, n))), pace=FAST).action
        for n in range(1, 21)
    ]
    assert acts[:3] == [Action.PASS, Action.PASS, Action.ADVISE]
    assert Action.REFUSE not in acts[:11] and acts[-1] is Action.REFUSE


@pytest.mark.parametrize(
    ("name", "arguments", "sign"),
    [
        ("bash", {"command": "make"}, Sign.NONE),
        ("bash", {"command": "make", "timeout": 120000}, Sign.NONE),
        ("bash", {"command": "timeout 60 make"}, Sign.LIKELY),
        ("grep", {"pattern": "time.sleep(5) or wait"}, Sign.NONE),
        ("get_watchlist", {"id": 1}, Sign.NONE),
        ("job", {"wait": False}, Sign.NONE),
        ("job", {"options": {"poll_interval": 5}}, Sign.SURE),
    ],
)
def test_what_is_a_wait(name: str, arguments: Any, sign: Sign) -> None:
    assert waits(name, arguments) is sign


def test_calls_that_wait_are_linear_on_floods() -> None:
    from rules.before.evidence.facts import call_facts

    for flood in ("1", " ", "-", "while ", "tail ", "0/", "中", "wird ", "ing", "a=", "\n", "status: "):
        assert call_facts(ToolCall("1", "bash", flood * 600, (flood * 4000)[:4000])).sign >= Sign.NONE
        assert call_facts(ToolCall("1", "x", "{}", (flood * 600)[:600])).sign >= Sign.NONE
