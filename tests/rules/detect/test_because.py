"""The sentence that tells why, and the worked example of docs/detection.md: the numbers there are what the packs do."""

from __future__ import annotations

from pathlib import Path

import pytest

from rules.detect.because import because
from rules.detect.odds import load
from rules.detect.packs import assemble
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit


@pytest.mark.parametrize(
    ("hit", "sentence"),
    [
        (Hit(320, 2, 318, 47, 6.766, {"span": 318, "copies": 6.77}), "the same 47 characters, 6.77 times"),
        (
            Hit(1280, 300, 980, 245, 4.0, {"clean": 826, "copies": 3.9}),
            "nothing new was said for 826 characters, about 4 times the same",
        ),
        (
            Hit(2560, 0, 2240, 3, 700.0, {"poor": 2240}),
            "the newest 2,240 characters hold eight different words at most",
        ),
        (Hit(9000, 1, 8999, evidence={"known": 1844}), "1,844 characters of sentences that had been said twice before"),
        (Hit(9, 0, 9, None, 6.0), "the same again, 6 times"),
        (Hit(9, 0, 9), "9 characters of repetition"),
        (Hit(0, 0, 0), "a repetition"),
    ],
)
def test_each_kind_of_evidence_is_told(hit: Hit, sentence: str) -> None:
    assert because(hit) == sentence


def test_the_score_tells_how_many_such_texts_ever_stopped() -> None:
    step = load().curve[-1]
    texts, stopped = step.spans[512]
    assert because(Hit(900, 100, 800, 60, 13.0, {"odds": step.score, "nothing_new": 700}, {"odds": step.score})) == (
        f"little new was said for 700 characters; of {texts:,} texts that went on like this for 512 characters, "
        f"{stopped} stopped by themselves"
    )


def test_a_score_below_the_curve_tells_no_past() -> None:
    hit = Hit(900, 100, 800, 60, 13.0, {"odds": -9.0, "nothing_new": 700}, {"odds": -9.5})
    assert because(hit) == "little new was said for 700 characters"


NAMES = "Anna Bruno Carla David Elena Felix Greta Hugo Irene Jonas Karla Leo"
PLACES = "harbour|old mill|market|station|library|garden|bridge|museum|school|square|church|theatre"
LEAD = (
    "The town has many quiet corners, and each of them has somebody who looks after it. What follows is a walk through "
    "the streets on a morning in spring, told by those who opened the doors, swept the steps and watered the flowers."
    "\n\n"
)
ROUND = "".join(
    f"In the morning {NAMES.split()[at * 5 % 12]} walked to the {PLACES.split('|')[at * 7 % 12]} and said hello to "
    "everybody who was waiting there.\n"
    for at in range(12)
)
DOCS = Path("docs/detection.md")


@pytest.mark.parametrize("pack", ["early", "default", "calm"])
def test_the_example_is_cut_where_the_docs_say(pack: str) -> None:
    watch, text, waits = assemble([pack]).watch(Brief("Describe a town.")), LEAD + 5 * ROUND, 0
    for at in range(0, len(text), 8):
        found = watch.feed(0, Channel.TEXT, "0", text[at : at + 8])
        waits = waits or (at + 8) * watch.doubt
        if found:
            break
    (finding,) = found
    row = f"| `{pack}` | {waits:,} | {finding.hit.at:,} | {because(finding.hit)} |"
    assert row in DOCS.read_text(encoding="utf-8").splitlines()
    assert f"comes again at character {len(LEAD + ROUND):,}" in DOCS.read_text(encoding="utf-8")
