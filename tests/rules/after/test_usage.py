"""Token counts of every wire come to one shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules import Tokens, tokens, unwritten


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
          "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 8}},
         Tokens(100, 20, 8, 64)),
        ({"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 64},
          "output_tokens_details": {"reasoning_tokens": 8}}, Tokens(100, 20, 8, 64)),
        ({"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10, "output_tokens": 20},
         Tokens(100, 20, 0, 80)),
        ({"prompt_eval_count": 26, "eval_count": 290}, Tokens(26, 290)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 8, "cachedContentTokenCount": 64,
          "totalTokenCount": 128}, Tokens(100, 28, 8, 64)),
        ({"prompt_tokens": 5, "prompt_tokens_details": None}, Tokens(5)),
    ],
)  # fmt: skip
def test_the_counts_of_each_wire(usage, counts):
    assert tokens(usage) == counts


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "12",
        {},
        {"prompt_tokens": None},
        {"prompt_tokens": "7"},
        {"prompt_tokens": -1},
        {"input_tokens": True},
    ],
)
def test_what_holds_none(usage):
    assert tokens(usage) is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner) | st.lists(inner)
    )
)
def test_it_never_raises(usage):
    counted = tokens(usage)
    assert counted is None or min(counted) >= 0


@pytest.mark.parametrize(
    ("body", "characters", "left"),
    [
        ({}, 400, 3996),
        ({"max_tokens": 1000}, 400, 900),
        ({"max_completion_tokens": 1000, "max_tokens": 5}, 400, 900),
        ({"max_output_tokens": 1000}, 8000, 0),
        ({"max_tokens": 64_000}, 400, 16_284),
        ({"generationConfig": {"maxOutputTokens": 500}}, 400, 400),
        ({"options": {"num_predict": -1}}, 400, 3996),
        ({"max_tokens": "many"}, 0, 4096),
    ],
)
def test_what_a_cut_has_saved_is_an_estimate_by_the_request_s_limit(body, characters, left):
    assert unwritten(body, characters) == left
