"""The demo plays every scene, tells the truth about both halves, and --keep stays up where it says."""

import io
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from rich.console import Console

from proxy.demo import run
from proxy.demo.show import SCENES


@pytest.fixture(scope="module")
def printed():
    out = io.StringIO()
    assert run(False, console=Console(file=out, width=200), pace=0) == 0
    return out.getvalue()


def scene(printed, number):
    """The text of one scene, as (without, with streamfuse), each with its lines joined."""
    body = re.split(rf"^{number}\. ", printed, flags=re.M)[1]
    body = re.split(r"^\d+\. |^metrics that moved", body, flags=re.M)[0]
    rows = [line.strip("│").split("│") for line in body.splitlines() if line.startswith("│")]
    return tuple(" ".join(row[side].strip() for row in rows) for side in (0, 1))


def test_every_scene_is_played(printed):
    for number, each in enumerate(SCENES, 1):
        assert f"{number}. {each.title}" in printed


def test_a_good_answer_looks_the_same_on_both_sides(printed):
    without, fused = (re.sub(r" in [\d.]+ s", "", half) for half in scene(printed, 1))
    assert without == fused
    assert "finish_reason: stop" in fused


def test_a_loop_runs_to_its_limit_without_the_fuse(printed):
    assert "finish_reason: length 10,427 characters" in scene(printed, 2)[0]


def test_metrics_are_shown(printed):
    assert 'streamfuse_requests_total{outcome="ok"' in printed


def test_keep_stays_up_until_it_is_told_to_end():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", "from proxy.demo import run; raise SystemExit(run(True, pace=0))"],
        env={**os.environ, "STREAMFUSE_LISTEN__PORT": str(port)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "curl -N" in line)
        url = re.findall(r"http://\S+", line)[0]
        body = re.findall(r"-d '(.*)'", line)[0].replace("loop", "clean")
        request = urllib.request.Request(url, body.encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.read().endswith(b"data: [DONE]\n\n")
        page = re.findall(r"http://\S+/-/", next(line for line in process.stdout if "/-/" in line))[0]
        with urllib.request.urlopen(page, timeout=20) as answer:
            assert b"clean" in answer.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        assert process.stdout is not None
        process.stdout.close()
        process.wait()


def test_a_taken_port_is_said_plainly(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setenv("STREAMFUSE_LISTEN__PORT", str(taken.getsockname()[1]))
        out = io.StringIO()
        assert run(True, console=Console(file=out, width=200)) == 1
    assert "cannot be had" in out.getvalue()


def test_what_the_fuse_does_is_seen(printed):
    text, thoughts, busy, dies, tools = (scene(printed, number)[1] for number in range(2, 7))
    assert "finish_reason: stop" in text
    assert "finish_reason: stop" in thoughts
    assert "[streamfuse]" in thoughts
    for retried in (busy, dies):
        assert "finish_reason: stop" in retried
        assert "1 asked, 2 sent to the provider" in retried
    assert "streamfuse stopped this run" in tools
    assert "18 sent to the provider" in tools


def test_without_it_the_same_troubles_are_real(printed):
    text, thoughts, busy, dies, tools = (scene(printed, number)[0] for number in range(2, 7))
    assert "finish_reason: length" in text
    assert "finish_reason: length" in thoughts
    assert "HTTP 429" in busy
    assert "the stream broke off" in dies
    assert "gave up after 20 steps" in tools
