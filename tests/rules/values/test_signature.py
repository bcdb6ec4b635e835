"""Keys of calls and texts: equal for what is the same to the agent, different for everything else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.values import signature
from rules.values.signature import (
    call_signature,
    canonical,
    collapse,
    digest,
    fold_clock,
    fold_digits,
    normalise,
    parse_arguments,
    unwrapped,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_canonical_is_json_that_means_the_same(value: object) -> None:
    read = json.loads(canonical(value))
    assert json.loads(canonical(read)) == read


@given(st.dictionaries(st.text(), st.integers(), max_size=6))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


def test_numbers_print_as_javascript_prints_them() -> None:
    cases = {
        1.0: "1",
        0.1: "0.1",
        1e21: "1e+21",
        1e-7: "1e-7",
        1e-6: "0.000001",
        123456789012345680000.0: "123456789012345680000",
    }
    assert {value: canonical(value) for value in cases} == cases
    assert canonical(float("nan")) == "null"


def test_lone_surrogates_and_deep_nesting_do_not_raise() -> None:
    assert canonical("\ud800")
    deep = "[" * 3000 + "]" * 3000
    assert call_signature("t", deep).startswith("tool:t:")


def test_loose_drops_what_only_names_a_call() -> None:
    one = call_signature("run", '{"code":"x","title":"a"}', loose=True)
    assert one == call_signature("run", '{"title":"b","code":"x"}', loose=True)
    assert one != call_signature("run", '{"code":"y","title":"a"}', loose=True)
    think = [call_signature("think", f'{{"thought":"{t}"}}', loose=True) for t in "ab"]
    assert think[0] != think[1], "what consists of nothing else is its own content"


def test_arguments_that_are_not_json_stay_text() -> None:
    assert parse_arguments("") == {} and parse_arguments('{"a":') == '{"a":'


def test_clocks_fold_and_counters_do_not() -> None:
    assert fold_clock("at 12:03:11.52 in 3.4 s") == fold_clock("at 09:59:00 in 12 s")
    assert fold_clock("2026-01-02T03:04:05Z ok") == fold_clock("2025-12-31 23:59:59 ok")
    assert fold_clock("line 1") != fold_clock("line 2")
    assert fold_clock("x12:03:11" * 1000) == "x12:03:11" * 1000, "long results are compared as they are"
    assert fold_digits("3 of 14 done") == "0 of 0 done"


def test_javascript_white_space() -> None:
    assert collapse("\ufeff A\u00a0\u3000B\x85 ") == "a b\x85"


def test_digest_is_stable_and_short() -> None:
    assert digest("a") == digest("a") != digest("b") and len(digest("\ud800")) == 32


CODEX = "Chunk ID: {:06x}\nWall time: 0.{:04d} seconds\nProcess exited with code 0\nOutput:\n{}"
CLAUDE = "{2}\n\n<system-reminder>\n{0} tokens left\n</system-reminder>\n\n<system-reminder>still</system-reminder>"


@pytest.mark.parametrize("result", ["the same again", "", "the same again\n" * 1000 + "end"])
@pytest.mark.parametrize("wrapped", [CODEX, CLAUDE], ids=["codex", "claude"])
def test_what_an_agent_wraps_around_a_result_is_taken_off(wrapped: str, result: str) -> None:
    assert unwrapped(wrapped.format(0x125DF4, 12, result)) == result


def test_a_failure_that_is_wrapped_stays_one() -> None:
    said = "Chunk ID: 0a\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno"
    assert unwrapped(said) == "Process exited with code 2\nOutput:\nno"


def test_a_result_that_nobody_wrapped_is_the_same_object() -> None:
    plain = "a plain result"
    assert unwrapped(plain) is plain


@given(st.text("aB \n\u3000İΣςlet me I'll ", max_size=900), st.integers(0, 60))
def test_a_short_key_is_the_beginning_of_the_long_one(text: str, limit: int) -> None:
    whole = normalise(text * 3, limit=None)
    assert normalise(text * 3, limit) == whole[:limit]


def test_a_key_is_found_behind_any_amount_of_white_space() -> None:
    assert normalise(" " * 5000 + "Let me " + " " * 5000 + "look  again" + " " * 5000, 8) == "look aga"


@pytest.mark.parametrize(
    "value", ["2026-01-01T10:00:00Z", "10:00:01", "12 s", "0f8fad5b-d9cb-469f-a165-70867728950e\n"]
)
def test_a_result_that_is_nothing_but_a_time_is_the_answer(value: str) -> None:
    assert fold_clock(value) == value and fold_clock(f"done at {value}") != f"done at {value}"


PARTS = st.sampled_from(
    [
        *(
            "12",
            "3",
            "2026-11-30",
            "T",
            "12:30:45",
            ":",
            "12:30",
            " ",
            "s",
            "ms",
            "seconds",
            "sec",
            "S",
            "MS",
            "\u017f",
        ),
        *("\n", "\r\n", "\u2028", "a", "_", ".", "5.25", "Z", "+02:00", "-", "\u00e9", "\u0663", "\u0663s", ",", "~"),
        "12345678-1234-1234-1234-123456789abc",
    ]
)


@given(st.lists(PARTS, max_size=12).map("".join))
def test_lines_that_cannot_hold_a_time_are_left_out_and_nothing_else(text):
    folded = signature._CLOCK.sub("~", signature._UUID.sub("~", text))
    assert fold_clock(text) == (folded if signature._WORD.search(folded) else text)
