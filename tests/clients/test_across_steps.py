"""A scripted model that repeats itself over many calls, and real agents that would follow it for ever."""

import orjson
import pytest

from proxy.demo.script import Say, ScriptedCall, ScriptedFinish
from rules.values.notices import MARK

from .agents import AUTO
from .upstream import ANSWER, answer, arguments

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]


def reminded(asked):
    """Does this request carry a reminder of ours?"""
    return MARK.encode() in orjson.dumps(asked.body)


def for_ever(asked):
    """The same command again, whatever came of it."""
    if asked.shell is None or len(asked.body.get("messages") or asked.body.get("input") or []) > 60:
        yield from answer()
        return
    yield ScriptedCall(
        asked.shell["name"], (orjson.dumps(arguments(asked.shell["schema"], "echo the same again")).decode(),)
    )
    yield ScriptedFinish("tool_calls")


def until_told(asked):
    """The same command again, until a reminder comes."""
    yield from answer() if reminded(asked) else for_ever(asked)


@pytest.mark.parametrize("name", ["opencode", "codex", "claude"])
async def test_alone_an_agent_follows_to_the_end(play, name):
    stage = await play(name, for_ever, fuse=False)
    assert len(stage.upstream.main) > 15, stage.story()


@pytest.mark.parametrize("name", ["opencode", "codex", "claude"])
async def test_a_repeated_call_is_reminded_and_ended_late(play, name):
    stage = await play(name, for_ever)
    told = [reminded(asked) for asked in stage.upstream.main]
    # 12 equal results, half as many again while a wait cannot be ruled out
    assert told == [False] * 3 + [True] * (len(told) - 3) and 12 <= len(told) <= 18, stage.story()
    assert stage.ran.code is not None, stage.story()
    assert "streamfuse stopped this run" in stage.said, stage.story()


@pytest.mark.parametrize("name", ["opencode", "codex", "claude"])
async def test_a_model_that_heeds_the_reminder_finishes_its_task(play, name):
    stage = await play(name, until_told)
    assert [reminded(asked) for asked in stage.upstream.main] == [False, False, False, True], stage.story()
    assert stage.ran.code == 0, stage.story()
    assert ANSWER in stage.said, stage.story()


async def test_the_same_answer_to_every_request_comes_to_an_end(play):
    def same(asked):
        yield Say("I am done with the task.")
        yield ScriptedFinish("stop")

    stage = await play(AUTO, same)
    assert stage.ran.code is not None, stage.story()
    assert len(stage.upstream.main) <= 20, stage.story()
