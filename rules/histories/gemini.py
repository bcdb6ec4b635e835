"""History of Gemini: `contents`; a step is a model turn and the functionResponse parts of the turn after it.

Calls and results are paired by id where they have one, else by the function's name. Thought signatures belong to their
parts, so a step is kept or dropped whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from ..values.notices import MARK
from ..values.steps import ToolCall
from .base import History, Json, Pairing, Turn
from .parts import result_of

_WORDS = ("output", "result", "content", "error")
"""Members under which SDKs put the text of a result (google-genai: `result`, Gemini CLI: `output`, both: `error`)."""


_DATA = frozenset({"inlineData", "inline_data", "fileData", "file_data"})


def parts_of(item: Any) -> list[dict[str, Any]]:
    """The parts of a turn."""
    parts = item.get("parts") if isinstance(item, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def member(part: dict[str, Any], name: str, other: str) -> dict[str, Any] | None:
    """A member that is an object, in camel or in snake case."""
    value = part.get(name, part.get(other))
    return value if isinstance(value, dict) else None


def _call(part: dict[str, Any]) -> dict[str, Any] | None:
    return member(part, "functionCall", "function_call")


def _response(part: dict[str, Any]) -> dict[str, Any] | None:
    return member(part, "functionResponse", "function_response")


def ident(call: dict[str, Any]) -> str:
    """What pairs a call and its result."""
    return str(call.get("id") or call.get("name") or "")


def said_by(response: dict[str, Any]) -> str:
    """A result as text: its words where it holds nothing else."""
    given, parts = response.get("response"), response.get("parts")
    words = result_of(given)
    if isinstance(given, dict) and len(given) == 1:
        name, value = next(iter(given.items()))
        words = value if name in _WORDS and isinstance(value, str) else words
    return f"{words} {result_of(list(map(_typed, parts)))}" if isinstance(parts, list) and parts else words


def _typed(part: Any) -> Any:
    """A part that is no text, with the name of its member as its type."""
    if isinstance(part, dict) and not isinstance(part.get("text"), str):
        return {"type": next(iter(part), "part"), **part}
    return part


def _beside(item: Any) -> str:
    """Pictures and files that stand beside the results of a turn, by digest; older models take none within a result."""
    parts = parts_of(item)
    if not any(part.keys() & _DATA for part in parts):
        return ""
    return " " + result_of([_typed(part) for part in parts if part.keys() & _DATA])


def _texts(item: Any) -> list[str]:
    return [p["text"] for p in parts_of(item) if isinstance(p.get("text"), str) and p.get("thought") is not True]


class GeminiHistory(History):
    """Roles are `user`, `model` and, in older clients, `function`."""

    member = "contents"

    def recognises(self, body: Json) -> bool:
        return isinstance(body.get("contents"), list)

    def said(self, item: Any) -> str | None:
        if not isinstance(item, dict) or item.get("role") not in ("user", None):
            return None
        texts = [text for text in _texts(item) if not text.lstrip().startswith(MARK)]
        if any(text.strip() for text in texts):
            return " ".join(texts)
        return None if self.answers(item) else ""

    def answers(self, item: Any) -> bool:
        return any(_response(part) is not None for part in parts_of(item))

    def shown(self, item: Any) -> str:
        return result_of([_typed(part) for part in parts_of(item) if _response(part) is None])

    def is_step(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("role") == "model"

    def turns(self, items: Sequence[Any], base: int = 0, pairing: Pairing | None = None) -> list[Turn]:
        turns: list[Turn] = []
        pairing = pairing or Pairing()
        nudge: str | None = None
        for i, item in enumerate(items, base):
            if self.is_step(item):
                turns.append(self._turn(i, item, nudge, pairing))
                nudge = None
                continue
            beside = _beside(item)
            for part in parts_of(item):
                if (response := _response(part)) is not None:
                    given = response.get("response")
                    failed = True if isinstance(given, dict) and given.get("error") else None
                    pairing.answer(i, ident(response), said_by(response) + beside, failed)
            said = self.said(item)
            nudge = nudge if said is None else said
        return turns

    def _turn(self, at: int, item: dict[str, Any], nudge: str | None, pairing: Pairing) -> Turn:
        turn = Turn([at], ["".join(_texts(item))], [], [], nudge)
        for part in parts_of(item):
            if part.get("thought") is True and isinstance(part.get("text"), str):
                turn.reasoning.append(part["text"])
            elif (call := _call(part)) is not None:
                given = call.get("args")
                try:
                    arguments = orjson.dumps({} if given is None else given).decode()
                except (TypeError, ValueError):
                    arguments = str(given)
                pairing.called(turn, ToolCall(ident(call), str(call.get("name") or ""), arguments))
        return turn

    def text(self, item: Any) -> str:
        return "".join(_texts(item)) if self.is_step(item) else ""

    def with_text(self, item: Any, text: str) -> Any:
        kept: list[Any] = []
        put = not text
        for part in item.get("parts") or ():
            if isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("thought") is not True:
                if not put:
                    kept.append({**part, "text": text})
                    put = True
                elif part.keys() - {"text"}:  # a signature stays where it was
                    kept.append({**part, "text": ""})
            else:
                kept.append(part)
        return {**item, "parts": kept} if kept else None

    def without(self, items: Sequence[Any], at: frozenset[int]) -> list[Any]:
        gone: set[str] = set()
        kept: list[Any] = []
        for i, item in enumerate(items):
            if self.is_step(item):
                # A name may come again in a later step: a result belongs to the newest earlier call.
                called = {ident(call) for part in parts_of(item) if (call := _call(part)) is not None}
                gone = gone | called if i in at else gone - called
                if i in at:
                    continue
            elif self.answers(item):
                left = [p for p in item["parts"] if not (isinstance(p, dict) and _belongs(p, gone))]
                if not left:
                    continue
                if len(left) < len(item["parts"]):
                    kept.append({**item, "parts": left})
                    continue
            kept.append(item)
        return kept

    def user(self, text: str) -> Any:
        return {"role": "user", "parts": [{"text": text}]}

    def assistant(self, text: str) -> Any:
        return {"role": "model", "parts": [{"text": text}]}


def _belongs(part: dict[str, Any], gone: set[str]) -> bool:
    response = _response(part)
    return response is not None and ident(response) in gone


HISTORY = GeminiHistory()
