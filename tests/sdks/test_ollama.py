"""ollama-python takes a cut as a normal end, and a failure as a failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rules.wires.ollama import WIRE

from .cuts import cuts, golden

ollama = pytest.importorskip("ollama", reason="ollama-python is not installed (pip install -e .[test])")


class Ollama:
    """ollama-python with bytes for an answer."""

    def __init__(self) -> None:
        import httpx

        self.body = b""
        self.client = ollama.Client(
            host="http://fuse.test", transport=httpx.MockTransport(lambda _: httpx.Response(200, content=self.body))
        )

    def parts(self, generates: bool) -> list[Any]:
        if generates:
            return list(self.client.generate("m", "hi", stream=True))
        return list(self.client.chat("m", [{"role": "user", "content": "hi"}], stream=True))


@pytest.fixture(scope="module")
def sdk() -> Iterator[Ollama]:
    yield Ollama()


@golden(WIRE)
def test_every_cut_is_a_normal_end(path: Path, sdk: Ollama) -> None:
    generates = path.stem.startswith("generate")
    for notice in (None, "The rest was cut."):
        for cut in cuts(WIRE, path, notice=notice):
            sdk.body = cut.raw
            parts = sdk.parts(generates)
            assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
            assert parts[-1].done_reason == "stop"
            said = "".join((part.response if generates else part.message.content) or "" for part in parts)
            assert said.startswith(cut.play.transcript.text())
            assert said.endswith(notice or "")


@golden(WIRE)
def test_every_failure_is_raised_with_its_message(path: Path, sdk: Ollama) -> None:
    for cut in cuts(WIRE, path, fails=True):
        sdk.body = cut.raw
        with pytest.raises(ollama.ResponseError, match="The upstream went away"):
            sdk.parts(path.stem.startswith("generate"))


def test_white_space_before_a_line_is_read_over(sdk: Ollama) -> None:
    line = (Path(__file__).parents[1] / "streams/ollama/chat.ndjson").read_bytes().splitlines(True)
    sdk.body = (WIRE.heartbeat(True) * 3).join(line)
    assert "".join(part.message.content for part in sdk.parts(False)).startswith("Put the kettle on")
