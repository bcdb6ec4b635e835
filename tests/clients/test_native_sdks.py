"""google-genai for Node and ollama-js behind the fuse, streamed and whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from proxy.demo.script import Break, words

from .agents import Agent, Room, Start
from .install import NODE, home
from .upstream import ANSWER, LOOPING, answer, circles, loops, once

pytestmark = [pytest.mark.agents, pytest.mark.timeout(60)]

SDKS = {"google-genai stream": "STOP", "google-genai whole": "STOP", "ollama stream": "stop", "ollama whole": "stop"}
"""Way of asking → what it calls a normal end."""
EVERY = pytest.mark.parametrize("sdk", SDKS)
UNHEALED = 'default_provider: up\nproviders: {up: {base_url: "{upstream}", heal: none}}\n'


def program(sdk: str) -> Agent:
    def start(room: Room) -> Start:
        script = room.home / "native.mjs"
        shutil.copy(Path(__file__).with_name("native.mjs"), script)
        (room.home / "node_modules").symlink_to(home("native-sdks") / "node_modules")
        return Start([str(NODE), str(script), sdk, room.url])

    return Agent("native-sdks", "", start, tools=False, limit=50)


@pytest.fixture
def ask(play):
    async def ask_(sdk, plot, **config):
        stage = await play(program(sdk), plot, **config)
        assert stage.ran.code == 0, stage.story()
        return json.loads(stage.ran.out), stage

    return ask_


@EVERY
async def test_a_good_answer(ask, sdk):
    seen, stage = await ask(sdk, lambda _: answer())
    assert (seen["text"], seen["finish"], seen["error"]) == (ANSWER, SDKS[sdk], None), stage.story()


@EVERY
@pytest.mark.parametrize("plot", [loops, circles])
async def test_a_loop_ends_normally(ask, sdk, plot):
    seen, stage = await ask(sdk, plot, config=UNHEALED)
    assert (seen["finish"], seen["error"]) == (SDKS[sdk], None) and seen["text"], stage.story()
    assert (seen["text"] + seen["thoughts"]).count(LOOPING) < 100, stage.story()


@EVERY
@pytest.mark.parametrize("plot", [loops, circles])
async def test_a_loop_is_healed_into_one_answer(ask, sdk, plot):
    calls = []

    def once_looping(asked):
        calls.append(asked)
        return plot(asked) if len(calls) == 1 else answer()

    seen, stage = await ask(sdk, once_looping, config=UNHEALED.replace("heal: none", "heal: auto, resume: prefill"))
    assert (seen["finish"], seen["error"], len(calls)) == (SDKS[sdk], None, 2), stage.story()
    assert seen["text"].endswith(ANSWER) and seen["text"].count(ANSWER) == 1, stage.story()


@EVERY
async def test_an_upstream_that_dies_once_is_not_noticed(ask, sdk):
    seen, stage = await ask(sdk, once((Break(),), lambda _: answer()))
    assert (seen["text"], seen["error"], len(stage.upstream.main)) == (ANSWER, None, 2), stage.story()


@pytest.mark.parametrize("sdk", ["google-genai stream", "ollama stream"])
async def test_an_answer_that_breaks_off_raises(ask, sdk):
    seen, stage = await ask(sdk, lambda _: (*words("Half an answer"), Break()))
    assert seen["error"] and seen["finish"] is None, stage.story()
