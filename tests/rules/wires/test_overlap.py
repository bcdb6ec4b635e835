"""What a second answer says again is dropped once, exactly, and nothing else ever is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rules.wires.overlap import LEAST_TAIL, LEAST_WHOLE, RESTART, TAIL, Overlap, prefill

STORY = "Once upon a time there was a fuse. It sat between an agent and its model"


def joined(shown: str, *pieces: str, continued: bool = True) -> str:
    """What the client has in the end."""
    echo = Overlap(shown, continued=continued)
    heard = ""
    for at, piece in enumerate(pieces):
        heard += piece
        if (drop := echo.feed(piece)) is not None:
            return shown + heard[drop:] + "".join(pieces[at + 1 :])
    return shown + heard[echo.end() :]


@pytest.mark.parametrize(
    ("pieces", "result"),
    [
        ((", and",), STORY + ", and"),
        ((STORY, ", and"), STORY + ", and"),
        ((STORY + ", and",), STORY + ", and"),
        (("Once upon", " a time", STORY[16:] + ", and"), STORY + ", and"),
        (("between an agent and its model", ", and"), STORY + ", and"),
        ((" and its model, and",), STORY + " and its model, and"),  # 14 characters may be a figure of speech
        (("Once upon a dare",), STORY + "Once upon a dare"),
        ((), STORY),
    ],
)
def test_an_echo_is_dropped(pieces: tuple[str, ...], result: str) -> None:
    assert joined(STORY, *pieces) == result


@pytest.mark.parametrize(
    ("shown", "more"),
    [
        ("1", "1"),
        ("ha", "ha"),
        ("ha " * 40, "ha " * 40),
        ("-" * 60, "-" * 60),
        ("| a | b |\n" * 9, "| a | b |\n" * 9),
        ("x = 1\n" + "    return None\n" * 3, "    return None\n" * 2),
        ("Title\n" + "=" * 40, "=" * 40),
    ],
)
def test_what_repeats_by_nature_is_not_taken_for_an_echo(shown: str, more: str) -> None:
    assert joined(shown, more, continued=False) == shown + more


@pytest.mark.parametrize(
    ("shown", "more", "result"),
    [
        ("Hello ", " world", "Hello world"),
        ("Hello ", "world", "Hello world"),
        ("Hello\n", "\n\nworld", "Hello\n\nworld"),
        ("Hello\n\n", "\nworld", "Hello\n\nworld"),
        ("Hello there, ", "Hello there, world", "Hello there, world"),
        ("Hello there, ", "Hello there,", "Hello there, "),
    ],
)
def test_white_space_that_was_not_sent_is_not_shown_twice(shown: str, more: str, result: str) -> None:
    assert joined(shown, more) == joined(shown, *more) == result


def test_a_turn_of_its_own_keeps_its_white_space() -> None:
    assert joined("Hello\n", "\nworld", continued=False) == "Hello\n\nworld"


def test_beginning_anew_is_noticed() -> None:
    text = "".join(f"{n} bottles of beer, " for n in range(20))
    for pieces in ([text[: RESTART + 9] + "but no"], [*text[: RESTART + 9], "but no"]):
        echo = Overlap(text)
        assert [drop for piece in pieces if (drop := echo.feed(piece)) is not None] == [0]
        assert echo.restarted
    short = Overlap(text)
    assert short.feed(text[: RESTART - 9] + "but no") == 0 and not short.restarted
    rows = "a row that is longer than what a restart needs: sixty-four characters\n" * 3
    again = Overlap(rows)
    assert again.feed(rows[:70] + "no") == 0 and not again.restarted


WORDS = st.text(st.sampled_from("ab \n"), max_size=60) | st.text(max_size=60)


@given(shown=WORDS, more=WORDS, cuts=st.lists(st.integers(0, 120), max_size=6), continued=st.booleans())
@settings(max_examples=200)
def test_only_a_long_and_singular_copy_is_dropped(shown: str, more: str, cuts: list[int], continued: bool) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(more)), len(more)]
    pieces = [more[a:b] for a, b in pairwise(edges)]
    result = joined(shown, *pieces, continued=continued)
    assert result == joined(shown, more, continued=continued), "however it is cut"
    drop = len(shown) + len(more) - len(result)
    assert result == shown + more[drop:]
    sent = prefill(shown) if continued else shown
    space = shown[len(sent) :]
    copy = next((k for k in range(drop + 1) if sent.endswith(more[:k]) and space.startswith(more[k:drop])), None)
    assert copy is not None, "a copy of what stands right before"
    if copy:
        assert copy >= LEAST_TAIL or (copy == len(sent) and copy >= LEAST_WHOLE)
        assert sent.count(more[:copy]) == 1 and sent.count(more[copy // 2 : copy]) == 1


@given(st.data())
@settings(max_examples=200)
def test_shown_and_its_continuation_with_any_echo_is_the_text(data: st.DataObject) -> None:
    text = " ".join(data.draw(st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=20, max_size=400)))
    shown = text[: data.draw(st.integers(LEAST_TAIL, len(text)))]
    sent = prefill(shown)
    echo = data.draw(st.sampled_from([0, len(sent)]) | st.integers(0, min(len(sent), TAIL)))
    half = sent[len(sent) - echo // 2 :]
    assume(echo in (0, len(sent)) or echo >= LEAST_TAIL)
    assume(not echo or sent.find(half) == len(sent) - len(half))
    more = text[len(sent) :]
    if data.draw(st.booleans()):
        more = more[len(shown) - len(sent) :]  # a provider that remembers the white space
    said = sent[len(sent) - echo :] + more if echo else more
    assume(echo or not more.strip() or more.strip()[:LEAST_TAIL] not in sent)
    step = data.draw(st.integers(1, 50))
    pieces = [said[i : i + step] for i in range(0, len(said), step)]
    assert joined(shown, *pieces) == text


def test_a_long_loop_is_no_echo() -> None:
    loop = "and round it goes again, " * 4000
    assert joined(loop, loop) == loop + loop


def test_a_long_echo_costs_what_it_is_long() -> None:
    """Every piece is compared with what is left of the candidates, which is one: no work that grows with the text."""
    text = " ".join(map(str, range(40_000)))
    echo = Overlap(text)
    assert len(echo._alive) <= TAIL + 2
    assert echo.feed(text[:20]) is None
    assert len(echo._alive) == 1
