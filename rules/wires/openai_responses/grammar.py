"""The words of /responses: items, parts, events, and a whole item as deltas or as the events that build it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...values.delta import Channel, Close, Delta, Fault, Open, Piece, Unknown

CALLS: Final = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call"}
)
"""Items that the client runs."""
ARGUMENTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
"""The member of a call that is streamed."""
PARTS: Final = {
    "output_text": (Channel.TEXT, "text", "content"),
    "refusal": (Channel.REFUSAL, "refusal", "content"),
    "reasoning_text": (Channel.REASONING, "text", "content"),
    "summary_text": (Channel.REASONING, "text", "summary"),
}
"""Part type: its channel, the member that holds its text, the member of the item that holds it."""
STEMS: Final = {
    "output_text": "output_text", "refusal": "refusal", "reasoning_text": "reasoning_text",
    "summary_text": "reasoning_summary_text",
}  # fmt: skip
"""Part type: the middle of its events' names."""
DELTAS: Final = {f"response.{stem}.delta": part for part, stem in STEMS.items()} | {
    "response.function_call_arguments.delta": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.shell_call_command.delta": "shell_call",
}
DONES: Final = {name.removesuffix("delta") + "done": of for name, of in DELTAS.items()}
BEGINS: Final = frozenset({"response.output_item.added", "response.content_part.added"})
LIFECYCLE: Final = frozenset({"response.created", "response.queued", "response.in_progress"})
TERMINAL: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


def parts(item: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The parts of a whole item that we read, with their keys."""
    for home, mark in (("summary", "s"), ("content", "")):
        held = item.get(home)
        for at, part in enumerate(held if isinstance(held, list) else ()):
            if isinstance(part, dict) and str(part.get("type")) in PARTS:
                yield part, f"{mark}{at}"


def deltas(output: Any) -> Iterator[Delta]:
    """Whole output items as deltas."""
    for index, item in enumerate(output if isinstance(output, list) else ()):
        if not isinstance(item, dict):
            continue
        block, kind = (0, str(index)), str(item.get("type"))
        channel = Channel.TOOL if kind in CALLS else Channel.REASONING if kind == "reasoning" else Channel.TEXT
        free = kind != "function_call"
        yield Open(block, channel, str(item.get("name") or ""), {"item": item, "index": index, "free": free})
        if channel is Channel.TOOL:
            yield Piece(block, channel, str(item.get(ARGUMENTS.get(kind, "")) or ""))
        elif kind not in ("message", "reasoning"):
            yield Unknown(kind)
        for part, key in parts(item):
            of, member, _ = PARTS[part["type"]]
            inner = (0, f"{index}.{key}")
            yield Open(inner, of, "", {"part": part, "at": int(key.removeprefix("s")), "of": str(index)})
            yield Piece(inner, of, str(part.get(member) or ""))
            yield Close(inner)
        status = item.get("status") if kind in CALLS else None
        yield Close(block, {"half": status == "incomplete"} if status else {})


def events(item: Mapping[str, Any], index: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A whole item as the events that would have built it (name, members)."""
    kind = str(item.get("type"))
    where = {"item_id": item.get("id"), "output_index": index}
    empty: dict[str, Any] = {"message": {"content": []}, "reasoning": {"summary": [], "content": []}}.get(kind, {})
    member = ARGUMENTS.get(kind)
    if member:
        empty = {member: ""}
    kept = {key: value for key, value in empty.items() if key in item}
    yield "response.output_item.added", {"output_index": index, "item": {**item, "status": "in_progress", **kept}}
    if member:
        stem = "function_call_arguments" if kind == "function_call" else "custom_tool_call_input"
        yield f"response.{stem}.delta", {**where, "delta": item.get(member) or ""}
        yield f"response.{stem}.done", {**where, member: item.get(member) or ""}
    for part, key in parts(item) if kind in ("message", "reasoning") else ():
        _, text, home = PARTS[part["type"]]
        at = {"content_index" if home == "content" else "summary_index": int(key.removeprefix("s"))}
        name = "content_part" if home == "content" else "reasoning_summary_part"
        extra: dict[str, Any] = {"logprobs": []} if part["type"] == "output_text" else {}
        bare = {**part, text: ""} | ({"annotations": []} if part["type"] == "output_text" else {})
        yield f"response.{name}.added", {**where, **at, "part": bare}
        yield f"response.{STEMS[part['type']]}.delta", {**where, **at, "delta": part.get(text) or "", **extra}
        for n, note in enumerate(part.get("annotations") or ()):
            yield "response.output_text.annotation.added", {**where, **at, "annotation_index": n, "annotation": note}
        yield f"response.{STEMS[part['type']]}.done", {**where, **at, text: part.get(text) or "", **extra}
        yield f"response.{name}.done", {**where, **at, "part": part}
    yield "response.output_item.done", {"output_index": index, "item": item}


def fault(data: Mapping[str, Any]) -> Fault:
    response = data.get("response")
    error = (response.get("error") if isinstance(response, dict) else None) or data.get("error") or data
    if not isinstance(error, dict):
        return Fault(None, str(error), data)
    code = error.get("code") or (error.get("type") if error is not data else None)
    return Fault(code, str(error.get("message") or ""), data)
