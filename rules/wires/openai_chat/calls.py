"""Tool calls of one choice, in pieces: which call a piece belongs to, whatever index and id its server gives it."""

from __future__ import annotations

from typing import Any

import orjson

from ...values.delta import Block, Channel, Delta, Open, Piece, Unknown
from ..base import Misshapen

TOOL = Channel.TOOL
MOST = 128
"""Choices, and tool calls of a choice, at most: OpenAI's limit for both n and tools."""


class Side:
    """The state of one choice, as the upstream has sent it."""

    __slots__ = ("at", "calls", "function", "last", "reasoning", "refusal", "spoken", "text")

    def __init__(self, index: int) -> None:
        self.text: Block = (index, "text")
        self.reasoning: Block = (index, "reasoning")
        self.refusal: Block = (index, "refusal")
        self.calls: dict[int, OpenToolCall] = {}
        """Calls by the number that the client gets."""
        self.at: dict[int | None, int] = {}
        """Maps the upstream's index (None: it gave none) to the number of the call that it means now."""
        self.function = False
        """It makes a call in the old form, `function_call`."""
        self.last = -1
        self.spoken = False

    def begin(self, given: int | None, number: int, call: OpenToolCall) -> OpenToolCall:
        """Begin a new call."""
        self.calls[number] = call
        self.at[given] = number
        self.last = max(self.last, number)
        return call

    def calls_at(
        self, given: int | None, call: dict[str, Any], body: dict[str, Any]
    ) -> tuple[OpenToolCall | None, int, bool]:
        """(the call a fragment belongs to, None for a new one; its number; was the fragment repaired?)

        Some servers give every parallel call the same index, or none (Ollama, Gemini, OCI, SGLang): whole calls in one
        piece each, or an opening with a new id and its pieces after that. Clients tell calls apart by index alone.
        """
        ident, name = str_of(call.get("id")), str_of(body.get("name"))
        text = str_of(body.get("arguments", body.get("input")))
        number = self.at.get(given)
        if number is None and given is None and self.last >= 0:
            number = self.last
        known = self.calls.get(number) if number is not None else None
        if known is None or number is None:
            return None, given if given is not None and given not in self.calls else self.last + 1, False
        if ident and known.id and ident != known.id:
            for at, other in self.calls.items():
                if other.id == ident:  # pieces of several calls in turn, told apart by their ids
                    self.at[given] = at
                    return other, at, _follows(call, body, other)
            if name and (known.closing or name != known.name):
                return None, self.last + 1, False
            return known, number, False
        if known.closing and not ident and not known.id:
            again = name or known.again
            if again and text.lstrip().startswith("{"):  # calls without ids: a name again, and other arguments
                body["name"] = again
                return None, self.last + 1, not name
            if name and not text:
                known.again = name
                body.pop("name")
                return known, number, True
        return known, number, _follows(call, body, known)


class OpenToolCall:
    """One tool call of a choice."""

    __slots__ = ("again", "block", "closing", "id", "name")

    def __init__(self, block: Block, ident: str, name: str) -> None:
        self.block = block
        self.id = ident
        self.name = name
        self.again = ""
        """A name that came again after complete arguments, without an id: another call may begin here."""
        self.closing = False
        """Its arguments end in a bracket: another id under the same index may be another call."""


def read_calls(side: Side, calls: list[Any], deltas: list[Delta], offset: int, several: bool) -> bool:
    """Read the pieces of tool calls of one choice. `offset`: calls that the client has of earlier attempts; `several`:
    the answer has more choices than one. True where a piece had to be repaired. Raises Misshapen."""
    changed = False
    for call in calls:
        if type(call) is not dict:
            raise Misshapen("a tool call is not an object")
        function, custom = call.get("function"), call.get("custom")
        body: dict[str, Any] = function if type(function) is dict else custom if type(custom) is dict else {}
        if not body and (function or custom):
            raise Misshapen("a function is not an object")
        arguments = body.get("arguments", body.get("input"))
        if type(arguments) is dict:  # Ollama's own form; every client wants a string
            arguments = body["arguments"] = orjson.dumps(arguments).decode()
            changed = True
        elif arguments and type(arguments) is not str:
            raise Misshapen("arguments are no text")
        given = call.get("index")
        key = given if type(given) is int else None
        known, number, repaired = side.calls_at(key, call, body)
        changed |= repaired
        if number != given:
            call["index"] = number
            changed = True
        name = str_of(body.get("name"))
        if known is None:
            ident = str_of(call.get("id"))
            if not 0 <= number < MOST:
                deltas.append(Unknown("tool_calls"))
                continue
            if arguments and not (ident or name) and (side.calls or several):
                raise Misshapen("a piece of a tool call that never began")
            block = (side.text[0], f"tool:{number + offset}")
            known = side.begin(key, number, OpenToolCall(block, ident, name))
            fields = {"id": ident, "index": number + offset, "free": body is custom}
            deltas.append(Open(block, TOOL, name, fields))
        elif name and not known.name:
            known.name = name
            deltas.append(Open(known.block, TOOL, name))
        text = str_of(arguments)
        if text:
            known.closing = text.rstrip().endswith(("}", "]"))
        deltas.append(Piece(known.block, TOOL, text))
    return changed


def read_function_call(side: Side, call: dict[str, Any], deltas: list[Delta]) -> None:
    """The old form, `function_call`: one call, without an id."""
    side.function = True
    block = (side.text[0], "function_call")
    name = str_of(call.get("name"))
    if name:
        deltas.append(Open(block, TOOL, name))
    deltas.append(Piece(block, TOOL, str_of(call.get("arguments"))))


def _follows(call: dict[str, Any], body: dict[str, Any], known: OpenToolCall) -> bool:
    """A fragment of a call that has begun says neither its id nor its name again: openai-python's accumulator joins
    what it gets. True where it did."""
    changed = False
    if known.id and call.get("id") == known.id:
        del call["id"]
        changed = True
    if known.name and body.get("name") == known.name:
        del body["name"]
        changed = True
    return changed


def str_of(value: Any) -> str:
    """The value where it is a string, else ""."""
    return value if type(value) is str else ""
