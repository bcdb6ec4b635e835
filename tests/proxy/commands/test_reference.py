"""The written pages are what the models say, and the example is a config that loads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxy.commands.reference import duration, entries, main, pages, sized
from proxy.settings.load import Settings, load
from rules.detect.packs import assemble

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_page_in_the_repository_is_the_written_one(name):
    assert (ROOT / name).read_text(encoding="utf-8") == pages()[name], "run python -m proxy.commands.reference"


@pytest.mark.parametrize("arguments", [["--help"], ["somewhere"]])
def test_it_writes_nothing_when_it_is_asked_how(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(arguments)
    said = capsys.readouterr()
    assert "reference" in said.out + said.err and not list(tmp_path.iterdir())


def test_it_writes_every_page(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    main([])
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")} == set(pages())


def test_the_example_loads_and_says_nothing_but_defaults():
    plain = Settings.model_validate({"providers": {"openai": {"base_url": "https://api.openai.com/v1"}}})
    assert load(ROOT / "config.example.yaml", {}, {}) == plain


def test_every_commented_line_of_the_example_is_valid_too(tmp_path):
    text = (ROOT / "config.example.yaml").read_text(encoding="utf-8")
    whole = re.sub(r"^( *)#(?=[a-z_\- ]+:)(?! )", r"\1", text, flags=re.MULTILINE)
    whole = re.sub(r"^( *)#(?=- |  [a-z_]+:)(?!# )", r"\1", whole, flags=re.MULTILINE)
    rule = next(iter(assemble())).name
    whole = whole.replace("rule-name:", f"{rule}:")
    (tmp_path / "all.yaml").write_text(whole, encoding="utf-8")
    got = load(tmp_path / "all.yaml", {}, {})
    assert got.ops is not None and got.routes[0].provider == "openai"
    assert got.retry.request.max_retries == 4 and rule in got.rules.change


def test_every_field_is_in_the_example_and_in_the_docs_with_what_it_does():
    example, docs = pages()["config.example.yaml"], pages()["docs/configuration.md"]
    for entry in entries():
        assert re.search(rf"\b{entry.path[-1]}(:| \()", example), entry.path
        assert f"`{'.'.join(entry.path).replace('.[]', '[]').replace('.*', '.NAME')}`" in docs
        assert entry.text.endswith((".", "…", "?")), entry.path


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0s"), (0.25, "250ms"), (10, "10s"), (90, "90s"), (480, "8m"), (3600, "1h"), (86400, "24h")]
)
def test_durations_are_written_shortly(value, text):
    assert duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (100, "100"), (65536, "64KB"), (1536, "1536"), (16 << 20, "16MB")]
)
def test_sizes_are_written_shortly(value, text):
    assert sized(value) == text
