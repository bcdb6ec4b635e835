"""The opt-in page: it shows the texts, escaped, loads nothing, and is the user's alone."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from proxy.commands.offline import replay
from proxy.replay import JudgingConfig
from rules.detect import packs
from rules.detect.ruleset import RuleSet

A = JudgingConfig(packs.assemble(["seeds"]))
EVIL = "<script>alert('x')</script><img src=//e.example/p> & more, "
LOADS = {"src", "href", "action", "data", "poster", "background", "srcset"}


class Page(HTMLParser):
    """Its tags, marks and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.marks: list[str] = []
        self.text = ""
        self._marked = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._marked = tag == "mark"

    def handle_endtag(self, tag: str) -> None:
        self._marked = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._marked:
            self.marks.append(data)


def page(tmp_path: Path, other: JudgingConfig | None = None) -> tuple[str, Path]:
    (tmp_path / "in").mkdir(exist_ok=True)
    (tmp_path / "in" / "<b>.jsonl").write_text(json.dumps({"text": "Well: " + EVIL * 12}) + "\n")
    quiet = Console(file=StringIO(), width=200)
    path = tmp_path / "report.html"
    path.touch(mode=0o644)
    assert replay([tmp_path / "in"], A, None, json=False, out=quiet, err=quiet, other=other, html=path) == 1
    return path.read_text(encoding="utf-8"), path


def test_the_text_around_a_finding_is_there_and_marked(tmp_path: Path) -> None:
    written, path = page(tmp_path)
    read = Page(written)
    assert EVIL in "".join(read.marks) and "Well: " in read.text
    assert len(read.marks) > 3, "copy by copy"
    for said in ("text-cycle", "rules.change.text-cycle.params.span", "choice 0", "span 256 ≥ 256", "<b>.jsonl:1"):
        assert said in read.text
    assert path.stat().st_mode & 0o077 == 0


def test_nothing_in_it_acts_or_loads(tmp_path: Path) -> None:
    written, _ = page(tmp_path)
    read = Page(written)
    assert not read.tags & {"script", "img", "link", "iframe", "object", "b", "a", "base", "form"}
    assert not read.attributes & LOADS
    assert not [name for name in read.attributes if name.startswith("on")]
    assert "default-src 'none'" in written and "url(" not in written and "@import" not in written


def test_a_comparison_shows_what_differs(tmp_path: Path) -> None:
    written, _ = page(tmp_path, JudgingConfig(RuleSet()))
    assert "only A: text-cycle" in Page(written).text


def test_a_place_that_cannot_be_written_raises(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "calm"}\n')
    quiet = Console(file=StringIO())
    with pytest.raises(OSError, match="nowhere"):
        replay([tmp_path / "x.jsonl"], A, None, json=False, out=quiet, err=quiet, html=tmp_path / "nowhere" / "r.html")


@pytest.mark.parametrize("where", ["nowhere/r.html", "."])
def test_a_page_that_cannot_be_written_is_told_before_the_work(tmp_path: Path, where: str) -> None:
    out = StringIO()
    with pytest.raises(OSError) as told:
        console = Console(file=out)
        replay(
            [tmp_path / "nothing"], JudgingConfig(), None, json=False, out=console, err=console, html=tmp_path / where
        )
    assert told.value.filename == str(tmp_path / where)
    assert out.getvalue() == ""
