"""One long event, looked at in turns: its texts are shown to the watch some hundred characters at a time, and only then
is the event judged, as if they had just been shown. The verdict is the same: a watch does not care how text is cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ..values.delta import Channel, Delta, Piece
from ..values.verdict import Finding, NearMiss

if TYPE_CHECKING:
    from ..detect.watcher import Watcher

STEP: Final = 256
"""Characters shown at once."""


def weight(text: str) -> int:
    """What it costs to look at this text, in ASCII characters: others have one word in two or three."""
    return len(text) if text.isascii() else 3 * len(text)


class Lookahead:
    """The face of a Watcher that has looked already. Texts behind a finding that acts are not looked at before their
    turn comes."""

    __slots__ = ("_seen", "_steps", "_watch")

    def __init__(self, watch: Watcher, deltas: Sequence[Delta], ended: Collection[int] = ()) -> None:
        """`ended`: choices that are not looked at."""
        self._watch = watch
        self._seen: deque[tuple[str, list[Finding]]] = deque()
        self._steps = self._look([d for d in deltas if type(d) is Piece and d.text and d.block[0] not in ended])

    def look(self, chars: int) -> bool:
        """Look at about so many characters (`weight`); True when everything has been looked at."""
        for size in self._steps:
            chars -= size
            if chars <= 0:
                return False
        return True

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

    @property
    def doubt(self) -> bool:
        """As Watcher.doubt."""
        return self._watch.doubt

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        """As Watcher.feed."""
        if self._seen and self._seen[0][0] is text:
            return self._seen.popleft()[1]
        return self._watch.feed(choice, channel, key, text)

    def called(self, choice: int, name: str, arguments: str) -> Sequence[Finding]:
        """As Watcher.called."""
        return self._watch.called(choice, name, arguments)

    def drain(self) -> Sequence[Finding]:
        """As Watcher.drain."""
        return self._watch.drain()

    def near_misses(self, *, now: bool = False) -> Sequence[NearMiss]:
        """As Watcher.near_misses."""
        return self._watch.near_misses(now=now)
