"""What can be replayed, found under a path: `.sse` bytes as on the wire, `.jsonl` rows of texts or requests.

A row is one of: a text (`text` or `content`; with `deltas`, the pieces it came in), a chat message, or a request body
with `messages` or `input`, whose assistant messages are then judged one by one. Rows of anything else (labels, say)
are passed over. Files may be gzipped.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rules.delta import Channel

STREAMS = (".sse",)
ROWS = (".jsonl", ".ndjson")
LARGEST = 1 << 30
"""Bytes of one unpacked file: a guard against a bomb, far above any session."""


class Unreadable(ValueError):
    """A path that is not there, or a file or row that is not what its name says."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One answer. `raw` is set for bytes of a wire, `pieces` for texts: (channel, key, deltas). With neither it is the
    history of `request`."""

    name: str
    raw: bytes | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    """The request it answers, where it was recorded: raises the bars of rules that heed the prompt."""
    instruction: str = ""
    pieces: tuple[tuple[Channel, str, tuple[str, ...]], ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    """Tool calls: name, arguments."""


def files(paths: Sequence[Path]) -> list[Path]:
    """The files to read, folders walked in order of name. Raises Unreadable."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.rglob("*") if p.is_file() and _suffix(p) in (*STREAMS, *ROWS))
        elif path.is_file():
            if _suffix(path) not in (*STREAMS, *ROWS):
                raise Unreadable(f"{path}: replay reads .sse and .jsonl, also gzipped (.gz)")
            found.append(path)
        else:
            raise Unreadable(f"{path}: no such file or folder")
    if not found:
        raise Unreadable(f"{', '.join(map(str, paths))}: nothing to replay: no .sse and no .jsonl")
    return found


def recordings(path: Path) -> Iterator[Recording]:
    """The answers of one file. Raises Unreadable, for rows with their line."""
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            with gzip.open(path) as unpacked:
                data = unpacked.read(LARGEST)
    except (OSError, EOFError) as error:
        raise Unreadable(f"{path}: {error}") from None
    if _suffix(path) in STREAMS:
        yield Recording(str(path), raw=data, request=_request(path))
        return
    for n, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise Unreadable(f"{path}:{n}: not JSON: {error}") from None
            yield from _row(f"{path}:{n}", row)


def _row(name: str, row: Any) -> Iterator[Recording]:
    if not isinstance(row, dict):
        raise Unreadable(f"{name}: a row is an object with text, content, messages or input")
    row_id = row.get("id")
    name = f"{name} {row_id}" if isinstance(row_id, str) and row_id else name
    said = row.get("messages", row.get("input"))
    if isinstance(said, list):
        yield Recording(f"{name} history", request=row)
        instruction = ""
        for n, message in enumerate(said):
            if isinstance(message, dict):
                if message.get("role") == "user":
                    instruction = _text(message.get("content"))
                elif message.get("role") == "assistant" or message.get("type") in ("function_call", "reasoning"):
                    yield _message(f"{name} [{n}]", message, instruction)
    elif "role" in row:
        if row["role"] == "assistant":
            yield _message(name, row, "")
    elif isinstance(row.get("deltas"), list) or isinstance(row.get("text", row.get("content")), str):
        deltas = row.get("deltas") or [row.get("text", row.get("content"))]
        label = row.get("channel", "text")
        if label not in [channel.label for channel in Channel] or not all(isinstance(d, str) for d in deltas):
            raise Unreadable(f"{name}: channel is text, reasoning, tool or refusal, and deltas are texts")
        instruction = _text(row.get("instruction"))
        yield Recording(name, instruction=instruction, pieces=((Channel[label.upper()], "0", tuple(deltas)),))


def _message(name: str, message: Mapping[str, Any], instruction: str) -> Recording:
    """An assistant message of any wire, in the order in which an answer says it."""
    pieces: list[tuple[Channel, str, tuple[str, ...]]] = []
    calls: list[tuple[str, str]] = []

    def say(channel: Channel, text: str, key: str = "0") -> None:
        if text:
            pieces.append((channel, key, (text,)))

    for member in ("reasoning_content", "reasoning", "summary"):
        say(Channel.REASONING, _text(message.get(member)))
    blocks = message.get("content")
    if isinstance(blocks, list):
        for block in blocks:
            if isinstance(block, dict):
                say(Channel.REASONING, _text(block.get("thinking")))
                say(Channel.TEXT, _text(block.get("text")))
                if block.get("type") == "tool_use":
                    calls.append((_text(block.get("name")), orjson.dumps(block.get("input")).decode()))
    else:
        say(Channel.TEXT, _text(blocks))
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            calls.append((_text(function.get("name")), _text(function.get("arguments"))))
    if message.get("type") == "function_call":
        calls.append((_text(message.get("name")), _text(message.get("arguments"))))
    for n, (_, arguments) in enumerate(calls):
        say(Channel.TOOL, arguments, f"call {n}")
    return Recording(name, instruction=instruction, pieces=tuple(pieces), calls=tuple(calls))


def _text(value: Any) -> str:
    """Text of a member that is a text or a list of parts with texts; "" for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(p["text"] for p in value if isinstance(p, dict) and isinstance(p.get("text"), str))
    return ""


def _request(path: Path) -> Mapping[str, Any]:
    """The request of an .sse recording: NAME.request.json beside it, or the `request` of NAME.meta.json."""
    stem = path.name.removesuffix(".gz").removesuffix(".sse")
    for suffix, member in ((".request.json", None), (".meta.json", "request")):
        beside = path.with_name(stem + suffix)
        if beside.is_file():
            try:
                body = orjson.loads(beside.read_bytes())
            except orjson.JSONDecodeError as error:
                raise Unreadable(f"{beside}: not JSON: {error}") from None
            body = body.get(member) if member and isinstance(body, dict) else body
            if isinstance(body, dict):
                return body
    return {}


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix
