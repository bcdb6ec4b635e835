"""Real agents behind the fuse: tasks end well, loops end quietly, a death goes unnoticed, half a call never runs."""

import orjson
import pytest

from proxy.demo.script import Break, ScriptedCall, ScriptedFinish
from rules.values.notices import MARK

from .agents import AGENTS
from .upstream import ANSWER, ENDS, LOOPING, answer, arguments, calls, circles, half_call, loops, once

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]

WITH_TOOLS = [name for name, agent in AGENTS.items() if agent.tools]


@pytest.mark.parametrize("name", AGENTS)
async def test_a_task_ends_well(play, name):
    stage = await play(name, calls("touch ran-whole"))
    assert stage.ran.code == 0, stage.story()
    assert ANSWER in stage.said, stage.story()
    assert stage.files() == ({"ran-whole"} if stage.agent.tools else set()), stage.story()
    assert len(stage.upstream.main) == (2 if stage.agent.tools else 1), stage.story()
    assert await stage.fuse.metric("streamfuse_loops_total") == 0


@pytest.mark.parametrize("name", AGENTS)
async def test_a_looping_answer_is_cut_and_the_turn_ends(play, name):
    stage = await play(name, loops)
    (asked,) = stage.upstream.main or [None]
    assert stage.ran.code == 0, stage.story()
    assert asked.gone, stage.story()
    assert asked.chars < 20_000, stage.story()
    assert LOOPING.strip() in stage.said, stage.story()
    assert await stage.fuse.metric("streamfuse_loops_total", channel="text", action="cut") == 1


@pytest.mark.parametrize("name", AGENTS)
async def test_looping_thoughts_are_cut_and_the_turn_ends(play, name):
    stage = await play(name, circles)
    (asked,) = stage.upstream.main or [None]
    assert stage.ran.code == 0, stage.story()
    assert asked.chars < 20_000, stage.story()
    assert await stage.fuse.metric("streamfuse_loops_total", channel="reasoning", action="cut") == 1


@pytest.mark.parametrize("name", AGENTS)
async def test_an_upstream_that_dies_once_is_not_noticed(play, name):
    stage = await play(name, once([Break()], lambda _: answer()))
    first, second = stage.upstream.main or [None, None]
    assert first.digest == second.digest, stage.story()
    assert stage.ran.code == 0, stage.story()
    assert ANSWER in stage.said, stage.story()
    # What the agent itself sent: one request, whatever the fuse made of it (side calls not counted).
    sides = {asked.digest for asked in stage.upstream.asked if not stage.upstream.is_main(asked)}
    assert await stage.fuse.metric("streamfuse_requests_total") == 1 + len(sides), stage.story()


REPAIR = ("pi", "qwen")
"""Alone these complete half a call and run it: they get every way of leaving one half done."""


@pytest.mark.parametrize(
    ("name", "end"),
    [(name, end) for name in WITH_TOOLS for end in (ENDS if name in REPAIR else ("stop", "length", "reset"))],
)
async def test_half_a_call_is_never_run(play, name, end):
    stage = await play(name, half_call("touch ran-half", ENDS[end]), limit=60)
    assert stage.upstream.main, stage.story()
    assert stage.files() == set(), stage.story()
    assert stage.ran.code is not None, stage.story()
    # Never a silent, empty success: the agent has an answer, or says that it failed or that a call was dropped.
    assert stage.ran.code != 0 or ANSWER in stage.said or MARK in stage.said, stage.story()


@pytest.mark.parametrize("name", WITH_TOOLS)
async def test_looping_arguments_are_cut_and_never_run(play, name):
    def plot(asked):
        if turns:
            yield from answer()
            return
        turns.append(asked)
        whole = orjson.dumps(arguments(asked.shell["schema"], "touch ran-half; echo ")).decode()
        start = whole[: whole.index("echo ") + len("echo ")]
        yield ScriptedCall(asked.shell["name"], (start, *[LOOPING] * 400))
        yield ScriptedFinish("length")

    turns = []
    stage = await play(name, plot)
    assert stage.files() == set(), stage.story()
    assert stage.ran.code == 0, stage.story()
    assert await stage.fuse.metric("streamfuse_loops_total", channel="tool", action="cut") == 1, stage.story()


HEALING = 'providers: {model: {base_url: "{upstream}", heal: HOW, resume: llamacpp}}\n'


def first(trouble, then):
    """The very first answer loops, whatever was asked; from then on the model does its task."""
    asked = []

    def plot(request):
        asked.append(request)
        return trouble(request) if len(asked) == 1 else then(request)

    return plot


# Loops in text for every second agent: each run takes seconds, and the seam is the same for all.
@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        *(pytest.param(name, circles, id=f"{name}-thoughts") for name in WITH_TOOLS),
        *(pytest.param(name, loops, id=f"{name}-text") for name in WITH_TOOLS[::2]),
    ],
)
async def test_a_task_whose_first_answer_loops_is_finished_with_a_heal(play, name, trouble):
    how = "thinking" if trouble is circles else "auto"
    stage = await play(name, first(trouble, calls("touch ran-whole")), config=HEALING.replace("HOW", how))
    assert stage.ran.code == 0, stage.story()
    assert stage.files() == {"ran-whole"}, stage.story()
    assert ANSWER in stage.said, stage.story()
    assert await stage.fuse.metric("streamfuse_heals_total", result="healed") == 1, stage.story()


@pytest.mark.parametrize("name", WITH_TOOLS[:1])
async def test_without_a_heal_the_task_stays_undone(play, name):
    stage = await play(name, first(circles, calls("touch ran-whole")), config=HEALING.replace("HOW", "none"))
    assert stage.files() == set(), stage.story()
