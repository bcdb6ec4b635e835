"""Every golden stream of every wire, cut after every event, read by the Node SDKs in one process without a socket."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rules import wires
from rules.during.output import Forward
from rules.during.stream import Stream
from rules.framing.sse import Decoder
from rules.values.failures import Failure, Kind, Phase
from rules.wires.base import Ending

from .install import NODE, home, missing

pytestmark = [pytest.mark.agents, pytest.mark.timeout(180)]

STREAMS = Path(__file__).parents[1] / "streams"
NOTICE = "The rest was cut."
DIED = Failure(Phase.STREAM, Kind.NETWORK, "The upstream went away.")
NORMAL = {"stop", "tool_calls", "tool-calls", "function_call", "completed", "end_turn", "tool_use"}
"""What the SDKs call a normal end of an answer, with and without whole tool calls."""


UNREADABLE = {
    ("llama_call", "helper"),  # openai-node's helper needs the output_index that llama.cpp leaves out
    ("llama_reasoning", "helper"),
    ("llama_call", "ai"),  # so does the AI SDK, and created_at too
    ("llama_reasoning", "ai"),
    ("mistral_thinking", "ai openai"),  # @ai-sdk/openai knows no content that is a list
    ("mistral_tools", "ai openai"),
}
"""What cannot be read that way even where nothing is cut."""


@dataclass
class Case:
    """One ended stream, and how many whole calls were shown."""

    wire: str
    name: str
    at: int
    raw: str
    fails: bool
    calls: int


def cases(wire_name: str, fails: bool) -> list[Case]:
    """One for every real cut: streams that had ended by themselves are left out."""
    wire = wires.get(wire_name)
    found = []
    for path in sorted((STREAMS / wire_name).glob("*.sse")):
        events = [event for event in Decoder().feed(path.read_bytes()) if event.data is not None]
        for at in range(len(events)):
            stream = Stream(wire, wire.ask({"model": "m", "stream": True}))
            outputs = [output for event in events[:at] for output in stream.feed(event.raw, 0.0)]
            shown = b"".join(output.raw for output in outputs if isinstance(output, Forward))
            if stream.finished or stream.transcript.finished:
                continue
            tail = stream.failing(DIED) if fails else stream.closing(Ending(NOTICE, {"rule": "loop", "copies": 9.5}))
            calls = sum(1 for shape in stream.transcript.shapes.values() if shape.channel.label == "tool")
            found.append(Case(wire_name, path.stem, at, (shown + tail).decode(), fails, calls))
    return found


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if reason := missing("node-sdks"):
        pytest.skip(reason)
    room = tmp_path_factory.mktemp("cuts")
    shutil.copy(Path(__file__).with_name("cuts.mjs"), room)
    (room / "node_modules").symlink_to(home("node-sdks") / "node_modules")

    def read_(given: list[Case]) -> list[dict[str, Any]]:
        (room / "cases.json").write_text(json.dumps([{"wire": case.wire, "raw": case.raw} for case in given]))
        command = [str(NODE), "cuts.mjs", "cases.json"]
        ran = subprocess.run(command, cwd=room, capture_output=True, text=True, timeout=150, check=False)
        assert ran.returncode == 0, ran.stderr[-2000:]
        rows: list[dict[str, Any]] = json.loads(ran.stdout)
        assert len(rows) == len(given)
        return rows

    return read_


WIRES = ["openai_chat", "openai_responses", "anthropic_messages", "openai_completions"]


@pytest.mark.parametrize("wire", WIRES)
def test_every_cut_is_a_normal_end(wire: str, read: Any) -> None:
    wrong = []
    given = cases(wire, fails=False)
    for case, row in zip(given, read(given), strict=True):
        for way, seen in row.items():
            if (case.name, way) in UNREADABLE:
                continue
            refused = "refusal" in case.name and seen["finish"] == "content-filter"  # the AI SDK's word for it
            normal = seen["error"] is None and (seen["finish"] in NORMAL or refused)
            whole = normal and len(seen["executed"]) <= case.calls
            if not (whole and (NOTICE in seen["text"] or case.name.startswith("openai_choices"))):
                wrong.append(f"{case.name} cut after {case.at}, {way}: {seen}")
    assert not wrong, f"{len(wrong)} of {len(given)} cuts:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("wire", WIRES)
def test_every_failure_is_an_error(wire: str, read: Any) -> None:
    wrong = []
    given = cases(wire, fails=True)
    for case, row in zip(given, read(given), strict=True):
        for way, seen in row.items():
            if (case.name, way) in UNREADABLE:
                continue
            if "The upstream went away." not in str(seen["error"]) or len(seen["executed"]) > case.calls:
                wrong.append(f"{case.name} failed after {case.at}, {way}: {seen}")
    assert not wrong, f"{len(wrong)} of {len(given)} failures:\n" + "\n".join(wrong[:20])
