"""JSON with broken characters is read; what is no JSON is refused as orjson refuses it."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.values.json import is_json, loads

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=100)
@given(JSON)
def test_clean_json_is_read_as_ever(value: Any) -> None:
    assert loads(orjson.dumps(value)) == value


@settings(max_examples=100)
@given(st.text(st.characters(), max_size=20).map(lambda text: text.encode("utf-16", "surrogatepass")))
def test_whatever_python_writes_is_read(raw: bytes) -> None:
    text = raw.decode("utf-16", "surrogatepass")
    read = loads(json.dumps({"content": text}).encode())["content"]
    assert read == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (rb'{"a": "cut \ud83d"}', {"a": "cut \ufffd"}),
        (rb'{"a": "\ude00 rest"}', {"a": "\ufffd rest"}),
        (rb'{"a": "\ud83d\ude00 \uD83D"}', {"a": "\U0001f600 \ufffd"}),
        (rb'{"\ud83d": 1}', {"\ufffd": 1}),
        (b'{"a": "\xff"}', {"a": "\ufffd"}),
        (rb'{"a": "\\ud83d"}', {"a": "\\ud83d"}),
    ],
)
def test_broken_characters_are_replaced(raw: bytes, read: Any) -> None:
    assert loads(raw) == read


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b'{"a": NaN}', rb'{"a": "\ud83d"', rb'{"a": NaN, "b": "\ud83d"}', b"\xff", b"[" * 3000 + rb'"\ud83d"'],
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        loads(raw)


def test_a_byte_order_mark_is_left_out():
    assert loads(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    with pytest.raises(orjson.JSONDecodeError):
        loads(b"\xef\xbb\xbf")
    with pytest.raises(orjson.JSONDecodeError):
        loads(b"\xef\xbb\xbfno")


@pytest.mark.parametrize(
    ("text", "yes"),
    [("{}", True), ('{"a": "\ud800"}', True), ('{"a"', False), ("", False), ("NaN", False), ('Sure: {"a": 1}', False)],
)
def test_whether_a_text_is_json(text: str, yes: bool) -> None:
    assert is_json(text) is yes
