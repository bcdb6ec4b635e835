"""What a request says, for monitors that raise their bars on wanted repetition. Nothing of it is ever kept or shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .wanted import Wishes


class Brief:
    """What the request says, read only if a monitor asks: its newest text, for raising bars on wanted repetition."""

    __slots__ = ("_prompt", "_supplier", "wishes")

    def __init__(self, supplier: Callable[[], str] | str = "") -> None:
        """`supplier` gives the prompt's text (system, user and tool results; bounded by the wire), or is it."""
        self._supplier = supplier
        self._prompt: str | None = None
        self.wishes: Wishes | None = None
        """What `wanted` has read in it, for all monitors of the answer."""

    @property
    def prompt(self) -> str:
        """The request's text, newest last, computed once."""
        if self._prompt is None:
            self._prompt = self._supplier if isinstance(self._supplier, str) else self._supplier()
        return self._prompt
