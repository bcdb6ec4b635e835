"""anthropic-python and LangChain take a cut of /messages as a normal end, and a failure as a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rules.wires.anthropic_messages import WIRE
from tests.readers.anthropic_messages import read

from .conftest import Wireside
from .cuts import cuts, golden

NOTICE = "The rest was cut."
ASK: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}


@golden(WIRE)
def test_anthropic_iterates_to_a_stop(path: Path, wireside: Wireside, anthropic_client: Any) -> None:
    for cut in cuts(WIRE, path, notice=NOTICE):
        wireside.body = cut.raw
        events = list(anthropic_client.messages.create(**ASK, stream=True))
        assert events[-1].type == "message_stop"
        assert events[0].type == "message_start"


@golden(WIRE)
@pytest.mark.parametrize("notice", [None, NOTICE])
def test_anthropic_helper_gives_the_final_message(
    path: Path, notice: str | None, wireside: Wireside, anthropic_client: Any
) -> None:
    for cut in cuts(WIRE, path, notice=notice):
        wireside.body = cut.raw
        with anthropic_client.messages.stream(**ASK) as stream:
            final = stream.get_final_message()
        answer = read(cut.raw)
        assert final.stop_reason == answer.end
        assert "".join(block.text for block in final.content if block.type == "text") == answer.text
        assert len([block for block in final.content if block.type == "tool_use"]) == len(answer.calls)


@golden(WIRE)
def test_anthropic_raises_on_a_failure(path: Path, wireside: Wireside, anthropic_client: Any) -> None:
    import anthropic

    for cut in cuts(WIRE, path, fails=True):
        wireside.body = cut.raw
        with pytest.raises(anthropic.APIStatusError, match="The upstream went away"):
            list(anthropic_client.messages.create(**ASK, stream=True))
        with pytest.raises(anthropic.APIStatusError), anthropic_client.messages.stream(**ASK) as stream:
            stream.get_final_message()


@golden(WIRE)
def test_langchain_takes_a_cut_as_an_end(path: Path, wireside: Wireside, langchain_anthropic: Any) -> None:
    for cut in cuts(WIRE, path, notice=NOTICE):
        wireside.body = cut.raw
        message = None
        for chunk in langchain_anthropic.stream("x"):
            message = chunk if message is None else message + chunk
        assert message is not None
        answer = read(cut.raw)
        assert answer.marker is None or NOTICE in message.text  # without: only the last event was missing
        assert message.response_metadata["stop_reason"] == answer.end
        assert len(message.tool_calls) == len(answer.calls)
