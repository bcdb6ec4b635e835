"""What real agents do alone: the stage works, and the troubles that the fuse is for are real.

If one of these turns red after an agent's new release, the agent has learnt; say so in the docs and drop the line.
"""

import pytest

from .agents import AGENTS
from .upstream import ANSWER, ENDS, calls, half_call, loops

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]


@pytest.mark.parametrize("name", AGENTS)
async def test_every_agent_runs_a_whole_tool_call_and_ends(play, name):
    stage = await play(name, calls("touch ran-whole"), fuse=False)
    assert stage.ran.code == 0, stage.story()
    assert ANSWER in stage.said, stage.story()
    assert stage.files() == ({"ran-whole"} if stage.agent.tools else set()), stage.story()


@pytest.mark.parametrize("name", ["pi", "qwen"])
async def test_some_run_half_a_call_after_repairing_it(play, name):
    stage = await play(name, half_call("touch ran-half", ENDS["length"]), fuse=False)
    assert stage.files() == {"ran-half"}, stage.story()


async def test_a_looping_answer_is_paid_for_many_times(play):
    stage = await play("claude", loops, fuse=False)
    assert len(stage.upstream.main) > 1, stage.story()
    assert sum(asked.chars for asked in stage.upstream.main) > 50_000, stage.story()
