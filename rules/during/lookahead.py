"""Looks at one long event over several turns, so that other streams can run between them.

The texts of the event are shown to the monitors some hundred characters at a time. When all of them have been shown,
the event is judged, and `feed` gives the findings again. The verdict is the same, because it does not depend on how
text is cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ..values.delta import Channel, Delta, Piece
from ..values.verdict import Finding

if TYPE_CHECKING:
    from ..detect.watcher import Watcher

STEP: Final = 256
"""Characters shown to the monitors at once."""


def weight(text: str) -> int:
    """Cost of looking at this text, in ASCII characters. Other scripts count three times, because their words are two
    or three characters long."""
    return len(text) if text.isascii() else 3 * len(text)


class Lookahead:
    """Texts of one event, looked at before their event is judged."""

    __slots__ = ("_seen", "_watch", "steps")

    def __init__(self, watch: Watcher, deltas: Sequence[Delta], ended: Collection[int] = ()) -> None:
        """`ended`: choices that have ended and are not looked at."""
        self._watch = watch
        self._seen: deque[tuple[str, list[Finding]]] = deque()
        self.steps = self._look([d for d in deltas if type(d) is Piece and d.text and d.block[0] not in ended])
        """Each step shows the monitors some more of the texts and gives its cost (`weight`). It stops at a finding that
        acts."""

    def _look(self, pieces: Sequence[Piece]) -> Iterator[int]:
        for (choice, key), channel, text in pieces:
            found: list[Finding] = []
            self._seen.append((text, found))
            for at in range(0, len(text), STEP):
                part = text[at : at + STEP]
                found += self._watch.feed(choice, channel, key, part)
                if any(finding.acts for finding in found):
                    return
                yield weight(part)

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        """As Watcher.feed: what was found when this text was looked at. Texts behind a finding are looked at now."""
        if self._seen and self._seen[0][0] is text:
            return self._seen.popleft()[1]
        return self._watch.feed(choice, channel, key, text)
