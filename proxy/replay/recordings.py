"""What can be replayed, found under a path: `.sse` bytes as on the wire, `.jsonl` rows, `.json` documents.

A row or document is one of: a text (`text` or `content`; with `deltas`, the pieces it came in), a chat message, a whole
answer (`choices`, `output`, …), a request body with `messages` or `input`, whose assistant messages are then judged one
by one, or a line of an agent's session (`sessions.py`). Rows of anything else are passed over. Files may be gzipped.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from rules import Channel, loads

from .agent_sessions import AgentSession, exported
from .lines import lines, whole

STREAMS = (".sse",)
ROWS = (".jsonl", ".ndjson")
WHOLE = (".json",)
KNOWN = (*STREAMS, *ROWS, *WHOLE)
BESIDE = (".request.json", ".meta.json")
"""Companions of an .sse recording."""
NAMED = 3
"""Broken lines of one file that are named, the rest is counted."""


class Unreadable(ValueError):
    """A path that is not there, or a file or row that is not what its name says."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One answer: `raw` for the bytes of a wire, `body` for a whole JSON answer, `pieces` for texts (channel, key,
    deltas). With none of them it is the history of `request`."""

    name: str
    raw: bytes | None = None
    body: Mapping[str, Any] | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    """The request it answers, where it was recorded: raises the bars of rules that heed the prompt."""
    instruction: str = ""
    pieces: tuple[tuple[Channel, str, tuple[str, ...]], ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    """Tool calls: name, arguments."""
    label: str = ""
    """What someone says of it: loop, legit, healthy, file, …"""
    onset: int | None = None
    """Characters before the second copy of a labelled loop."""
    period: int = 0
    """Characters of one copy of it, where that is known: how exactly its onset can be told."""

    @property
    def is_history(self) -> bool:
        """Nothing to judge but the turns of a request."""
        return self.raw is None and self.body is None and not self.pieces and bool(self.request)


def files(paths: Sequence[Path]) -> list[Path]:
    """The files to read, folders walked in order of name. Raises Unreadable."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(
                p for p in path.rglob("*") if p.is_file() and _suffix(p) in KNOWN and not p.name.endswith(BESIDE)
            )
        elif path.is_file():
            if _suffix(path) not in KNOWN:
                raise Unreadable(f"{path}: replay reads .sse, .jsonl and .json, also gzipped (.gz)")
            found.append(path)
        else:
            raise Unreadable(f"{path}: no such file or folder")
    if not found:
        raise Unreadable(f"{', '.join(map(str, paths))}: nothing to replay: no .sse, no .jsonl and no .json")
    return found


def recordings(
    path: Path, broken: Callable[[str], None] | None = None, at: Callable[[int], None] | None = None
) -> Iterator[Recording]:
    """The answers of one file. `broken` hears of rows that are not what they should be, with their line, and the rest
    goes on; without it, and for a file that cannot be read at all, Unreadable is raised. `at` hears how far the file
    has been read, in bytes."""
    try:
        if _suffix(path) in STREAMS or (_suffix(path) in ROWS and _is_stream(path)):
            if not (raw := whole(path)):
                raise Unreadable(f"{path}: empty")
            yield Recording(str(path), raw=raw, request=_request(path))
        elif _suffix(path) in WHOLE:
            yield from _document(path, whole(path))
        else:
            yield from _rows(path, broken, at)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise error if isinstance(error, Unreadable) else Unreadable(f"{path}: {_why(error)}") from None


def _is_stream(path: Path) -> bool:
    """Are these rows the lines of one streamed answer of Ollama, which is NDJSON on the wire?"""
    first = next((line for line in lines(path) if line.strip()), b"")
    try:
        row = loads(first)
    except ValueError:
        return False
    return isinstance(row, dict) and row.get("done") is False and ("message" in row or "response" in row)


