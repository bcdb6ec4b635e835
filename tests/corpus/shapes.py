"""Loop and healthy shapes, made up here from the shapes that public bug reports describe; nothing is copied.

Every maker takes a seeded Random and gives (lead, body, prompt): a loop's body is the loop, a healthy one is all body.
"""

# ruff: noqa: E501  (a table of one-line recipes reads best unbroken)
from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import NamedTuple

from rules.values.delta import Channel

_WORDS = re.findall(
    r"\w+",
    "harbour ledger morning captain orange rope piano crate window garden letter bridge market candle station copper "
    "basket winter lantern engine paper silver kitchen valley thunder button mirror anchor pocket feather cousin river "
    "meadow whistle blanket hammer ticket corner shadow pepper marble island pencil saddle velvet chimney tunnel cotton",
)
_VERBS = re.findall(
    r"\w+", "carries counts opens follows paints measures hides repairs borrows remembers answers folds watches"
)
_LINKS = ("because", "while", "although", "until", "before", "unless", "after", "so that")
_HAN = (
    "山水火木金土日月天地人大小中上下左右前後東西南北春夏秋冬花鳥風雨雲雪石川田力男女子父母兄弟友国家学校生先語文字書本"
)


class Shape(NamedTuple):
    """One text with its right answer."""

    name: str
    loop: bool
    channel: Channel
    lead: str
    body: str
    prompt: str = ""

    @property
    def text(self) -> str:
        return self.lead + self.body


def sentence(rnd: random.Random) -> str:
    """One fresh sentence."""
    pick = rnd.choice
    first = f"the {pick(_WORDS)} {pick(_VERBS)} {rnd.randint(2, 60)} {pick(_WORDS)}s"
    second = (
        f"{pick(('her', 'his', 'our', 'no', 'every'))} {pick(_WORDS)} {pick(_VERBS)} the {pick(_WORDS)} {pick(_WORDS)}"
    )
    made = f"{pick(_WORDS)}{pick(('er', 'ing', 'less', 'ful', 'y', 'ish', 'wards'))}"
    return f"{first} {pick(_LINKS)} {second} near a {made} {pick(_WORDS)}.".capitalize()


def prose(rnd: random.Random, chars: int) -> str:
    """Healthy prose of about so many characters."""
    out: list[str] = []
    size = 0
    while size < chars:
        out.append(sentence(rnd) + ("\n\n" if rnd.random() < 0.15 else " "))
        size += len(out[-1])
    return "".join(out)


def name(rnd: random.Random) -> str:
    return "".join(rnd.choices(("ka", "lo", "mi", "ren", "tas", "vu", "del", "por", "qui", "ber", "zan", "fo"), k=3))


