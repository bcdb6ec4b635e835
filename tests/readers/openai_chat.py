"""A strict reader of /chat/completions streams: what the pickiest client wants, all at once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import Answer, Illegal, blocks, require

FINISHES = ("stop", "length", "tool_calls", "content_filter", "function_call")
REASONING = ("reasoning_content", "reasoning", "thinking")


@dataclass
class _Choice:
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    finish: str | None = None
    calls: dict[int, list[str]] = field(default_factory=dict)
    custom: set[int] = field(default_factory=set)
    function_call: list[str] | None = None

    def delta(self, delta: dict[str, Any]) -> None:
        said = {name: value for name, value in delta.items() if value and name != "role"}
        require(not (said and self.finish), "a choice goes on after its finish")
        content = delta.get("content")
        if isinstance(content, list):
            for part in content:
                if part["type"] == "thinking":
                    self.reasoning += "".join(p["text"] for p in part["thinking"])
                else:
                    self.text += part["text"]
        else:
            require(content is None or isinstance(content, str), "content is no string")
            self.text += content or ""
        details = "".join(d.get("text") or d.get("summary") or "" for d in delta.get("reasoning_details") or ())
        self.reasoning += next((delta[name] for name in REASONING if delta.get(name)), details)
        self.refusal += delta.get("refusal") or ""
        for call in delta.get("tool_calls") or ():
            self._call(call)
        function = delta.get("function_call")
        if function:
            self.function_call = self.function_call or ["", ""]
            self.function_call[0] += function.get("name") or ""
            self.function_call[1] += function.get("arguments") or ""

    def _call(self, call: dict[str, Any]) -> None:
        index = call["index"]
        body = call.get("function") or call["custom"]
        if index not in self.calls:
            require(index == len(self.calls), f"call {index} out of order")
            require(call.get("id") and body.get("name"), "a call begins without id or name")
            self.calls[index] = [body["name"], ""]
            if "custom" in call:
                self.custom.add(index)
        self.calls[index][1] += body.get("arguments") or body.get("input") or ""

    def check(self) -> None:
        """A normal end: every call could be run as it is."""
        if self.finish in ("length", "content_filter", "error"):
            return
        for index, (_, arguments) in self.calls.items():
            if index not in self.custom:
                _parse(arguments)
        if self.function_call:
            _parse(self.function_call[1])


def _parse(arguments: str) -> None:
    try:
        json.loads(arguments)
    except ValueError as e:
        raise Illegal(f"half a call: {arguments!r}") from e


def read(raw: bytes, *, unended: bool = False) -> Answer:
    """Read a whole stream; `unended`: a beginning of one. `end` holds every choice's finish. Raises Illegal."""
    answer = Answer()
    choices: dict[int, _Choice] = {}
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
        require(isinstance(chunk["choices"], list), "choices is no list")
        if chunk["id"]:  # Azure's filter chunks have none
            require(chunk["object"] == "chat.completion.chunk", "not a chunk")
            require(answer.ident in ("", chunk["id"]), "the id changed")
            answer.ident = chunk["id"]
            require(isinstance(chunk["created"], int) and isinstance(chunk["model"], str), "no created or model")
        answer.marker = chunk.get("streamfuse", answer.marker)
        for choice in chunk["choices"]:
            index = choice["index"]
            if index not in choices:
                require(index == len(choices), f"choice {index} out of order")
                choices[index] = _Choice()
            choices[index].delta(choice["delta"])
            finish = choice["finish_reason"]
            if finish is not None:
                require(finish in FINISHES or (finish == "error" and chunk.get("error")), f"finish {finish!r}")
                require(choices[index].finish is None, "a second finish")
                choices[index].finish = finish
        usage = chunk.get("usage")
        if usage:
            for count in ("prompt_tokens", "completion_tokens", "total_tokens"):
                require(isinstance(usage[count], int), f"usage without {count}")
            answer.usage = usage
        error = chunk.get("error")
        if error:
            require(isinstance(error["message"], str) and isinstance(error["type"], str), "an error says what")
            answer.error = error
    require(unended or done, "no [DONE]")
    if not unended:
        require(choices, "no choice at all")
        for at, state in choices.items():
            require(state.finish is not None, f"choice {at} without finish")
            state.check()
    answer.texts = {index: choices[index].text for index in sorted(choices)}
    answer.reasoning = "".join(state.reasoning for state in choices.values())
    answer.refusal = "".join(state.refusal for state in choices.values())
    for state in choices.values():
        answer.calls += [(call[0], call[1]) for call in state.calls.values()]
        if state.function_call:
            answer.calls.append((state.function_call[0], state.function_call[1]))
    answer.end = ",".join(f"{index}:{choices[index].finish}" for index in sorted(choices))
    return answer
