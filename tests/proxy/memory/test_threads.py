"""Threads are kept for an hour since their last step, and never without bound."""

from __future__ import annotations

from proxy.memory.threads import Threads


def test_a_thread_is_kept_and_forgotten() -> None:
    now = [0.0]
    threads = Threads(lambda: now[0], keep_s=10, most=2)
    threads.keep("a", {"steps": [], "open": {}})
    now[0] = 9
    assert threads.get("a") == {"steps": [], "open": {}} and threads.get("b") is None
    now[0] = 11
    assert threads.get("a") is None and len(threads) == 0


def test_the_oldest_go_first() -> None:
    threads = Threads(lambda: 0.0, most=2)
    for key in "abc":
        threads.keep(key, {})
    assert [threads.get(key) is not None for key in "abc"] == [False, True, True]
