"""Equal calls in a row inside one answer."""

from __future__ import annotations

import pytest

from rules.detect.monitors.same_call import MONITOR, SameCallParams
from rules.values.brief import Brief


def fires_at(calls: list[tuple[str, str]], **params: int) -> int | None:
    monitor = MONITOR.start(SameCallParams(**params), Brief())
    for n, (name, arguments) in enumerate(calls, 1):
        if (hit := monitor.called(name, arguments)) is not None:
            assert hit.copies == MONITOR.params(**params).model_dump()["equal"]
            assert hit.since == hit.at - hit.span
            return n
    return None


def test_the_third_equal_call_fires() -> None:
    assert fires_at([("read", '{"f": "a"}')] * 5) == 3
    assert fires_at([("list", "")] * 3) == 3


def test_the_order_of_keys_and_white_space_do_not_hide_it() -> None:
    assert fires_at([("r", '{"a":1,"b":2}'), ("r", '{"b": 2, "a": 1}'), ("r", '{"a": 1.0, "b": 2}')]) == 3


def test_different_calls_in_parallel_are_usual_work() -> None:
    assert fires_at([("read", f'{{"f":{i}}}') for i in range(50)]) is None
    assert fires_at([("read", "{}"), ("list", "{}")] * 20) is None


def test_arguments_that_do_not_parse_compare_as_text() -> None:
    assert fires_at([("r", '{"a":')] * 3) == 3


def test_text_says_nothing_and_a_bar_under_two_is_refused() -> None:
    from rules.values.delta import Channel

    assert MONITOR.start(SameCallParams(), Brief()).feed("read read read", Channel.TEXT) is None
    with pytest.raises(ValueError, match="equal"):
        SameCallParams(equal=1)
