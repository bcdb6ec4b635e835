"""A strict reader of Gemini's streams, server-sent events or a JSON array: whole parts, one identity, a finish for each
candidate."""

from __future__ import annotations

import json
import re
from typing import Any

from . import Answer, require


def elements(raw: bytes, unended: bool) -> list[dict[str, Any]]:
    """The objects of the stream; the bare error that may end server-sent events is left out."""
    text = raw.decode()
    if text.lstrip().startswith("[") or not text.strip():
        found = json.loads(text or "[]") if not unended else json.loads(text.rstrip().rstrip(",") + "]")
        require(isinstance(found, list) and all(isinstance(one, dict) for one in found), "no array of objects")
        return list(found)
    found = []
    blocks = re.split(r"\r\n\r\n|\n\n", text)
    require(blocks[-1] == "" or "error" in json.loads(blocks[-1]), "the last event has no end")
    for block in blocks[:-1]:
        block = block.strip("\r\n")
        require(block.startswith("data: ") and "\n" not in block, "an event is one line of data")
        found.append(json.loads(block[6:]))
    return found


def read(raw: bytes, *, unended: bool = False) -> Answer:
    """Read a whole stream. Raises Illegal."""
    answer = Answer()
    finished: dict[int, str] = {}
    pieces: dict[int, list[Any]] = {}
    blocked = ""
    for body in elements(raw, unended):
        require(answer.error is None, "an event after the error")
        answer.marker = body.get("streamfuse", answer.marker)
        if "error" in body:
            require(next(iter(body)) == "error", "google-genai for Python looks for `error` as the first member")
            require(isinstance(body["error"]["message"], str) and isinstance(body["error"]["code"], int), "no error")
            answer.error, answer.end = body["error"], "error"
            continue
        require(answer.ident in ("", body.get("responseId", answer.ident)), "the id changed")
        answer.ident = body.get("responseId", answer.ident)
        answer.usage = body.get("usageMetadata", answer.usage)
        blocked = body.get("promptFeedback", {}).get("blockReason", blocked)
        for position, candidate in enumerate(body.get("candidates", ())):
            index = candidate.get("index", position)
            answer.texts.setdefault(index, "")
            for part in candidate.get("content", {}).get("parts", ()):
                finished.pop(index, None)
                _part(answer, index, part, pieces)
            if "finishReason" in candidate:
                finished[index] = candidate["finishReason"]
    require(unended or answer.error or not pieces, "a call without its end")
    require(unended or answer.error or blocked or finished.keys() == answer.texts.keys(), "a candidate without finish")
    if answer.error is None:
        answer.end = blocked or ",".join(f"{index}:{finished[index]}" for index in sorted(finished))
    return answer


def _part(answer: Answer, index: int, part: dict[str, Any], pieces: dict[int, list[Any]]) -> None:
    """`pieces`: of the call that is open in a candidate: its name, and the parts of its arguments."""
    if "text" in part:
        require(isinstance(part["text"], str), "text is no string")
        if part.get("thought"):
            answer.reasoning += part["text"]
        else:
            answer.texts[index] += part["text"]
    elif "functionCall" in part:
        call = part["functionCall"]
        if call.get("willContinue"):
            require(index in pieces or isinstance(call.get("name"), str), "a call without its name")
            pieces.setdefault(index, [call.get("name")]).extend(call.get("partialArgs", ()))
            return
        name, *said = pieces.pop(index, [call.get("name")])
        require(isinstance(name, str), "a call without its name")
        arguments = [*said, *call.get("partialArgs", ())] or call.get("args", {})
        answer.calls.append((name, json.dumps(arguments, separators=(",", ":"))))
    elif "executableCode" in part:  # no call of the client's, but code all the same: as if it were one
        code = {"code": part["executableCode"]["code"]}
        answer.calls.append(("executableCode", json.dumps(code, separators=(",", ":"), ensure_ascii=False)))
