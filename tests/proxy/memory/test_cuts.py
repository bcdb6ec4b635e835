"""What we cut is remembered by digest, for a day since it was last seen, and never without bound."""

from __future__ import annotations

from proxy.memory.cuts import Cuts


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_cut_is_found_again() -> None:
    cuts = Cuts(Clock())
    cuts.remember("a", 40)
    assert cuts.look_up(["a", "b"]) == {"a": 40}


def test_it_is_forgotten_a_day_after_it_was_last_seen() -> None:
    clock = Clock()
    cuts = Cuts(clock, keep_s=100)
    cuts.remember("a", 40)
    clock.now = 90
    assert cuts.look_up(["a"]) == {"a": 40}
    clock.now = 180
    assert cuts.look_up(["a"]) == {"a": 40}
    clock.now = 281
    assert cuts.look_up(["a"]) == {} and len(cuts) == 0


def test_the_oldest_go_first() -> None:
    cuts = Cuts(Clock(), most=2)
    for key in "abc":
        cuts.remember(key, 1)
    assert cuts.look_up("abc") == {"b": 1, "c": 1}
