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


@settings(max_examples=100)
@given(JSON | st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_long_json_is_read_the_same(value: Any, ascii_only: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    short = loads(raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rules.values.json.LONG", 0)
        assert loads(raw) == short


@pytest.mark.parametrize(
    "raw",
    [b"[1,]", b"01", b"NaN", b"-Infinity", b"{}x", b"", b"'a'", b'"\\x"', b'"\x01"', b"\x0c{}", b'{"a"}', b"// c\n{}"],
)
def test_what_is_no_json_is_none_when_it_is_long(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rules.values.json.LONG", 0)
    with pytest.raises(orjson.JSONDecodeError):
        loads(raw)


def test_long_json_keeps_long_numbers_and_nests_as_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rules.values.json.LONG", 0)
    assert loads(b"123456789012345678901234567890") == 123456789012345678901234567890
    deep = b"[" * 230 + b"]" * 230
    assert orjson.dumps(loads(deep)) == deep
    assert loads(b"\xef\xbb\xbf[1]") == [1]


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
