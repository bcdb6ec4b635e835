"""YAML as plain data that remembers its places."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.settings.reading import document
from proxy.settings.reading.document import MAX_NODES, Document, dotted, parse
from proxy.settings.reading.problem import ConfigError


def read(text: str, **environ: str) -> Document:
    return parse(text, "c.yaml", environ)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("on", "on"), ("off", "off"), ("yes", "yes"), ("12:30", "12:30"), ("2026-01-01", "2026-01-01"), ("0777", 777),
        ("true", True), ("False", False), ("~", None), ("null", None), ("", None), ("1", 1), ("-1", -1), ("0x10", 16),
        ("0o10", 8), ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5), ('"1"', "1"), ("10s", "10s"), ("1_000", "1_000"),
        ("[a, 1]", ["a", 1]), ("{a: {b: 1}}", {"a": {"b": 1}}),
    ],
)  # fmt: skip
def test_values_are_those_of_yaml_1_2(written, meant):
    assert read(f"x: {written}").data == {"x": meant}


def test_places_are_of_keys_and_items():
    d = read("a:\n  b: 1\nlist:\n  - x\n  - y: 2\n")
    assert d.place(("a", "b")) == (2, 3)
    assert d.place(("list", 1, "y")) == (5, 5)
    assert d.place(("a", "b", "not", "there")) == (2, 3)
    assert d.place(("gone",)) == (None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}", "1"),
        ("x${A}y${B}", "x1y2"),
        ("${NO:-d}", "d"),
        ("${NO:-}", ""),
        ("${EMPTY:-d}", "d"),
        ("$$", "$"),
        ("$${A}", "${A}"),
        ("$A", "$A"),
        ("100%", "100%"),
    ],
)
def test_variables(text, value):
    assert read(f'x: "{text}"', A="1", B="2", EMPTY="").data == {"x": value}


@pytest.mark.parametrize("text", ["${NO}", "${", "${1}", "${A-b}"])
def test_variables_that_cannot_be_filled(text):
    with pytest.raises(ConfigError):
        read(f'x: "{text}"')


def test_aliases_and_merges():
    assert read("base: &b {x: 1, y: 2}\nmine: {<<: *b, y: 3}\n").data["mine"] == {"x": 1, "y": 3}


def test_a_bomb_of_aliases_is_defused():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n"
    for one, two in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"{two}: &{two} [{','.join(['*' + one] * 9)}]\n"
    with pytest.raises(ConfigError, match="unfolds into too many values"):
        read(bomb)
    assert MAX_NODES < 9**8


def test_a_loop_of_aliases_ends():
    with pytest.raises(ConfigError):
        read("a: &a [*a]\n")


def test_deep_nesting_ends():
    with pytest.raises(ConfigError):
        read("x: " + "[" * 5000)


@pytest.mark.parametrize(
    "text", ["? [a]\n: 1", "a: !!python/none x", "a: !mine x", "a: &a 1\nb: *c", "\x00", "a: b: c", "--- a\n--- b"]
)
def test_what_is_no_config_is_a_problem_with_its_file(text):
    with pytest.raises(ConfigError, match=r"^c\.yaml"):
        read(text)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"%@#,?\n \t~$<1é\x00"), max_size=60))
def test_any_text_is_data_or_a_problem(text):
    try:
        assert isinstance(read(text).data, dict)
    except ConfigError as wrong:
        assert wrong.problems


def test_dotted():
    assert dotted(("rules", "add", 0, "name")) == "rules.add[0].name"


def test_a_named_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    """A reload that waits for a writer would keep every later one waiting, for ever."""
    pipe, link = tmp_path / "pipe.yaml", tmp_path / "link.yaml"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(ConfigError, match="named pipe"):
            document.read(path, {})


def test_a_pipe_that_the_shell_hands_over_is_read() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as out:
        out.write(b"upstream: http://127.0.0.1:8080/v1\n")
    try:
        assert document.read(Path(f"/dev/fd/{reader}"), {}).data == {"upstream": "http://127.0.0.1:8080/v1"}
    finally:
        os.close(reader)
