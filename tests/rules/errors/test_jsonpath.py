"""Paths into parsed JSON."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.errors.jsonpath import JsonPath


@pytest.mark.parametrize(
    ("path", "body", "values"),
    [
        ("/a", {"a": 1}, [1]),
        ("/a/b", {"a": {"b": None}}, [None]),
        ("/a/*", {"a": {"x": 1, "y": 2}}, [1, 2]),
        ("/a/*", {"a": [3, 4]}, [3, 4]),
        ("/a/*", {"a": {"*": 5}}, [5]),
        ("/*/b", {"a": {"b": 1}, "c": {"b": 2}, "d": 3}, [1, 2]),
        ("/a/1", {"a": [3, 4]}, [4]),
        ("/a/1", {"a": {"1": 5}}, [5]),
        ("/a/2", {"a": [3, 4]}, []),
        ("/a/01", {"a": [3, 4]}, []),
        ("/a/-1", {"a": [3, 4]}, []),
        ("/a/٣", {"a": [1, 2, 3, 4]}, []),
        ("/a/99999999999999999999", {"a": [1]}, []),
        ("/0/error", [{"error": 1}], [1]),
        ("/a~1b", {"a/b": 1}, [1]),
        ("/a~0b", {"a~b": 1}, [1]),
        ("/a~01", {"a~1": 1}, [1]),
        ("/", {"": 1}, [1]),
        ("/a/b", {"a": "b"}, []),
        ("/a", "a", []),
        ("/a", None, []),
        ("/*", 3, []),
    ],
)
def test_values(path: str, body: Any, values: list[Any]) -> None:
    assert list(JsonPath(path).values(body)) == values


@pytest.mark.parametrize("path", ["", "a", "a/b", "/a~", "/a~2b"])
def test_what_is_not_a_path(path: str) -> None:
    with pytest.raises(ValueError, match=r"path|tilde"):
        JsonPath(path)


def test_the_head_is_the_member_that_must_be_there() -> None:
    assert JsonPath("/a~1b/c").head == "a/b"
    assert JsonPath("/*/c").head is None
    assert JsonPath("/a") == JsonPath("/a") != JsonPath("/b")
    assert len({JsonPath("/a"), JsonPath("/a")}) == 1


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, st.lists(st.text(max_size=3), min_size=1, max_size=4))
@settings(max_examples=150)
def test_a_name_leads_where_indexing_leads(body: Any, names: list[str]) -> None:
    path = "/" + "/".join(name.replace("~", "~0").replace("/", "~1") for name in names)
    value: Any = body
    for name in names:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdecimal() and str(int(name)) == name:
            if int(name) >= len(value):
                return
            value = value[int(name)]
        else:
            return
    if "*" not in names:
        assert list(JsonPath(path).values(body)) == [value]