def _rows(path: Path, broken: Callable[[str], None] | None, at: Callable[[int], None] | None) -> Iterator[Recording]:
    session, wrong, n, position = AgentSession(), 0, 0, 0

    def came(to: int) -> None:
        nonlocal position
        position = to

    try:
        for n, line in enumerate(lines(path, came), 1):
            if not line.strip():
                continue
            try:
                row = _parsed(f"{path}:{n}", line)
                if not session.take(row):
                    yield from _row(f"{path}:{n}", row)
                    if at is not None:
                        at(position)
            except Unreadable as error:
                if broken is None:
                    raise
                wrong += 1
                if wrong <= NAMED:
                    broken(str(error))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if broken is None or not n:
            raise
        broken(f"{path}: after line {n}: {_why(error)}")  # a download that broke off: what came is worth reading
    if broken is not None and wrong > NAMED:
        broken(f"{path}: {wrong - NAMED:,} more lines of this kind")
    bodies = [[*_row(str(path), body)] for body in session.bodies()]
    # Nothing of a session is judged before its end is read; its history costs about as much as all its answers.
    weights = [(one, len(body) if one.is_history else 1) for body in bodies for one in body]
    done, total = 0, sum(weight for _, weight in weights)
    for one, weight in weights:
        yield one
        done += weight
        if at is not None:
            at(position * done // total)


def _why(error: Exception) -> str:
    """Without number and name: the name has just been said."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _document(path: Path, data: bytes) -> Iterator[Recording]:
    """A .json file: one row, a list of messages, a list of rows, or a stream of Gemini's. A document of something else
    gives nothing."""
    document = _parsed(str(path), data)
    if isinstance(document, list):
        if document and isinstance(document[0], dict) and "candidates" in document[0]:
            yield Recording(str(path), raw=data, request=_request(path))  # a stream of Gemini's, as one array
            return
        if document and all(isinstance(one, dict) and "role" in one for one in document):
            document = {"messages": document}
        else:
            for n, one in enumerate(document, 1):
                if isinstance(one, dict):
                    yield from _row(f"{path}[{n}]", one)
            return
    if isinstance(document, dict):
        yield from _row(str(path), exported(document) or document)


def _parsed(name: str, data: bytes) -> Any:
    try:
        return loads(data)
    except orjson.JSONDecodeError as error:
        if not data.strip():
            raise Unreadable(f"{name}: empty") from None
        raise Unreadable(f"{name}: not JSON from character {error.pos:,} on: {error.msg}") from None


def _row(name: str, row: Any) -> Iterator[Recording]:
    if not isinstance(row, dict):
        raise Unreadable(f"{name}: a row is an object with text, content, messages or input")
    row_id, label, onset, period = row.get("id"), row.get("label"), row.get("onset"), row.get("period")
    name = f"{name} {row_id}" if isinstance(row_id, str) and row_id else name
    marks: dict[str, Any] = {"label": label if isinstance(label, str) else ""}
    if isinstance(onset, int):
        marks |= {"onset": onset, "period": period if isinstance(period, int) else 0}
    if row.get("ended") is True:  # the text left the repetition by itself: no cut is wanted
        marks["label"] = f"{marks['label']} (ended)"
    answer = row.get("response") if isinstance(row.get("response"), dict) else row
    said = row.get("messages", row.get("input"))
    if answer is not row or _is_answer(row):
        request = row.get("request")
        yield Recording(name, body=answer, request=request if isinstance(request, dict) else {}, **marks)
    elif isinstance(said, list):
        yield Recording(f"{name} history", request=row, **marks)
        instruction = ""
        for n, message in enumerate(said):
            if isinstance(message, dict):
                if message.get("role") == "user":
                    instruction = _text(message.get("content"))
                elif message.get("role") == "assistant" or message.get("type") in ("function_call", "reasoning"):
                    # A label is of the whole session; only its history is measured by it.
                    yield _message(f"{name} [{n}]", message, instruction)
    elif "role" in row:
        if row["role"] == "assistant":
            yield replace(_message(name, row, ""), **marks)
    elif isinstance(row.get("deltas"), list) or isinstance(row.get("text", row.get("content")), str):
        deltas = row.get("deltas") or [row.get("text", row.get("content"))]
        channel = row.get("channel", "text")
        if channel not in [known.label for known in Channel] or not all(isinstance(d, str) for d in deltas):
            raise Unreadable(f"{name}: channel is text, reasoning, tool or refusal, and deltas are texts")
        instruction = _text(row.get("instruction"))
        yield Recording(
            name, instruction=instruction, pieces=((Channel[channel.upper()], "0", tuple(deltas)),), **marks
        )


def _is_answer(row: Mapping[str, Any]) -> bool:
    """A whole answer (`stream: false`) of chat or completions, Responses, Messages."""
    return (
        isinstance(row.get("choices"), list)
        or (row.get("object") == "response" and isinstance(row.get("output"), list))
        or (row.get("type") == "message" and isinstance(row.get("content"), list) and "stop_reason" in row)
    )


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
    tool_calls = message.get("tool_calls")
    for call in tool_calls if isinstance(tool_calls, list) else ():
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
    for suffix, member in zip(BESIDE, (None, "request"), strict=True):
        beside = path.with_name(stem + suffix)
        if beside.is_file():
            body = _parsed(str(beside), whole(beside))
            body = body.get(member) if member and isinstance(body, dict) else body
            if isinstance(body, dict):
                return body
    return {}


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix
