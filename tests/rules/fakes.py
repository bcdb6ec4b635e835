"""A rule set that fires on a word, and chunks written as scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from rules.framing.sse import encode
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Action, Finding, Hit, Mode, NearMiss

DONE = b"data: [DONE]\n\n"
HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "m-1"}


def chunk(*choices: dict[str, Any], **more: Any) -> bytes:
    """One chunk of choices."""
    return encode(orjson.dumps({**HEAD, "choices": list(choices), **more}))


def says(content: str | None = None, index: int = 0, **delta: Any) -> bytes:
    """One piece of one choice."""
    if content is not None:
        delta["content"] = content
    return chunk({"index": index, "delta": delta, "logprobs": None, "finish_reason": None})


def role(index: int = 0) -> bytes:
    """The first chunk of a choice."""
    return says("", index, role="assistant")


def finish(reason: str = "stop", index: int = 0) -> bytes:
    """The last chunk of a choice."""
    return chunk({"index": index, "delta": {}, "logprobs": None, "finish_reason": reason})


def tool(index: int, arguments: str = "", name: str | None = None, choice: int = 0) -> bytes:
    """A fragment of a tool call; the first one has a name."""
    function: dict[str, Any] = {"arguments": arguments}
    call: dict[str, Any] = {"index": index, "function": function}
    if name is not None:
        function["name"] = name
        call.update(id=f"call_{choice}_{index}", type="function")
    return says(index=choice, tool_calls=[call])


class WordWatch:
    """Fires once per choice when the word has been fed, and on every call whose arguments hold it."""

    def __init__(self, rules: WordRules, mode: Mode) -> None:
        self.rules = rules
        self.mode = mode
        self.text: dict[tuple[int, Channel, str], str] = {}
        self.fired: set[int] = set()
        self.calls: list[tuple[int, str, str]] = []

    doubt = False
    """From a piece with a question mark in it on, up to one with a full stop."""

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        assert text
        self.doubt = self.rules.doubts and ("?" in text or (self.doubt and "." not in text))
        heard = self.text[choice, channel, key] = self.text.get((choice, channel, key), "") + text
        return self._found(choice, channel, heard) if channel in self.rules.channels else ()

    def drain(self) -> Sequence[Finding]:
        return ()

    def near_misses(self, *, now: bool = False) -> Sequence[NearMiss]:
        return ()

    def called(self, choice: int, name: str, arguments: str) -> Sequence[Finding]:
        self.calls.append((choice, name, arguments))
        orjson.loads(arguments)
        return self._found(choice, Channel.TOOL, arguments) if self.rules.calls else ()

    def _found(self, choice: int, channel: Channel, heard: str) -> Sequence[Finding]:
        at = heard.find(self.rules.word)
        if at < 0 or choice in self.fired:
            return ()
        self.fired.add(choice)
        end = at + len(self.rules.word)
        hit = Hit(end, at, end - at, 2, 3.0)
        return (Finding("word", self.rules.action, self.mode, channel, choice, hit),)


class WordRules:
    """A rule set with one rule: the word must not be said."""

    def __init__(
        self,
        word: str = "LOOP",
        action: Action = Action.CUT,
        channels: Sequence[Channel] = tuple(Channel),
        calls: bool = False,
        doubts: bool = False,
    ) -> None:
        self.word = word
        self.doubts = doubts
        self.action = action
        self.channels = channels
        self.calls = calls
        self.watches: list[WordWatch] = []

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> WordWatch:
        watch = WordWatch(self, mode)
        self.watches.append(watch)
        return watch
