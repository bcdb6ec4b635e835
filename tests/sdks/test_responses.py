"""openai-python and LangChain take a cut of /responses as a normal end, and a failure as a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rules.wires.openai_responses import WIRE
from tests.readers.openai_responses import read

from .conftest import Wireside
from .cuts import cuts, golden

NOTICE = "The rest was cut."


def lean(path: Path) -> bool:
    return path.stem.startswith("llama")


@golden(WIRE)
def test_openai_iterates_to_a_completed_response(path: Path, wireside: Wireside, openai_client: Any) -> None:
    for cut in cuts(WIRE, path, notice=NOTICE):
        wireside.body = cut.raw
        events = list(openai_client.responses.create(model="m", input="x", stream=True))
        last = events[-1]
        assert last.type == "response.completed"
        assert NOTICE in last.response.output_text
        assert last.streamfuse == {"rule": "loop", "copies": 9.5}


@golden(WIRE, but="llama")  # the helper needs output_index, which llama.cpp leaves out even when nothing is cut
@pytest.mark.parametrize("notice", [None, NOTICE])
def test_openai_helper_gives_the_final_response(
    path: Path, notice: str | None, wireside: Wireside, openai_client: Any
) -> None:
    for cut in cuts(WIRE, path, notice=notice):
        wireside.body = cut.raw
        with openai_client.responses.stream(model="m", input="x") as stream:
            final = stream.get_final_response()
        answer = read(cut.raw)
        assert final.output_text == answer.text
        assert [item.arguments for item in final.output if item.type == "function_call"] == [
            arguments for name, arguments in answer.calls if name != "apply"
        ]


@golden(WIRE)
def test_openai_is_told_of_a_failure(path: Path, wireside: Wireside, openai_client: Any) -> None:
    for cut in cuts(WIRE, path, fails=True):
        wireside.body = cut.raw
        last = list(openai_client.responses.create(model="m", input="x", stream=True))[-1]
        assert last.type == "response.failed"
        assert last.response.error.message == "The upstream went away."


@golden(WIRE)
def test_langchain_takes_a_cut_as_an_end(path: Path, wireside: Wireside, langchain_openai: Any) -> None:
    model = langchain_openai(True)
    for cut in cuts(WIRE, path, notice=NOTICE):
        wireside.body = cut.raw
        message = None
        for chunk in model.stream("x"):
            message = chunk if message is None else message + chunk
        assert message is not None
        answer = read(cut.raw, lean=lean(path))
        assert NOTICE in message.text
        assert len([call for call in message.tool_calls if call["name"] != "apply"]) == len(
            [name for name, _ in answer.calls if name != "apply"]
        )
