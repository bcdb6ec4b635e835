"""Gemini CLI behind the fuse: a task ends well, loops end quietly, one death goes unnoticed, failures end as alone."""

from __future__ import annotations

import orjson
import pytest

from proxy.demo.script import Break, End, Line, Say, ScriptedCall, ScriptedFinish, words

from .agents import GEMINI
from .upstream import ANSWER, LOOPING, answer, calls, circles, loops, once

UNHEALED = 'default_provider: up\nproviders: {up: {base_url: "{upstream}", heal: none}}\n'
"""A heal would ask once more."""

pytestmark = [pytest.mark.agents, pytest.mark.timeout(240)]


async def test_a_task_ends_well(play):
    stage = await play(GEMINI, calls("touch ran-whole"))
    assert (stage.ran.code, stage.files(), len(stage.upstream.main)) == (0, {"ran-whole"}, 2), stage.story()
    assert ANSWER in stage.ran.out, stage.story()
    assert await stage.fuse.metric("streamfuse_loops_total") == 0


@pytest.mark.parametrize(("plot", "channel"), [(loops, "text"), (circles, "reasoning")])
async def test_a_loop_is_cut_and_the_turn_ends(play, plot, channel):
    stage = await play(GEMINI, plot, config=UNHEALED)
    assert (stage.ran.code, len(stage.upstream.main)) == (0, 1), stage.story()
    assert stage.upstream.main[0].gone, stage.story()
    assert await stage.fuse.metric("streamfuse_loops_total", channel=channel, action="cut", wire="gemini") == 1


async def test_a_looping_argument_is_cut_and_never_run(play):
    def plot(asked):
        if asked.attempt > 1 or asked.has_result:
            yield from answer()
            return
        given = {"command": f"touch ran-loop; echo {LOOPING * 60}", "description": "Make a file."}
        yield Say("I will do it now.")
        yield ScriptedCall(asked.shell["name"], (orjson.dumps(given).decode(),))
        yield ScriptedFinish("tool_calls")

    stage = await play(GEMINI, plot)
    assert (stage.ran.code, stage.files()) == (0, set()), stage.story()
    assert await stage.fuse.metric("streamfuse_loops_total", channel="tool", action="cut") == 1


async def test_an_upstream_that_dies_once_is_not_noticed(play):
    stage = await play(GEMINI, once((Break(),), lambda _: answer()))
    assert (stage.ran.code, len(stage.upstream.main)) == (0, 2), stage.story()
    assert ANSWER in stage.ran.out and await stage.fuse.metric("streamfuse_requests_total") == 1, stage.story()


async def test_an_answer_that_ends_without_a_finish_is_asked_for_again(play):
    """As the CLI does by itself."""
    half: list[Line] = [*words("Half an answer"), End()]
    stage = await play(GEMINI, once(half, lambda _: answer()))
    assert stage.ran.code == 0 and ANSWER in stage.ran.out, stage.story()


async def test_an_answer_that_breaks_off_is_an_error_and_no_silent_success(play):
    stage = await play(GEMINI, lambda _: (*words("Half an answer"), Break()))
    assert stage.ran.code not in (0, None), stage.story()
