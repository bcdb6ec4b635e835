"""Every way in which an upstream spoils an answer, once, with a real agent behind the fuse.

Alone, each of these makes some agent hang, loop, print nothing and call it success, or take half an answer for a whole
one. Behind the fuse every run ends by itself, and with the answer or with an error said aloud.
"""

from typing import Any

import pytest

from proxy.demo.script import Break, End, Page, Refuse, Say, ScriptedFault, ScriptedFinish, Think

from .agents import AGENTS
from .upstream import ANSWER, answer, once

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]

HALF = (Say("I will look"), Say(" at the"))
ERROR = b'{"error":{"message":"overloaded","type":"server_error"}}'
SPOILED: dict[str, tuple[Any, ...]] = {
    "429": (Refuse(429, {"retry-after": "1"}),),
    "503": (Refuse(503),),
    "reset before the first word": (Break(),),
    "end before the first word": (End(),),
    "error before the first word": (ScriptedFault(),),
    "error as JSON with status 200": (
        Page(b'{"error":{"message":"overloaded","type":"server_error"}}', "application/json"),
    ),
    "a web page with status 200": (Page(b"<html><body>bad gateway</body></html>"),),
    "nothing with a legal end": (ScriptedFinish("stop"),),
    "only thoughts with a legal end": (Think("Let me see."), ScriptedFinish("stop")),
    "reset in the middle": (*HALF, Break()),
    "end in the middle": (*HALF, End()),
    "error in the middle": (*HALF, ScriptedFault()),
    "a finish reason that nobody knows": (*HALF, ScriptedFinish("moonlight")),
}
HONEST = ("nothing with a legal end", "only thoughts with a legal end", "a finish reason that nobody knows")
"""The upstream itself calls these a normal end, so an agent may too; it must only come to an end."""
INVISIBLE = list(SPOILED)[:7]
"""Those that happen before the client was shown anything: retried, and no agent may notice."""


ONE_A_WIRE = ("pi", "codex", "claude")


@pytest.mark.parametrize(
    ("name", "end"),
    [(name, end) for name in AGENTS for end in (INVISIBLE if name in ONE_A_WIRE else INVISIBLE[4:5])],
)
async def test_what_comes_before_the_first_word_is_not_noticed(play, name, end):
    stage = await play(name, once(SPOILED[end], lambda _: answer()))
    assert stage.ran.code == 0, stage.story()
    assert ANSWER in stage.said, stage.story()
    digests = {asked.digest for asked in stage.upstream.main}
    assert len(digests) == 1, stage.story()
    assert await stage.fuse.metric("streamfuse_requests_total", outcome="ok") == await stage.fuse.metric(
        "streamfuse_requests_total"
    ), stage.story()


@pytest.mark.parametrize("end", list(SPOILED)[7:])
@pytest.mark.parametrize("name", AGENTS)
async def test_what_comes_later_is_never_a_silent_success(play, name, end):
    stage = await play(name, once(SPOILED[end], lambda _: answer()))
    assert stage.ran.code is not None, stage.story()
    if end not in HONEST:
        assert stage.ran.code != 0 or ANSWER in stage.said, stage.story()


@pytest.mark.parametrize("name", AGENTS)
async def test_a_loop_that_the_server_cut_itself_is_a_normal_end(play, name):
    stage = await play(name, lambda _: [*HALF, ScriptedFinish("repetition")])
    assert stage.ran.code == 0, stage.story()
    assert len(stage.upstream.main) == 1, stage.story()
    if name != "codex":  # Responses has no such finish, so the script ends there as ever
        assert await stage.fuse.metric("streamfuse_server_cuts_total", reason="repetition") == 1, stage.story()


@pytest.mark.parametrize("name", ["codex", "claude", "opencode"])
async def test_a_dead_upstream_is_asked_no_more_often_than_by_the_agent_alone(play, name):
    # Alone they ask 30, 6 and 5 times in half a minute. Ours come after 0.5, 2, 4, 8 and 16 s.
    stage = await play(name, lambda _: [Refuse(503)], limit=30)
    assert stage.upstream.main, stage.story()
    for digest in {asked.digest for asked in stage.upstream.main}:
        assert len([asked for asked in stage.upstream.main if asked.digest == digest]) <= 6, stage.story()
