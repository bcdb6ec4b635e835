"""The text of a request, for monitors that raise their bars where repetition was asked for. It is never stored or
shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .asked import asked

Text: TypeAlias = Callable[[], str] | str


class Brief:
    """The text of a request, computed only if a monitor asks: its newest text, and what the user wants now."""

    __slots__ = ("_asked", "_prompt", "wishes")

    def __init__(self, prompt: Text = "", asked: Text | None = None) -> None:
        """`prompt`: the request's text, or a function that gives it (system, user and tool results; bounded by the
        wire). The answer may quote it. `asked`: the words that count as a wish (see `asked.asked`), or a function
        that gives them; None: `prompt` is all user text."""
        self._prompt = prompt
        self._asked = asked
        self.wishes: object | None = None
        """The result of `requested_repetition`, cached for all monitors of the answer."""

    def settle(self) -> None:
        """Compute both now, because their source is about to be freed."""
        _ = self.prompt, self.asked

    @property
    def prompt(self) -> str:
        """The request's text, newest last, computed once."""
        if not isinstance(self._prompt, str):
            self._prompt = self._prompt()
        return self._prompt

    @property
    def asked(self) -> str:
        """The words that count as a wish, computed once."""
        if self._asked is None:
            self._asked = asked("", [self.prompt])
        elif not isinstance(self._asked, str):
            self._asked = self._asked()
        return self._asked
