"""The words of a cut: what repeated and how much, when it is said, and that it never says what or asks to conclude."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from rules.during.cut import Cut, Limits, marker
from rules.values.delta import Channel
from rules.values.verdict import Action, Finding, Hit, Mode

FINDING = Finding("char-cycle", Action.CUT, Mode.ON, Channel.REASONING, 0, Hit(900, 300, 600, 60, 10.0))


def test_the_notice_says_which_part_and_how_much() -> None:
    text = Cut().text(FINDING)
    assert "reasoning" in text
    assert "600 characters" in text
    assert "carry on with the task" in text
    assert "conclude" not in text.lower()


@pytest.mark.parametrize("channel", list(Channel))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_channel_has_words(channel: Channel, language: str) -> None:
    finding = Finding("r", Action.CUT, Mode.ON, channel, 0, Hit(9, 0, 9))
    text = Cut.model_validate({"language": language}).text(finding)
    assert "9" in text
    assert "{" not in text


def test_auto_follows_the_language_of_the_answer() -> None:
    assert "思考内容" in Cut().text(FINDING, "海很蓝")
    assert "reasoning" in Cut().text(FINDING, "the sea")
    assert "思考内容" in Cut(language="zh").text(FINDING, "the sea")


def test_own_words() -> None:
    cut = Cut(notice_text="{rule}/{channel}/{chars}/{copies}/{other}")
    assert cut.text(FINDING) == "[streamfuse] char-cycle/reasoning/600/10/{other}"
    bare = Finding("r", Action.CUT, Mode.ON, Channel.TEXT, 0, Hit(9, 0, 9))
    assert cut.text(bare) == "[streamfuse] r/visible output/9//{other}"


@pytest.mark.parametrize(
    ("notice", "visible", "plain", "said"),
    [
        (True, False, True, True),
        (True, True, True, False),
        (True, False, False, False),
        (False, False, True, False),
        ("always", True, True, True),
        ("always", True, False, False),
    ],
)
def test_when_the_notice_is_shown(notice: bool | str, visible: bool, plain: bool, said: bool) -> None:
    ending = Cut.model_validate({"notice": notice}).ending(FINDING, visible=visible, plain=plain)
    assert (ending.notice is not None) is said
    assert ending.finish is None


def test_another_finish_is_handed_on() -> None:
    assert Cut(finish="length").ending(FINDING, visible=True).finish == "length"


def test_the_marker_holds_numbers_and_names() -> None:
    assert marker(FINDING, 2) == {
        "rule": "char-cycle",
        "action": "cut",
        "channel": "reasoning",
        "choice": 0,
        "since": 300,
        "period": 60,
        "copies": 10.0,
        "attempts": 2,
        "because": "the same again, 10 times",
    }
    bare = Finding("r", Action.RETRY, Mode.ON, Channel.TEXT, 0, Hit(9, 0, 9))
    assert marker(bare).keys() == {"rule", "action", "channel", "choice", "since", "attempts", "because"}


def test_numbers_are_rounded_for_the_client() -> None:
    hit = Hit(256, 0, 256, 47, 256 / 47, {"span": 256.0, "copies": 256 / 47}, {"span": 250.0, "copies": 5.0000001})
    facts = marker(Finding("r", Action.CUT, Mode.ON, Channel.TEXT, 1, hit))
    assert (facts["choice"], facts["period"], facts["copies"]) == (1, 47, 5.45)
    assert facts["evidence"] == {"span": 256.0, "copies": 5.4468}
    assert facts["bars"] == {"span": 250.0, "copies": 5.0}
    assert "5.45 times" in Cut(notice_text="Seen {copies} times.").text(
        Finding("r", Action.CUT, Mode.ON, Channel.TEXT, 0, hit)
    )


@pytest.mark.parametrize("bad", [{"notice": "sometimes"}, {"language": "fr"}, {"nottice": True}])
def test_wrong_settings_are_errors(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Cut.model_validate(bad)


@pytest.mark.parametrize("bad", [{"event": 10}, {"hold": -1}, {"hols": 1}])
def test_wrong_limits_are_errors(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate(bad)
