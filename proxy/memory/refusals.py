"""Remembers which parameters a provider refused in the second request of a heal, by provider and model, so that they
are left out from then on. It holds names of parameters only, in this process, and is bounded. A forgotten refusal costs
one refused call.
"""

from __future__ import annotations

from collections import OrderedDict

MOST = 1000
"""Models remembered, the oldest forgotten first."""


class Refusals:
    """One process's memory of refusals."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()

    def learn(self, provider: str, model: str, name: str) -> None:
        """This provider refuses it for this model."""
        key = provider, model
        self._known[key] = self._known.get(key, frozenset()) | {name}
        self._known.move_to_end(key)
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def of(self, provider: str, model: str) -> frozenset[str]:
        """All that is known to be refused."""
        return self._known.get((provider, model), frozenset())
