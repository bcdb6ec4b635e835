"""Microseconds that looking costs per event of one token: each monitor alone, and a pack through its Watch.

    python -m benchmarks.monitors [EVENTS] [PACK]

Best of seven rounds over made-up answers that do not loop, so that every rule stays armed to the end; then the inputs
that are dearest for the exact rules, each as one feed of 2,000 characters and as single characters.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Sequence

from rules.detect import packs
from rules.detect.monitors import TABLE
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.values.brief import Brief
from rules.values.delta import Channel

ROUNDS = 7
SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "qui",
    "ro",
    "su",
    "ta",
    "ve",
    "wi",
    "xo",
    "yu",
]


def prose(count: int) -> list[str]:
    """Words of one to four syllables with a space before, like a tokeniser's; a stop or a comma now and then."""
    rng = random.Random(7)
    common = [" " + "".join(rng.choices(SYLLABLES, k=rng.randint(1, 2))) for _ in range(60)]
    out = []
    for _ in range(count):
        roll = rng.random()
        rare = " " + "".join(rng.choices(SYLLABLES, k=rng.randint(2, 4)))
        out.append("," if roll < 0.06 else ".\n" if roll < 0.1 else rng.choice(common) if roll < 0.55 else rare)
    return out


def code(count: int) -> list[str]:
    """Names, numbers, brackets, indentation and many line ends."""
    rng = random.Random(8)
    marks = [" =", "(", ")", ",", ":", "\n    ", "\n", "\n        ", " +", ".", '"', "]", "["]
    out = []
    for _ in range(count):
        name = rng.choice(["", " "]) + "".join(rng.choices(SYLLABLES, k=2))
        out.append(
            rng.choice(marks) if rng.random() < 0.5 else str(rng.randint(0, 999)) if rng.random() < 0.2 else name
        )
    return out


def ideographs(count: int) -> list[str]:
    """One to three ideographs a token, a full stop now and then."""
    rng = random.Random(9)
    return [
        "。\n" if rng.random() < 0.07 else "".join(chr(0x4E00 + rng.randrange(900)) for _ in range(rng.randint(1, 3)))
        for _ in range(count)
    ]


SHAPES: dict[str, Callable[[int], list[str]]] = {"prose": prose, "code": code, "ideographs": ideographs}

DEAR: dict[str, str] = {
    "runs of one letter": "".join("a" * (40 + n * 17 % 23) + "b" * (n % 5) for n in range(60)),
    "one letter": "a" * 2000,
    "two letters": "".join(random.Random(3).choices("ab", k=2000)),
    "Fibonacci word": "",
    "spaces": " " * 2000,
    "equal short words": "no no yes " * 200,
    "lines of one letter": "a\n" * 1000,
    "rules": ("=" * 79 + "\n") * 25,
}
NEVER: dict[str, dict[str, int]] = {
    "cycle": {"distinct": 9999},
    "period": {"distinct": 9999},
    "lines": {"chars": 10**9},
}
"""Numbers at which a rule cannot fire."""
_a, _b = "a", "ab"
while len(_b) < 2000:
    _a, _b = _b, _b + _a
DEAR["Fibonacci word"] = _b


def spent(rules: RuleSet, pieces: Sequence[str], channel: Channel) -> float:
    """Best seconds of CPU for a whole answer."""
    best = float("inf")
    gc.disable()
    for _ in range(ROUNDS):
        watch = rules.watch(Brief())
        feed = watch.feed
        began = time.process_time()
        for piece in pieces:
            feed(0, channel, "0", piece)
        best = min(best, time.process_time() - began)
    gc.enable()
    return best


def worst(rules: RuleSet, pieces: Sequence[str], channel: Channel) -> float:
    """Longest single feed, the quickest of the rounds for each place (so that the machine's pauses do not count)."""
    slowest = [float("inf")] * len(pieces)
    for _ in range(ROUNDS):
        watch = rules.watch(Brief())
        for n, piece in enumerate(pieces):
            began = time.perf_counter()
            watch.feed(0, channel, "0", piece)
            slowest[n] = min(slowest[n], time.perf_counter() - began)
    return max(slowest)


def main() -> None:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    pack = sys.argv[2] if len(sys.argv) > 2 else "default"
    rules = packs.assemble([pack])
    none = RuleSet()
    print(f"pack {pack}: {len(rules)} rules; {events} events of one token; µs per event (worst single feed)")
    for name, shape in SHAPES.items():
        pieces = shape(events)
        per = sum(map(len, pieces)) / events
        print(f"\n{name} ({per:.1f} characters an event)")
        for channel in (Channel.TEXT, Channel.REASONING):
            cost, most = spent(rules, pieces, channel), worst(rules, pieces, channel)
            armed = rules.watch(Brief())
            fired = [f.rule for piece in pieces for f in armed.feed(0, channel, "0", piece)]
            note = f"  FIRED {fired}" if fired else ""
            print(f"  all rules, {channel.label:<10} {cost / events * 1e6:6.2f}  ({most * 1e6:.0f}){note}")
        print(f"  a watch without rules  {spent(none, pieces, Channel.TEXT) / events * 1e6:6.2f}")
        for monitor in sorted(TABLE):
            alone = RuleSet([Rule(name="alone", monitor=monitor, channels=(Channel.TEXT,))])
            cost, most = spent(alone, pieces, Channel.TEXT), worst(alone, pieces, Channel.TEXT)
            print(f"    {monitor:<20} {cost / events * 1e6:6.2f}  ({most * 1e6:.0f})")
    print("\ndear inputs, µs per character; none may fire, so that the cost is the whole text's")
    for name, text in DEAR.items():
        costs = []
        for monitor, never in (
            ("cycle", {"distinct": 9999}),
            ("period", {"distinct": 9999}),
            ("lines", {"chars": 10**9}),
        ):
            alone = RuleSet([Rule(name="alone", monitor=monitor, channels=(Channel.TEXT,), params=never)])
            whole, single = (spent(alone, pieces, Channel.TEXT) / len(text) * 1e6 for pieces in ([text], list(text)))
            costs.append(f"{monitor} {whole:5.2f} whole, {single:5.2f} by characters")
        print(f"  {name:<20} {';  '.join(costs)}")


if __name__ == "__main__":
    main()
