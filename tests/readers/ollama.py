"""A strict reader of Ollama's NDJSON: one object a line, one model, the last with `done` true or with `error`."""

from __future__ import annotations

import json

from . import Answer, require


def read(raw: bytes, *, unended: bool = False) -> Answer:
    """Read a whole stream. Raises Illegal."""
    answer = Answer()
    text = raw.decode()
    require(text.endswith("\n") or not text, "the last line has no end")
    done = False
    for line in text.split("\n")[:-1]:
        require(line.strip(), "an empty line")
        require(not done and answer.error is None, "a line after the end")
        body = json.loads(line)
        require(isinstance(body, dict), "a line is no object")
        answer.marker = body.get("streamfuse", answer.marker)
        if "error" in body:
            require(isinstance(body["error"], str), "the error is no string")
            answer.error = {"message": body["error"]}
            answer.end = "error"
            continue
        require(isinstance(body["model"], str) and isinstance(body["created_at"], str), "no model, or no time")
        require(answer.ident in ("", body["model"]), "the model changed")
        answer.ident = body["model"]
        require(isinstance(body["done"], bool), "done is no truth")
        require(("message" in body) != ("response" in body), "a chat and a generation at once, or neither")
        said = body.get("message", body)
        require("message" not in body or said["role"] == "assistant", "another role")
        words = said["content"] if "message" in body else said["response"]
        require(isinstance(words, str) and isinstance(said.get("thinking", ""), str), "a text is no string")
        answer.texts[0] = answer.texts.get(0, "") + words
        answer.reasoning += said.get("thinking", "")
        for call in said.get("tool_calls") or ():
            function = call["function"]
            require(isinstance(function["arguments"], dict), "arguments are no object")
            arguments = json.dumps(function["arguments"], separators=(",", ":"), ensure_ascii=False)
            answer.calls.append((function["name"], arguments))
        if body["done"]:
            done = True
            answer.end = body.get("done_reason", "stop")
            answer.usage = {name: value for name, value in body.items() if name.endswith(("_count", "_duration"))}
    require(unended or done or answer.error, "no line says done")
    return answer