def _to(unit: str, chars: int = 6000) -> str:
    return unit * (chars // len(unit) + 1)


def _pool(rnd: random.Random, pool: list[str], chars: int = 6000, weights: list[int] | None = None) -> str:
    return "".join(rnd.choices(pool, weights, k=chars * len(pool) // sum(map(len, pool)) + 1))


Body = Callable[[random.Random], str]
T, R, A = Channel.TEXT, Channel.REASONING, Channel.TOOL

LOOPS: dict[str, tuple[Channel, int, Body]] = {
    # name: (channel, characters of prose before, body)
    "one word": (T, 600, lambda r: _to("court ")),
    "one mark": (R, 600, lambda r: "!" * 6000),
    "two marks": (R, 600, lambda r: _to("?!")),
    "newlines": (T, 20, lambda r: "\n" * 3000),
    "newlines with blanks": (T, 20, lambda r: _to("\n ", 3000)),
    "blanks in an object": (T, 200, lambda r: '{"summary":' + " " * 4000),
    "blanks in arguments": (A, 0, lambda r: '{"path": "notes.md",' + " " * 3000),
    "newlines in arguments": (A, 0, lambda r: '{"path": "notes.md",' + "\n" * 3000),
    "an article seven times a line": (R, 600, lambda r: _to("The the the the the the the\n\n")),
    "two paragraphs alternating": (R, 600, lambda r: _to(prose(r, 280) + "\n\n" + prose(r, 300) + "\n\n")),
    "paragraphs with gaps": (R, 600, lambda r: _gaps(r)),
    "closing phrases": (T, 600, lambda r: _to(" ".join(sentence(r) for _ in range(2)) + " One last check, then I finish. ")),
    "a block of code": (A, 0, lambda r: _block(r, 92) * 6),
    "a block of code in text": (T, 600, lambda r: _block(r, 40) * 6),
    "21 list lines": (T, 600, lambda r: _to("".join(f"- {sentence(r)}\n" for _ in range(21)), 20000)),
    "114 paragraphs": (T, 600, lambda r: "".join(sentence(r) + "\n\n" for _ in range(114)) * 3),
    "a numbered template": (T, 600, lambda r: "".join(
        f"{i}. The {r.choice(['bold', 'calm', 'plain', 'good', 'new'])} approach is important because it is an important "
        "approach.\n" for i in range(1, 140))),
    "numbered items that go round": (T, 600, lambda r: _round(r, 9)),
    "numbered items in any order": (T, 600, lambda r: _any_order(r)),
    "short ideograph lines": (R, 300, lambda r: _pool(r, ["好的\n", "開始\n", "等等\n", "再看\n"], 1800)),
    "an ideograph word": (T, 600, lambda r: _to("商店", 3000)),
    "an ideograph sentence": (T, 600, lambda r: _to("我現在就去修改這個文件然後再檢查一遍。", 3000)),
    "closing tags": (A, 600, lambda r: _to("</parameter>\n</invoke>\n")),
    "zeros in a number": (A, 0, lambda r: '{"total": 0.' + "0" * 6000),
    "objects whose id grows": (A, 0, lambda r: '{"rows":[' + ",".join(
        f'{{"id":{i},"name":"worker","state":"active","owner":"team-a"}}' for i in range(160))),
    "escaped newlines": (A, 0, lambda r: '{"path":"a.md","content":"# Title' + "\\n" * 2500),
    "spellings of a word": (R, 600, lambda r: _pool(r, ["its ", "itsThe ", "its\n", "it's ", "itss "], 6000, [80, 6, 4, 6, 4])),
    "agreement": (T, 600, lambda r: _to("yes agree\n")),
    "wait with a counter": (R, 600, lambda r: "".join(
        f"Wait - writing each line. Line {n}: {n} jars on the shelf. Wait - writing each line.\n" for n in range(120, 0, -1))),
    "closings in any order": (T, 600, lambda r: _pool(
        r, ["I am done. ", "Done! ", "That is all. ", "I have finished the task. ", "Everything is complete. "])),
    "one edit again and again": (A, 0, lambda r: '{"edits":[' + ",".join([json.dumps(
        {"file": "src/app.py", "old": "def run():\n    return 1", "new": "def run() -> int:\n    return 1"})] * 25)),
    "one line": (T, 600, lambda r: _to("Let me begin\n", 20000)),
    "a stanza with one slot": (T, 600, lambda r: "".join(
        f"I will execute now.\nOne detail: {r.choice(_WORDS[:12])}.\nCorrect.\n" for _ in range(200))),
    "thanks with emoji": (T, 600, lambda r: _to("Thank you so much! 🎉\nAll done! ✅\nHave a great day! 😊\n", 20000)),
    "a note printed again": (T, 600, lambda r: ("# Notes\n\n" + prose(r, 880) + "\n\n") * 7),
    "a plan of two lines": (T, 400, lambda r: _to(sentence(r) + "\n" + sentence(r) + "\n")),
    "announcing the edit": (T, 400, lambda r: _pool(
        r, ["Let me now make the edit. ", "Now I will make the edit. ", "Let me make the edit now. "])),
    "a long line": (T, 400, lambda r: _to((sentence(r) + sentence(r))[:79] + "\n", 20000)),
    "an enum word": (T, 100, lambda r: _to("Other; ")),
    "full-width marks": (T, 100, lambda r: "！" * 4000),
    "a plan printed for ever": (T, 400, lambda r: _to("".join(f"{i}. {sentence(r)}\n" for i in range(1, 8)) + '> "done"\n', 8000)),
    "one sentence": (T, 100, lambda r: _to(sentence(r) + " ")),
    "a short plan": (R, 200, lambda r: _to(" ".join(sentence(r) for _ in range(3)) + " ")),
    "syllables": (T, 300, lambda r: _pool(r, ["la ", "de ", "l ", "LaDe "], 4000, [30, 30, 30, 10])),
    "replacement signs": (T, 300, lambda r: "\ufffd" * 900),
    "one emoji": (T, 30, lambda r: "🎉" * 1300),
    "rows that slide": (T, 200, lambda r: "".join(" " * (i % 90) + "/ \\_/ \\_ stroke\n" for i in range(200))),
    "a table row": (T, 200, lambda r: "| name | value | note |\n|---|---|---|\n" + _to("| total | 0.00 | none |\n", 4000)),
    "one mark in a style sheet": (R, 0, lambda r: "".join(
        f".{name(r)} {{ margin: {r.randint(0, 40)}px; color: #{r.getrandbits(24):06x}; }}\n" for _ in range(40)) + "!" * 8192),
    "a phrase, then health": (T, 600, lambda r: "I think " * 2000 + prose(r, 600)),
    "tags that grow": (T, 300, lambda r: "".join(_tag(r) for _ in range(260))),
    "a table that goes round": (T, 200, lambda r: _cells(r, 5, 90)),
    "one answer to every slot": (T, 300, lambda r: _slots(r, 60)),
    "titles with their years": (T, 300, lambda r: _titles(r, 7, 160)),
    "thoughts that are indented": (R, 400, lambda r: _pool(r, [f"  {sentence(r)}\n" for _ in range(6)], 9000)),
    "wavering steps": (R, 400, lambda r: _pool(r, [
        "    No, I'll drop the comma.\n", "    Okay, I'll keep the comma.\n\n", "    Let's just write it: the tin was melted.\n",
        "  (With a comma after the verb.)\n", "    Wait, that has two of them.\n"], 9000)),
    "columns for ever": (T, 60, lambda r: "SELECT " + ", ".join(f"column{i}" for i in range(1, 900))),
    "commands in one call": (A, 0, lambda r: '{"command": "' + _to("cd /srv/app && make check; ", 4000)),
    "prose in a file": (A, 0, lambda r: '{"path": "a.md", "content": "' + _to("The harbour is closed until the morning. ", 4000)),
    "hashtags": (T, 300, lambda r: _to("#golang #community #mentors #learning #growth ", 4000)),
}  # fmt: skip


_STEMS = ("Growth", "Learning", "Community", "Leaders", "Mentors")


def _tag(r: random.Random) -> str:
    return "#Harbour" + "".join(r.choices(_STEMS, k=r.randint(1, 3))) + " "


def _cells(r: random.Random, names: int, rows: int) -> str:
    pool = [f"{r.choice(_WORDS)} {name(r)}" for _ in range(names)]
    head = "| what | price | stars | where |\n|---|---|---|---|\n"
    return head + "".join(
        f"| {r.choice(pool)} | ${r.choice((12, 14, 19))}.99 | {r.choice((3, 4))}/5 | the market hall |\n"
        for _ in range(rows)
    )


def _slots(r: random.Random, count: int) -> str:
    rest = f"is a calm place by the {r.choice(_WORDS)}, where every {r.choice(_WORDS)} has its own {r.choice(_WORDS)}"
    return "".join(
        f"{i}. {name(r).capitalize()}: this {rest}, and nobody ever asks what the {r.choice(_WORDS[:6])} was for.\n\n"
        for i in range(1, count)
    )


def _titles(r: random.Random, count: int, rows: int) -> str:
    pool = [f"The {r.choice(_WORDS)} {name(r)} (film, {r.randint(1950, 2020)})" for _ in range(count)]
    return "".join(f"{i}. {r.choice(pool)}\n" for i in range(1, rows))


def _gaps(r: random.Random) -> str:
    pair = [[sentence(r) + " " for _ in range(4)] for _ in range(2)]
    return "".join("".join(s for s in pair[i % 2] if r.random() < 0.85) + "\n\n" for i in range(40))


def _block(r: random.Random, lines: int) -> str:
    return "".join(
        f"    if {name(r)} == {r.randint(1, 999)}: return {name(r)}[{r.randint(0, 99)}]\n" for _ in range(lines)
    )


def _round(r: random.Random, count: int) -> str:
    names = [f"{name(r)} {r.choice(_WORDS)}" for _ in range(count)]
    return "".join(f"{i + 1}. {names[i % count]}\n" for i in range(300))


def _any_order(r: random.Random) -> str:
    names = [f"{r.choice(_WORDS)} {name(r)} of the {r.choice(_WORDS)}" for _ in range(8)]
    return "".join(f"{i + 1}. {r.choice(names)}\n" for i in range(300))


def _table(r: random.Random) -> str:
    head = "| thing | before | after | verdict |\n|---|---|---|---|\n"
    return head + "".join(f"| {name(r)} {i} | manual | automatic | better |\n" for i in range(60))


def _rules(r: random.Random) -> str:
    return "".join("=" * r.randint(60, 80) + f"\n{sentence(r)}\n" + "-" * r.randint(60, 300) + "\n" for _ in range(20))


def _verses(r: random.Random) -> str:
    chorus = "".join(sentence(r)[:44] + "\n" for _ in range(4))
    return "".join("".join(sentence(r)[:44] + "\n" for _ in range(4)) + "\n" + chorus + "\n" for _ in range(6))


def _drafts(r: random.Random) -> str:
    return "".join(
        f"{sentence(r)}\n```python\ndef next(x):\n    step = {n}\n    return x + step\n```\n{sentence(r)}\n"
        for n in range(8)
    )


def _steps(r: random.Random) -> str:
    return "".join(
        f"Step {i}: for file {name(r)}/{name(r)}.py I need to move `{name(r)}` into {name(r)}. Wait, line "
        f"{r.randint(3, 900)} also uses it, {sentence(r).lower()} OK.\n" for i in range(1, 45)
    )  # fmt: skip


def _openapi(r: random.Random) -> str:
    block = '      responses:\n        "200":\n          description: OK\n        "404":\n          description: Not found\n'
    return "paths:\n" + "".join(
        f"  /{name(r)}/{name(r)}:\n    get:\n      summary: {sentence(r)[:50]}\n{block}" for _ in range(30)
    )


def _licences(r: random.Random) -> str:
    head = "# Copyright the authors of this work\n# SPDX-License-Identifier: Apache-2.0\n# See the file LICENSE\n"
    return "".join(
        f"{head}def {name(r)}({name(r)}: int) -> int:\n    return {name(r)} * {r.randint(2, 99)}\n\n" for _ in range(25)
    )


def _lock(r: random.Random) -> str:
    return "".join(
        f'[[package]]\nname = "{name(r)}-{name(r)}"\nversion = "{r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}"\n'
        f'source = "registry"\nchecksum = "{r.getrandbits(256):064x}"\n\n' for _ in range(50)
    )  # fmt: skip


def _base64(r: random.Random, tail: str = "") -> str:
    signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return '{"data":"' + "".join(r.choices(signs, k=12000)) + tail + '"}'


def _voxels(r: random.Random) -> str:
    kinds = ("STONE", "BRICK", "GLASS", "WOOD")
    return "".join(
        f"fillBox({', '.join(str(r.randint(-40, 90)) for _ in range(6))}, {r.choice(kinds)});\n" for _ in range(300)
    )


def _config(r: random.Random) -> str:
    keys = [name(r) for _ in range(6)]
    out = []
    for _ in range(40):
        values = "".join(f"{key} = {r.choice(('on', 'off', str(r.randint(1, 9999))))}\n" for key in keys)
        out.append(f"[{name(r)}.{name(r)}]\n{values}\n")
    return "".join(out)


def _file(content: str) -> str:
    return json.dumps({"path": "a", "content": content})


ROWS: dict[str, Callable[[int], str]] = {
    "inserts": lambda i: f"INSERT INTO seats (id, name, a, b, c) VALUES ({i}, 'seat{i}', NULL, NULL, NULL);\n",
    "markup": lambda i: f'<li><a href="/parts/{i}">Part {i}</a> <button>Remove</button></li>\n',
    "users": lambda i: f"- User {i} signed in from the harbour office and opened the ledger at 07:{i % 60:02d}.\n",
    "links": lambda i: f"- [Part {i}](parts/{i:02d}.md): text to come for part {i}\n",
    "requests": lambda i: (
        f"wget -q --post-data='{{}}' http://localhost:8080/api/parts/{i} --header 'Accept: text/plain'\n"
    ),
    "services": lambda i: f"kind: Service\nmetadata:\n  name: part-{i}\nspec:\n  ports:\n    - port: {8000 + i}\n---\n",
    "fixtures": lambda i: f'  {{"id": {i}, "name": "Part {i}", "text": "Text of part {i}", "price": {i}.99}},\n',
}
"""Generated rows in which a number moves."""


def _numbered(row: Callable[[int], str], channel: Channel) -> Body:
    text = "".join(map(row, range(1, 121)))
    return lambda r: _file(text) if channel is A else text


HEALTHY: dict[str, tuple[Channel, str, Body]] = {
    # name: (channel, prompt, body)
    "prose": (T, "", lambda r: prose(r, 12000)),
    "reasoning": (R, "", lambda r: prose(r, 12000)),
    "a table with equal cells": (T, "", _table),
    "rules and banners": (T, "", _rules),
    "forty emoji": (T, "send me 40 emoji", lambda r: "🎉" * 40 + "\nEnjoy the party!\n" + prose(r, 300)),
    "a grid of zeros": (T, "give me a 40x40 grid of zeros", lambda r: ("0 " * 39 + "0\n") * 40),
    "voxel code": (A, "", _voxels),
    "a closed array of objects": (T, "", lambda r: json.dumps([
        {"id": i, "case": name(r), "state": "open", "owner": "team-a", "url": f"https://example.org/{name(r)}/{i}"}
        for i in range(59)], indent=1)),
    "paths with one prefix": (T, "", lambda r: "".join(
        f"- projects/atlas/locations/europe-west/services/runtime/{name(r)}-{name(r)}\n" for _ in range(60))),
    "insert statements": (A, "", lambda r: "".join(
        f"INSERT INTO users (id, name, city) VALUES ({i}, '{name(r)} {name(r)}', '{name(r)}');\n" for i in range(120))),
    "a log that was quoted": (T, "why this?\n" + "12:00:01 WARN pool is exhausted, waiting for a free one\n" * 2, lambda r:
        "```\n" + "12:00:01 WARN pool is exhausted, waiting for a free one\n" * 30 + "```\n" + sentence(r)),
    "base64": (A, "", _base64),
    "base64 with a tail": (A, "", lambda r: _base64(r, "A" * 200)),
    "a dump of zeros": (T, "", lambda r: "".join(f"{i * 16:08x}  {'00 ' * 16} {'.' * 16}\n" for i in range(60))),
    "a song with a refrain": (T, "write a song with a chorus", _verses),
    "a test log": (T, "", lambda r: "".join(f"tests/test_{name(r)}.py::test_{name(r)} ... ok\n" for _ in range(160))),
    "eight drafts": (R, "", _drafts),
    "path data": (A, "", lambda r: '<path d="M0 0 ' + " ".join(
        f"L{r.uniform(0, 900):.1f} {r.uniform(0, 900):.1f}" for _ in range(600)) + '"/>'),
    "one line fifty times": (T, "write 'I shall be good' 50 times", lambda r: "I shall be good\n" * 50),
    "a sheet with constant columns": (T, "", lambda r: "".join(
        f"2024-03-{r.randint(1, 28):02d}T{r.randint(0, 23):02d}:{r.randint(0, 59):02d},sensor-7,ok,{r.uniform(9, 30):.2f},C\n"
        for _ in range(150))),
    "an interface file": (A, "", _openapi),
    "bases": (T, "", lambda r: "".join(r.choices("ACGT", k=5000))),
    "an article in ideographs": (T, "", lambda r: "".join(
        "".join(r.choices(_HAN, k=r.randint(5, 18))) + r.choice("，。，。；？") for _ in range(400))),
    "licence headers": (A, "", _licences),
    "a lock file": (A, "", _lock),
    "steps through many files": (R, "", _steps),
    "a report with one form": (T, "", lambda r: "".join(
        f"### Sources verified\n- Claim: {sentence(r)}\n- Source: {name(r)}.org\n- Result: {sentence(r)}\n\n" for _ in range(6))),
    "a stutter that heals": (T, "", lambda r: prose(r, 600) + "the " * 6 + prose(r, 900)),
    "closing braces": (T, "", lambda r: "".join(
        "```\n" + _block(r, 6) + "    }\n" * 6 + "return None\n" * 6 + f"```\n{sentence(r)}\n" for _ in range(6))),
    "a program twice": (T, "", lambda r: (lambda code: f"{prose(r, 300)}```\n{code}```\n{prose(r, 300)}```\n{code}```\n{prose(r, 200)}")(
        _block(r, 45))),
    "an essay twice": (T, "", lambda r: (lambda essay: essay + "\n\nHere it is again, checked:\n\n" + essay)(prose(r, 2400))),
    "a padded table": (T, "", lambda r: "".join(f"| {name(r)}{' ' * 300}| {name(r)}{' ' * 500}|\n" for _ in range(12))),
    "dot leaders": (T, "", lambda r: "".join(f"{sentence(r)[:30]} {'.' * 60} {r.randint(1, 300)}\n" for _ in range(40))),
    "a to-do list": (T, "", lambda r: "".join(f"- [ ] {sentence(r)}\n" for _ in range(90))),
    "sections of settings": (T, "", _config),
    "a diff": (T, "", lambda r: "".join(
        f"@@ -{i * 9},3 +{i * 9},3 @@\n-    {name(r)} = {r.randint(1, 999)}\n+    {name(r)} = {r.randint(1, 999)}\n"
        for i in range(60))),
    "matrix rows": (T, "", lambda r: "".join(
        " ".join(str(r.randint(0, 9)) for _ in range(24)) + "\n" for _ in range(60))),
    "tests that count": (T, "", lambda r: "".join(f"test login_{i} ... ok\n" for i in range(160))),
    "a counting song": (T, "Sing 99 bottles of juice on the wall, all verses", lambda r: "".join(
        f"{n} bottles of juice on the wall, {n} bottles of juice.\nTake one down and pass it around, {n - 1} bottles of "
        "juice on the wall.\n\n" for n in range(99, 0, -1))),
    "thirty tags": (T, "", lambda r: prose(r, 500) + "\n" + "".join(_tag(r) for _ in range(30))),
    "dotted names in a list": (T, "", lambda r: "hooks:\n" + "".join(
        f"      - {name(r)}.command_lib.network_tests.util:Validate{name(r).title()}URIs\n" for _ in range(40))),
    "released again": (T, "", lambda r: "".join(
        f"## 3.0.{40 - i}\n\n### Patch Changes\n\n- Updated dependencies [{r.getrandbits(28):07x}]\n  - @kit/{r.choice(_WORDS)}@2.0."
        f"{r.randint(0, 40)}\n\n" for i in range(40))),
    "a table of prices": (T, "", lambda r: "| what | price | stars |\n|---|---|---|\n" + "".join(
        f"| {r.choice(_WORDS)} {name(r)} | ${r.randint(3, 99)}.{r.randint(10, 99)} | {r.randint(1, 5)}/5 |\n" for _ in range(60))),
    "statements of one kind": (T, "", lambda r: "".join(
        f"    check_{name(r)}(source, output, &rounds) &&\n" * 5 for _ in range(8))),
    "two licences": (T, "", lambda r: (lambda text: f"{prose(r, 300)}{text}{prose(r, 300)}{text}")(prose(r, 1000))),
    "a dialogue": (T, "", lambda r: "".join(
        f"{r.choice(('ANNA', 'BORIS', 'CLEO'))}:\n{sentence(r)} {sentence(r)}\n\n" for _ in range(40))),
    "a changelog": (T, "", lambda r: "".join(
        f"## {9 - i // 4}.{i % 4}.0\n\n### Fixed\n- {sentence(r)}\n- {sentence(r)}\n\n" for i in range(24))),
    "two hundred test cases": (T, "write 200 test cases for our API", lambda r: "".join(
        f"{i}. Verify that the API {r.choice(('creates', 'updates', 'deletes', 'lists'))} {r.choice(_WORDS)} when the user is "
        f"{r.choice(('an admin', 'a guest', 'an editor', 'a viewer', 'logged out', 'the owner'))}.\n" for i in range(1, 201))),
    "a truth table in words": (T, "a truth table for five variables", lambda r: "| A | B | C | D | E | out |\n" + "|---" * 6 + "|\n"
        + "".join("| " + " | ".join(str(bool(i >> k & 1)) for k in (4, 3, 2, 1, 0)) + f" | {i % 3 == 0} |\n" for i in range(32))),
    "a week in a table": (T, "my weekly schedule as a table", lambda r: "| Time | Mon | Tue | Wed | Thu | Fri | Sat | Sun |\n" + "|---" * 8 + "|\n" + "".join(
        f"| {h}:00 | " + ("Work | " * 5 + "Free time | Free time" if 9 <= h < 17 else " | ".join(["Sleep"] * 7)) + " |\n"
        for h in range(6, 24))),
    "a rota": (T, "", lambda r: "| Date | Early | Late | Night |\n|---|---|---|---|\n" + "".join(
        f"| {('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')[i % 7]} {1 + i % 30:02d} {('Mar', 'Apr', 'May')[i // 30]} | "
        + " | ".join(("Anna", "Ben", "Chris", "Dana")[(i + k) % 4] for k in range(3)) + " |\n" for i in range(90))),
    "sixteen weeks of training": (T, "a training plan for a half marathon", lambda r: "".join(
        f"**Week {w}**\n- Monday: Rest\n- Tuesday: Easy run {3 + w // 2} km\n- Wednesday: Strength training\n- Thursday: Intervals "
        f"{4 + w // 3} x 400 m\n- Friday: Rest\n- Saturday: Cross-training\n- Sunday: Long run {8 + w} km\n\n" for w in range(1, 17))),
    "ten posts with the same hashtags": (T, "", lambda r: (lambda tags: "".join(
        f"**Post {i}**\n{sentence(r)}\n\n{tags}\n\n" for i in range(1, 11)))("".join(_tag(r) for _ in range(15)))),
    "verdicts on 150 reviews": (T, "Classify the reviews", lambda r: "".join(
        f"{i}. {r.choice(('Positive', 'Negative', 'Neutral'))}\n" for i in range(1, 151))),
    "bare verdicts": (T, "", lambda r: "".join(r.choice(("Positive\n", "Negative\n", "Neutral\n")) for _ in range(150))),
    "fields that nobody disclosed": (T, "", lambda r: "".join(
        f"**{name(r).title()}**\n- Revenue: Not disclosed\n- Employees: Not disclosed\n- Founded: {r.randint(1950, 2020)}\n"
        "- CEO: Not disclosed\n- Headquarters: Not disclosed\n\n" for _ in range(30))),
    "a disk moved 63 times": (T, "", lambda r: "".join(
        f"{i}. Move disk {(i & -i).bit_length()} from rod {r.choice('ABC')} to rod {r.choice('ABC')}.\n" for i in range(1, 64))),
    "ten rounds of breath": (T, "a breathing script, 10 rounds", lambda r:
        "Breathe in... 2... 3... 4...\nHold... 2... 3... 4...\nBreathe out... 2... 3... 4...\n\n" * 10),
    **{f"{title}, {channel.label}": (channel, "Write the file with the sample data.", _numbered(row, channel))
       for title, row in ROWS.items() for channel in (T, R, A)},
    "a tile map": (A, "Write a small game with a map.", lambda r: _file("[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1],\n" * 16)),
    "a zero vector": (A, "Write a test for the store.", lambda r: _file(f"EMB = [{'0.0, ' * 1535}0.0]\n")),
    "an empty board": (A, "Write a fixture.", lambda r: _file(json.dumps({"cells": [None] * 64, "seen": [False] * 64}))),
    "slots of a table": (A, "Write the api table in C, 60 slots.", lambda r: _file("        NULL,\n" * 60)),
    "seats": (A, "Seed 80 seats.", lambda r: _file("  ('A', 'free', 45.00),\n" * 80)),
    "weights of a dummy": (A, "Write a dummy weights file.", lambda r: json.dumps(
        {"command": "cat > w.json << 'EOF'\n" + "    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],\n" * 40 + "EOF"})),
    "a map one column wide": (A, "Write the map that you have found.", lambda r: json.dumps(
        {"command": "cat > map.txt << 'EOF'\n#\nS\n" + " \n" * 130 + "EOF"})),
    "a blank table": (T, "Give me a blank sign-up sheet.", lambda r: "| Name | Day | Place |\n" + f"|{' ' * 20}|{' ' * 20}|{' ' * 20}|\n" * 12),
    "a sketched window": (T, "Sketch the layout of the page.", lambda r: "```\n+" + "-" * 58 + "+\n" + f"|{' ' * 58}|\n" * 16 + "```\n"),
    "lines to write on": (T, "Make a page of lines to write on.", lambda r: ("_" * 54 + "\n\n") * 15),
    "a log of health checks": (T, "What would the log look like?", lambda r:
        "```\n" + 'INFO:     10.0.0.7 - "GET /ready HTTP/1.1" 200 OK\n' * 14 + "```\n"),
    "filler in sections": (T, "Show a document with several sections of filler text.", lambda r: "".join(
        f"\\section{{Section {i}}}\nLorem ipsum dolor sit amet, consectetur adipiscing elit. Sed ac mauris, lacinia nisi vel nunc, "
        "vitae tempor leo. Ut nec magna at augue porta varius, quis dictum odio.\n\n" for i in range(1, 9))),
    "six sets of minutes": (T, "Prepare minutes for six meetings.", lambda r: "".join(
        f"## Meeting {i}\n\n**Date:** \n**Place:** \n**Present:** \n\n### Agenda\n1. Welcome and approval of the minutes\n"
        "2. Report of the treasurer\n3. Report of the harbour master\n4. Any other business\n\n" for i in range(1, 7))),
}  # fmt: skip


def shapes(seed: int = 1) -> list[Shape]:
    """The whole corpus, the same for the same seed."""
    out = []
    for title, (channel, lead, body) in LOOPS.items():
        rnd = random.Random(f"{seed} {title}")
        out.append(Shape(title, True, channel, prose(rnd, lead) if lead else "", body(rnd)))
    for title, (channel, prompt, body) in HEALTHY.items():
        out.append(Shape(title, False, channel, "", body(random.Random(f"{seed} {title}")), prompt))
    return out
