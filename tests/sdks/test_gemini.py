"""google-genai for Python takes a cut as a normal end, a failure as an error, and reads over a heartbeat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rules.wires.gemini import WIRE
from tests.rules.wires.play import recorded

from .conftest import Wireside
from .cuts import cuts

genai = pytest.importorskip("google.genai", reason="google-genai is not installed (pip install -e .[test])")

SSE = [path for path in recorded(WIRE.name) if path.suffix == ".sse"]
each = pytest.mark.parametrize("path", SSE, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def sdk(http: Any) -> Any:
    options = {"base_url": "http://fuse.test", "httpx_client": http}
    return genai.Client(api_key="k", http_options=options)


def parts(sdk: Any) -> list[Any]:
    return list(sdk.models.generate_content_stream(model="gemini-2.5-flash", contents="hi"))


@each
def test_every_cut_is_a_normal_end(path: Path, wireside: Wireside, sdk: Any) -> None:
    for cut in cuts(WIRE, path, notice="The rest was cut."):
        wireside.body = cut.raw
        finished: dict[int, str] = {}
        text = ""
        for part in parts(sdk):
            for candidate in part.candidates or ():
                if candidate.finish_reason is not None:
                    finished[candidate.index or 0] = candidate.finish_reason.value
                for one in (candidate.content and candidate.content.parts) or ():
                    text += "" if one.thought else one.text or ""
        assert finished.keys() >= cut.play.transcript.choices
        assert set(finished.values()) <= {"STOP", "MAX_TOKENS"}
        assert "The rest was cut." in text or len(finished) > 1


@each
def test_every_failure_is_raised_with_its_status(path: Path, wireside: Wireside, sdk: Any) -> None:
    from google.genai import errors

    for cut in cuts(WIRE, path, fails=True):
        if b'"error"' not in cut.raw:
            continue  # the answer was whole
        wireside.body = cut.raw
        with pytest.raises(errors.APIError, match="The upstream went away") as caught:
            parts(sdk)
        assert caught.value.code == 502


def test_a_heartbeat_between_two_events_is_read_over(wireside: Wireside, sdk: Any) -> None:
    beat = WIRE.heartbeat(True)
    raw = SSE[0].with_stem("text").read_bytes()
    wireside.body = beat + raw.replace(b"\r\n\r\n", b"\r\n\r\n" + beat * 2)
    assert "".join(part.text or "" for part in parts(sdk)) == "Put the kettle on, wait — then pour. ☕"
