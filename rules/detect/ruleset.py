"""Rules in order of precedence, and the facts about all of them that every answer asks for, worked out once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..values.brief import Brief
from ..values.verdict import Action, Mode
from .due import dues
from .rule import Armed, Rule
from .watch import Watch


class RuleSet:
    """Rules in order of precedence, ready to watch answers."""

    __slots__ = ("armed", "asks_again", "by_piece", "dues", "gathers", "rules")

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        """Raises ValueError where two rules have one name."""
        self.rules: tuple[Rule, ...] = tuple(rules)
        twice = {r.name for r in self.rules if sum(o.name == r.name for o in self.rules) > 1}
        if twice:
            raise ValueError(f"two rules are called {', '.join(sorted(twice))}")
        self.armed: tuple[Armed, ...] = tuple(
            (i, r, r.kind) for i, r in enumerate(self.rules) if r.mode is not Mode.OFF and r.channels
        )
        # Asked for every answer: worked out once (30 calls of a short stream).
        self.asks_again = any(rule.action is Action.RETRY for rule in self.rules)
        """Some rule has an answer asked for again."""
        self.by_piece = any(kind.by_piece for _, _, kind in self.armed)
        self.gathers = all(kind.gathers for _, _, kind in self.armed)
        self.dues = dues(self.armed)

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> Watch:
        """Fresh monitors for one answer. `mode` is the weakest of global, provider and request mode."""
        if mode is Mode.OFF:
            return Watch((), brief or Brief(), mode)
        return Watch(self.armed, brief or Brief(), mode, self.by_piece, self.gathers, self.dues)

    def without(self, off: Iterable[str]) -> RuleSet:
        """The rules without those of these names. Raises ValueError for a name that is not here."""
        gone = set(off)
        unknown = gone - {rule.name for rule in self.rules}
        if unknown:
            raise ValueError(f"no rule is called {', '.join(sorted(unknown))}")
        return RuleSet(rule for rule in self.rules if rule.name not in gone)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, name: str) -> Rule:
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(name)
