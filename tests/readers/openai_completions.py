"""A strict reader of /completions streams: one identity, one finish for each index, [DONE]."""

from __future__ import annotations

import json

from . import Answer, blocks, require


def read(raw: bytes, *, unended: bool = False) -> Answer:
    """Read a whole stream. `end` holds every index's finish. Raises Illegal."""
    answer = Answer()
    finished: dict[int, str] = {}
    done = False
    for name, data in blocks(raw):
        require(name == "" and not done, "a named event, or one after [DONE]")
        if data == "[DONE]":
            done = True
            continue
        chunk = json.loads(data)
        if chunk.keys() == {"error"}:
            answer.error = chunk["error"]
            continue
        require(chunk["object"] == "text_completion", "not a completion chunk")
        require(answer.ident in ("", chunk["id"]), "the id changed")
        answer.ident = chunk["id"]
        answer.marker = chunk.get("streamfuse", answer.marker)
        answer.usage = chunk.get("usage", answer.usage)
        for choice in chunk["choices"]:
            index = choice["index"]
            require(index not in finished, f"choice {index} after its finish")
            require(isinstance(choice["text"], str), "text is no string")
            answer.texts[index] = answer.texts.get(index, "") + choice["text"]
            if choice["finish_reason"] is not None:
                finished[index] = choice["finish_reason"]
        if "error" in chunk:
            require(isinstance(chunk["error"]["message"], str), "an error says what")
            answer.error = chunk["error"]
    require(unended or done, "no [DONE]")
    require(unended or finished.keys() == answer.texts.keys() or answer.error, "a choice without finish")
    answer.end = ",".join(f"{index}:{finished[index]}" for index in sorted(finished))
    return answer
