"""What a request says, for monitors that raise their bars on wanted repetition. Nothing of it is ever kept or shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .asked import asked

Text: TypeAlias = Callable[[], str] | str


class Brief:
    """What the request says, read only if a monitor asks: all of its newest text, and what the user wants now."""

    __slots__ = ("_asked", "_prompt", "wishes")

    def __init__(self, prompt: Text = "", asked: Text | None = None) -> None:
        """`prompt` gives the request's text (system, user and tool results; bounded by the wire), or is it: the answer
        may quote it. `asked` gives the words that count as a wish (see `asked.asked`); None: `prompt` is what a user
        wrote, and no more."""
        self._prompt = prompt
        self._asked = asked
        self.wishes: object | None = None
        """What `requested_repetition` has read in it, kept for all monitors of the answer."""

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
