"""What we did to an answer does not come back: notices out, our cuts shortened, streaks cropped when asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.before.hygiene import CONTINUE, Crop, Sieve, crop_streaks, key_of, keys, tidy
from rules.histories import HISTORIES
from rules.values.notices import marked, strip_notices

from ...conversations import FORMS, Line, chat

WIRES = pytest.mark.parametrize("wire", list(FORMS))
LOOP = "We begin with the sea. " + "The sea is wide and blue. " * 30
KEEP = len("We begin with the sea. The sea is wide and blue.")
NOTICE = marked("The visible output repeated itself for 700 characters and was cut here.")
CUT = {key_of(LOOP): KEEP}


def texts(wire: str, body: Any) -> list[str]:
    history = HISTORIES[wire]
    return [t for item in history.items(body) if (t := history.text(item))]


@WIRES
def test_a_cut_answer_goes_upstream_as_its_start_and_one_copy(wire: str) -> None:
    body = FORMS[wire]([("user", "Write."), ("say", LOOP + "\n\n" + NOTICE), ("user", "Go on.")])
    out = tidy(HISTORIES[wire], body, CUT)
    assert texts(wire, out) == ["We begin with the sea. The sea is wide and blue."]
    assert tidy(HISTORIES[wire], out, CUT) is out
    assert len(HISTORIES[wire].items(out)) == 3


@WIRES
def test_clients_may_trim_and_fold_white_space(wire: str) -> None:
    body = FORMS[wire]([("user", "Write."), ("say", LOOP.strip().replace(". ", ".\n")), ("user", "Go on.")])
    (text,) = texts(wire, tidy(HISTORIES[wire], body, CUT))
    assert len(text) <= KEEP


@WIRES
def test_nothing_of_ours_means_the_very_same_request(wire: str) -> None:
    body = FORMS[wire]([("user", "Write."), ("say", LOOP), ("call", "read", "{}", "x"), ("user", "Go on.")])
    assert tidy(HISTORIES[wire], body, {}) is body
    assert tidy(HISTORIES[wire], body, {key_of("other" * 40): 3}) is body


@WIRES
def test_a_notice_is_taken_out_and_an_answer_of_nothing_else_with_it(wire: str) -> None:
    body = FORMS[wire]([("user", "Write."), ("say", NOTICE), ("user", "Go on.")])
    out = tidy(HISTORIES[wire], body, {})
    assert texts(wire, out) == [] and len(HISTORIES[wire].items(out)) == 2


@WIRES
def test_calls_beside_a_cut_text_stay_paired(wire: str) -> None:
    lines: list[Line] = [("user", "Write."), ("say", LOOP), ("call", "read", '{"f":1}', "x"), ("user", "Go on.")]
    out = tidy(HISTORIES[wire], FORMS[wire](lines), CUT)
    run = HISTORIES[wire].run(out)
    assert run.earlier[0].calls[0].result == "x" and len(run.earlier[0].text) <= KEEP


def test_only_texts_that_could_be_ours_are_looked_up() -> None:
    body = chat([("user", "x" * 200), ("say", "short"), ("user", "y"), ("say", LOOP)])
    assert keys(HISTORIES["openai_chat"], body) == {3: key_of(LOOP)}


@given(st.text(), st.lists(st.integers(0, 200), max_size=5))
def test_the_key_does_not_depend_on_the_pieces(text: str, cuts: list[int]) -> None:
    sieve = Sieve()
    at = 0
    for cut in [*sorted(cuts), len(text)]:
        sieve.update(text[at:cut])
        at = max(at, cut)
    assert sieve.hexdigest() == key_of(text)


@given(st.text(alphabet="ab\n "), st.text(alphabet="ab\n "))
def test_notices_come_out_whole(before: str, after: str) -> None:
    notice = marked("something repeated\nand was cut")
    assert strip_notices(f"{before}\n\n{notice}") == before.rstrip()
    assert strip_notices(f"{before}\n\n{notice}\n\n{after}x").endswith(f"{notice}\n\n{after}x")
    assert strip_notices(before) is before


THINK = ("think", "Same plan as before.")


@WIRES
def test_a_streak_of_equal_thinking_is_cropped_with_its_results(wire: str) -> None:
    lines: list[Line] = [("user", "Go.")]
    for i in range(4):
        lines += [THINK, ("call", "read", f'{{"f":{i}}}', f"text {i}")]
    history = HISTORIES[wire]
    done = crop_streaks(history, FORMS[wire](lines), Crop(enabled=True))
    assert [c.omitted for c in done.crops] == [(0, 1, 2, 3)]
    assert "text 1" not in str(done.body) and "Same plan" not in str(done.body)
    assert len(history.items(done.body)) == 1


@WIRES
def test_a_later_user_message_does_not_bring_a_streak_back(wire: str) -> None:
    lines: list[Line] = [("user", "Go."), *[THINK, ("call", "read", "{}", "x")] * 3]
    more = [*lines, ("user", "And now?"), ("say", "Let me see."), ("user", "Well?")]
    out = crop_streaks(HISTORIES[wire], FORMS[wire](more), Crop(enabled=True))
    assert "Same plan" not in str(out.body) and texts(wire, out.body) == ["Let me see."]


@WIRES
def test_an_assistant_turn_that_comes_last_is_followed_by_continue(wire: str) -> None:
    lines: list[Line] = [("user", "Go."), ("say", "First I look around.")]
    if wire == "openai_responses":
        lines.append(("call", "look", "{}", "trees"))
    else:
        lines.append(("user", "ok"))
        lines.append(("say", "Then I walk."))
    lines += [THINK, ("call", "read", "{}", "x")] * 3 if wire != "openai_chat" else [("call", "read", "{}", "x")] * 3
    history = HISTORIES[wire]
    out = crop_streaks(history, FORMS[wire](lines), Crop(enabled=True))
    last = history.items(out.body)[-1]
    assert history.said(last) == CONTINUE or not history.is_step(last)


@WIRES
def test_off_by_default_and_untouched_without_a_streak(wire: str) -> None:
    body = FORMS[wire]([("user", "Go."), *[THINK, ("call", "read", "{}", "x")] * 3])
    assert crop_streaks(HISTORIES[wire], body, Crop()).body is body
    body = FORMS[wire]([("user", "Go."), THINK, ("call", "read", "{}", "x"), ("say", "Done.")])
    assert crop_streaks(HISTORIES[wire], body, Crop(enabled=True)).body is body


def test_twenty_blocks_and_more_put_the_prompt_cache_at_risk() -> None:
    calls = ("calls", [("edit", f'{{"f":{i}}}', "ok") for i in range(3)])
    body = chat([("user", "Go."), *[THINK, ("say", "t"), calls] * 3])
    assert crop_streaks(HISTORIES["openai_chat"], body, Crop(enabled=True)).cache_risk
