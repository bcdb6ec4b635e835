"""openai-python takes a cut of /completions as a normal end, and a failure as a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rules.wires.openai_completions import WIRE

from .conftest import Wireside
from .cuts import cuts, golden


@golden(WIRE)
def test_openai_iterates_to_a_finish(path: Path, wireside: Wireside, openai_client: Any) -> None:
    for cut in cuts(WIRE, path, notice="The rest was cut."):
        wireside.body = cut.raw
        finished: dict[int, str] = {}
        for chunk in openai_client.completions.create(model="m", prompt="x", stream=True):
            for choice in chunk.choices:
                if choice.finish_reason:
                    finished[choice.index] = choice.finish_reason
        assert finished
        assert set(cut.play.transcript.choices) <= finished.keys()
        assert set(finished.values()) <= {"stop", "length"}


@golden(WIRE)
def test_openai_raises_on_a_failure(path: Path, wireside: Wireside, openai_client: Any) -> None:
    import openai

    for cut in cuts(WIRE, path, fails=True):
        wireside.body = cut.raw
        with pytest.raises(openai.APIError, match="The upstream went away"):
            list(openai_client.completions.create(model="m", prompt="x", stream=True))
