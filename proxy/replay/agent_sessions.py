"""Sessions as agents keep them, turned into request bodies: the same histories that their requests carried.

Claude Code writes a line per content block (`message` with a role), Codex a line per item (`payload` of a
`response_item`), OpenCode exports one document (`messages` with `info` and `parts`). All by shape, never by file name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class AgentSession:
    """The lines of one file, gathered."""

    def __init__(self) -> None:
        self._messages: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
        """By whether they are of a side conversation, an agent within the agent."""
        self._items: list[Mapping[str, Any]] = []
        self._last: dict[bool, object] = {}

    def take(self, row: Any) -> bool:
        """Is this a line of a session? Then it is kept."""
        if not isinstance(row, dict):
            return False
        message, payload = row.get("message"), row.get("payload")
        if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
            self._say(bool(row.get("isSidechain")), message)
            return True
        if isinstance(payload, dict) and row.get("type") == "response_item":
            self._items.append(payload)
            return True
        return isinstance(payload, dict) or "sessionId" in row

    def _say(self, side: bool, message: Mapping[str, Any]) -> None:
        """Blocks of one answer come as lines of their own, with its id."""
        said, ident = self._messages[side], message.get("id")
        blocks = message.get("content")
        if (
            ident
            and ident == self._last.get(side)
            and isinstance(blocks, list)
            and isinstance(said[-1]["content"], list)
        ):
            said[-1]["content"] += blocks
        else:
            said.append({"role": message["role"], "content": list(blocks) if isinstance(blocks, list) else blocks})
        self._last[side] = ident

    def bodies(self) -> Iterator[Mapping[str, Any]]:
        """What was gathered, as request bodies."""
        for said in self._messages.values():
            if said:
                yield {"messages": said}
        if self._items:
            yield {"input": self._items}


def exported(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A body of an exported session, None where the document is none."""
    messages = document.get("messages")
    if not isinstance(messages, list):
        return None
    said: list[dict[str, Any]] = []
    for message in messages:
        if not (isinstance(message, dict) and isinstance(message.get("parts"), list)):
            return None
        info = message.get("info")
        role = info.get("role") if isinstance(info, dict) else None
        blocks, results = _parts(message["parts"])
        if role in ("user", "assistant"):
            said.append({"role": role, "content": blocks})
        if results:
            said.append({"role": "user", "content": results})
    return {"messages": said} if said else None


def _parts(parts: list[Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(blocks, results of the calls among them)."""
    blocks: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            blocks.append({"type": "text", "text": part.get("text")})
        elif kind == "reasoning":
            blocks.append({"type": "thinking", "thinking": part.get("text")})
        elif kind == "tool" and isinstance(part.get("state"), dict):
            state, ident = part["state"], part.get("callID")
            blocks.append({"type": "tool_use", "id": ident, "name": part.get("tool"), "input": state.get("input")})
            output = state.get("output", state.get("error"))
            results.append(
                {
                    "type": "tool_result",
                    "tool_use_id": ident,
                    "content": output,
                    "is_error": state.get("status") == "error",
                }
            )
    return blocks, results
