"""The official Node SDKs, the Vercel AI SDK and LiteLLM behind the fuse: iteration and helpers, on all three wires."""

import json
import shutil
from pathlib import Path

import pytest

from proxy.demo.script import Break, Say, ScriptedCall, ScriptedFinish

from .agents import Agent, Room, Start
from .install import NODE, home
from .upstream import ANSWER, LOOPING, answer, circles, loops, once

pytestmark = [pytest.mark.agents, pytest.mark.timeout(60)]

SDKS = {
    "openai chat iteration": "stop",
    "openai chat helper": "stop",
    "openai responses iteration": "completed",
    "openai responses helper": "completed",
    "anthropic iteration": "end_turn",
    "anthropic helper": "end_turn",
    "ai openai-compatible": "stop",
    "ai openai": "stop",
    "ai openrouter": "stop",
    "ai anthropic": "stop",
    "litellm": "stop",
}
"""Way of asking → what it calls a normal end."""


def program(sdk):
    if sdk == "litellm":

        def start_python(room: Room) -> Start:
            script = Path(__file__).with_name("litellm_client.py")
            return Start(
                [str(home("litellm") / "bin/python"), str(script), room.url], {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
            )

        return Agent("litellm", "", start_python, tools=False, limit=50)

    def start(room: Room) -> Start:
        script = room.home / "sdks.mjs"
        shutil.copy(Path(__file__).with_name("sdks.mjs"), script)
        (room.home / "node_modules").symlink_to(home("node-sdks") / "node_modules")
        return Start([str(NODE), str(script), sdk, room.url])

    return Agent("node-sdks", "", start, tools=False, limit=30)


@pytest.fixture
def ask(play):
    async def ask_(sdk, plot, config=None):
        stage = await play(program(sdk), plot, config=config)
        assert stage.ran.code == 0, stage.story()
        return json.loads(stage.ran.out), stage

    return ask_


@pytest.mark.parametrize("sdk", SDKS)
async def test_a_good_answer(ask, sdk):
    seen, stage = await ask(sdk, lambda _: answer())
    assert (seen["text"], seen["finish"], seen["error"]) == (ANSWER, SDKS[sdk], None), stage.story()


@pytest.mark.parametrize("sdk", SDKS)
async def test_a_looping_answer_ends_normally(ask, sdk):
    seen, stage = await ask(sdk, loops)
    assert (seen["finish"], seen["error"]) == (SDKS[sdk], None), stage.story()
    assert 0 < seen["text"].count(LOOPING) < 100, stage.story()
    assert stage.upstream.main[0].gone, stage.story()


@pytest.mark.parametrize("sdk", SDKS)
async def test_looping_thoughts_end_normally_with_a_word(ask, sdk):
    seen, stage = await ask(sdk, circles)
    assert (seen["finish"], seen["error"]) == (SDKS[sdk], None), stage.story()
    assert seen["text"], stage.story()


@pytest.mark.parametrize("sdk", SDKS)
async def test_a_death_before_the_first_word_goes_unnoticed(ask, sdk):
    seen, stage = await ask(sdk, once([Break()], lambda _: answer()))
    assert (seen["text"], seen["finish"], seen["error"]) == (ANSWER, SDKS[sdk], None), stage.story()
    assert len(stage.upstream.main) == 2, stage.story()


@pytest.mark.parametrize("sdk", SDKS)
async def test_a_death_in_the_middle_is_an_error(ask, sdk):
    seen, stage = await ask(sdk, lambda _: [Say("I will"), Say(" look"), Break()])
    # The Responses helper raises nothing: it hands out a response that says of itself that it failed.
    assert seen["error"] or seen["finish"] == "failed", stage.story()


@pytest.mark.parametrize(
    "end",
    [(Break(),), (ScriptedFinish("stop"),), (ScriptedFinish("length"),), (ScriptedFinish("tool_calls"),)],
    ids=str,
)
@pytest.mark.parametrize("sdk", SDKS)
async def test_half_a_call_is_never_handed_out(ask, sdk, end):
    seen, stage = await ask(
        sdk, lambda _: [Say("I will do it."), ScriptedCall("bash", ('{"comm', 'and": "rm -rf bu')), *end]
    )
    assert seen["calls"] == [], stage.story()
    assert seen["executed"] == [], stage.story()


@pytest.mark.parametrize("sdk", SDKS)
async def test_a_call_that_dies_before_its_arguments_is_never_handed_out(ask, sdk):
    seen, stage = await ask(sdk, lambda _: [Say("I will do it."), ScriptedCall("bash", ("",)), Break()])
    assert seen["calls"] == seen["executed"] == [], stage.story()


@pytest.mark.parametrize("sdk", SDKS)
async def test_looping_arguments_are_cut_and_never_handed_out(ask, sdk):
    def plot(_):
        yield Say("I will do it.")
        yield ScriptedCall("bash", ('{"command": "echo', *[LOOPING] * 400))
        yield ScriptedFinish("length")

    seen, stage = await ask(sdk, plot)
    assert (seen["finish"], seen["error"]) == (SDKS[sdk], None), stage.story()
    assert seen["calls"] == seen["executed"] == [], stage.story()


@pytest.mark.parametrize("sdk", SDKS)
async def test_a_whole_call_is_handed_out_whole(ask, sdk):
    def plot(asked):
        if asked.has_result:
            yield from answer()
            return
        yield ScriptedCall("bash", ('{"comm', 'and": "ec', 'ho"}'))
        yield ScriptedFinish("tool_calls")

    seen, stage = await ask(sdk, plot)
    assert [json.loads(call) for call in seen["calls"]] == [{"command": "echo"}], stage.story()
    assert seen["executed"] == (["echo"] if sdk.startswith("ai ") else []), stage.story()


HEALING = 'providers: {model: {base_url: "{upstream}", heal: auto, resume: llamacpp}}\n'
HEALED = [sdk for sdk in SDKS if sdk != "litellm"]  # LiteLLM reads with the OpenAI SDK, and takes long to start
STORED = {"ai openai"}
"""They ask for Responses that are stored: such a stream is not healed."""


def first(trouble):
    """The first answer loops, the second is a good one."""
    asked = []

    def plot(request):
        asked.append(request)
        return trouble(request) if len(asked) == 1 else answer()

    return plot


@pytest.mark.parametrize(
    ("sdk", "trouble"),
    [
        *(pytest.param(sdk, circles, id=f"{sdk}-thoughts") for sdk in HEALED),
        # Text on Responses can only be gone on with by a note, which `auto` never takes.
        *(pytest.param(sdk, loops, id=f"{sdk}-text") for sdk in HEALED if "responses" not in sdk),
    ],
)
async def test_a_healed_answer_is_one_answer(ask, sdk, trouble):
    seen, stage = await ask(sdk, first(trouble), HEALING)
    assert (seen["finish"], seen["error"]) == (SDKS[sdk], None), stage.story()
    healed = await stage.fuse.metric("streamfuse_heals_total", result="healed")
    assert healed == (sdk not in STORED), stage.story()
    assert seen["text"].count(ANSWER) == healed, stage.story()
    assert trouble is loops or not healed or seen["text"] == ANSWER, stage.story()
