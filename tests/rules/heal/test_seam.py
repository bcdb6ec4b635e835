"""Where a healed answer joins: what is kept, what completes the shown text, and what of the new text is left out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.heal.seam import Seam, completion, ends_well, in_fence, trimmed

START = "It was dark. The box held nine fuses, and eight of them were whole. "
UNIT = "I held one to the light of the window. "
NEW = "Its wire had melted, so I put in a new one."


def joined(text: str, shown: int, kept: int, said: str, period: int | None = None, step: int = 7) -> str:
    """What the client reads in the end; the second answer comes in pieces of `step` characters."""
    seam = Seam(text, shown, kept, period)
    out = ""
    drop: int | None = None
    heard = ""
    for at in range(0, len(said), step):
        heard += said[at : at + step]
        if drop is None:
            drop = seam.feed(said[at : at + step])
            if drop is not None:
                out = seam.lead + heard[drop:]
        else:
            out += said[at : at + step]
    if drop is None:
        drop = seam.end()
        out = (seam.lead if heard[drop:] else "") + heard[drop:]
    return text[:shown] + ("" if seam.restarted or seam.again else out)


@pytest.mark.parametrize("step", [1, 5, 400])
@pytest.mark.parametrize("lead", ["", " ", "\n"])
def test_the_running_sentence_is_completed(lead: str, step: int) -> None:
    text = START + UNIT * 4
    for shown in range(len(START) + len(UNIT), len(START) + 2 * len(UNIT)):
        got = joined(text, shown, len(START) - 1, lead + NEW, len(UNIT), step)
        copies = 1 if shown in (len(START) + len(UNIT), len(START) + len(UNIT) - 1) else 2
        assert " ".join(got.split()) == START + UNIT * copies + NEW


@pytest.mark.parametrize(
    "said", [START.strip() + " " + NEW, START[-30:] + NEW, UNIT + NEW, " " + UNIT + UNIT[:20] + "x"]
)
def test_what_the_client_has_is_left_out(said: str) -> None:
    text = START + UNIT * 4
    got = joined(text, len(START) + len(UNIT) + 5, len(START) - 1, said, len(UNIT))
    expected = START + UNIT * 2 + (NEW if said.endswith(NEW) else UNIT[:20] + "x")
    assert got == expected


@pytest.mark.parametrize("step", [1, 6, 400])
@pytest.mark.parametrize(
    "said",
    [START.upper(), "\n\n" + START.replace(" ", "  "), START[-40:].upper(), UNIT.upper(), UNIT.replace(" ", "\n")],
)
def test_case_and_white_space_do_not_matter(said: str, step: int) -> None:
    text = START + UNIT * 4
    got = joined(text, len(START) + len(UNIT) + 5, len(START) - 1, said + NEW, len(UNIT), step)
    assert " ".join(got.split()) == START + UNIT * 2 + NEW


@pytest.mark.parametrize("step", [1, 400])
def test_an_answer_that_begins_anew_may_soon_take_other_words(step: int) -> None:
    seam = Seam(START * 2 + UNIT, len(START) * 2 + 5, len(START) * 2 - 1, len(UNIT))
    fresh = Seam(START + NEW + UNIT, len(START + NEW) + 5, len(START + NEW), len(UNIT))
    said = START[:36].upper() + "seven old lamps, and none of them was lit. "
    for one in (seam, fresh):
        drops = [one.feed(said[at : at + step]) for at in range(0, len(said), step)]
        assert drops[-1] == 0
    assert fresh.restarted and not seam.restarted, "where the beginning comes twice it may come a third time"


@pytest.mark.parametrize("step", [1, 9, 400])
@pytest.mark.parametrize("preamble", ["Sure, here is the story again:\n\n", "Of course! " * 12 + "\n", "**Story**\n"])
def test_an_answer_that_begins_anew_behind_a_preamble_is_not_shown(preamble: str, step: int) -> None:
    text = START + NEW + " " + UNIT * 4
    said = preamble + START.upper() + NEW + " Then it was light."
    assert joined(text, len(START + NEW) + 60, len(START + NEW), said, len(UNIT), step) == text[: len(START + NEW) + 60]


@pytest.mark.parametrize("step", [1, 9, 400])
def test_text_that_is_no_preamble_goes_on(step: int) -> None:
    text = START + NEW + " " + UNIT * 4
    kept = len(START + NEW) + 1
    long = "Then it was light. " * 3 + "I could read the letter at last, and it was short. " * 5
    for said in ("Then it was light.", long, "Then it was light, and I said: It was dark. The box was shut."):
        assert joined(text, kept + len(UNIT), kept, said, len(UNIT), step) == text[: kept + len(UNIT)] + said


def test_two_copies_more_are_the_loop_again() -> None:
    seam = Seam(START + UNIT * 4, len(START) + 50, len(START) - 1, len(UNIT))
    assert seam.feed(UNIT * 2 + UNIT[:5]) is not None and seam.again


def test_a_last_sentence_said_again_is_left_out_where_the_loop_is_not_exact() -> None:
    text = START + "He saw one light there. He saw two lights there. "
    got = joined(text, len(text), len(START) - 1, " He saw two lights there. " + NEW)
    assert got == text + NEW


def test_an_answer_that_begins_anew_says_so() -> None:
    seam = Seam(START * 2 + UNIT, len(START) * 2 + 5, len(START) * 2 - 1, len(UNIT))
    assert seam.feed("Nothing like it was said before.") is not None and not seam.restarted


@pytest.mark.parametrize(
    ("text", "since", "kept"),
    [
        (START + UNIT * 3, len(START), START.strip()),
        (START + UNIT * 3, len(START) - 2, START.strip()),  # the end of the unit is that of the sentence before it
        ("One. Two and " + "three and " * 9, 13, "One."),
        ("No end here " + "and there " * 9, 12, ""),
        ("A table:\n| a. | b |\n" + "| 1. | 2 |\n" * 9, 20, "A table:\n| a. | b |\n"),
        ("Code:\n```\nx = 1. \ny = 2\n" + "z = 3. \n" * 9, 25, "Code:\n```\nx = 1. \ny = 2\n"),
        ("你好。今天天气很好。" + "我们走吧。" * 9, 10, "你好。今天天气很好。"),
        ("It is 3.14 metres and " + "3.14 metres and " * 9, 22, ""),
    ],
)
def test_kept_ends_with_a_sentence_or_a_line(text: str, since: int, kept: str) -> None:
    assert text[: trimmed(text, since)] == kept


def test_a_late_beginning_is_looked_for_further_ahead() -> None:
    text = START + UNIT * 5
    assert trimmed(text, len(START) + 2 * len(UNIT)) <= len(START)


def test_completion_never_ends_inside_a_word() -> None:
    text = "and round we went " * 6
    assert completion(text[:61], 59, None) == text[59:61] or completion(text, 59, 18)[-1:].isalnum()
    assert completion(text, 54, 18) == ""


def test_fences() -> None:
    assert in_fence("a\n```py\nx") and not in_fence("a\n```py\nx\n```\n") and not in_fence("a ``` b")
    assert (
        ends_well("Done.")
        and ends_well("Done.\n")
        and ends_well("好。")
        and not ends_well("3.14 and")
        and ends_well("")
    )


WORDS = st.text("abcdefgh", min_size=2, max_size=9)
SENTENCES = st.lists(WORDS, min_size=3, max_size=9).map(lambda words: " ".join(words) + ". ")


@given(st.lists(SENTENCES, min_size=2, max_size=5, unique=True), SENTENCES, SENTENCES, st.data(), st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_shown_stays_and_new_text_is_never_lost(
    before: list[str], unit: str, new: str, data: st.DataObject, step: int
) -> None:
    start = "".join(before)
    text = start + unit * 5
    shown = data.draw(st.integers(0, len(text)))
    kept = trimmed(text, len(start))
    got = joined(text, shown, kept, new, len(unit), step)
    assert got.startswith(text[:shown])
    body = new.strip()
    if not (start + unit).rstrip().endswith(body) and not start.startswith(body[:8]) and body not in unit * 2:
        tail = got[-len(new.rstrip()) :] if got.endswith(body) else got.rstrip()
        assert tail.endswith(body[-8:]), "the end of the new text is there"
