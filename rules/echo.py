"""An upstream that continues an answer may begin with what it continues (Mistral's `prefix` does, DeepSeek's and vLLM's
do not): what the client has already is taken away, character for character."""

from __future__ import annotations

SHORTEST = 8
"""Characters. A shorter beginning is no echo to be sure of: "ha" may well go on with "ha"."""


class Echo:
    """Text goes in, new text comes out. While all of it could be the echo, nothing comes out."""

    __slots__ = ("_held", "_shown")

    def __init__(self, shown: str) -> None:
        """`shown`: all text that the client has of this answer."""
        self._shown = shown if len(shown) >= SHORTEST else ""
        self._held = ""

    @property
    def waiting(self) -> bool:
        """It is not decided yet."""
        return bool(self._shown)

    def feed(self, text: str) -> str:
        """What of this is new to the client."""
        if not self._shown:
            return text
        held, shown = self._held + text, self._shown
        if len(held) < len(shown) and shown.startswith(held):
            self._held = held
            return ""
        self._shown = self._held = ""
        return held[len(shown) :] if held.startswith(shown) else held

    def rest(self) -> str:
        """The answer has ended: what was kept back was not the echo but its own words."""
        held, self._shown, self._held = self._held, "", ""
        return held
