"""What a provider gives several requests in place of an answer, one after the other."""

from rules.after.health import FORGET
from rules.after.repeats import Repeats


def seen(*calls):
    """Repeats after calls of (likeness, request, began, ended)."""
    repeats = Repeats()
    for likeness, request, began, ended in calls:
        repeats.came(likeness, request, began, ended)
    return repeats


def test_one_request_alone_says_nothing_about_others():
    repeats = seen(("page", "a", 0, 1), ("page", "a", 2, 3), ("page", "a", 4, 5))
    assert repeats.count("page", 5) == 0
    repeats.came("page", "b", 6, 7)
    assert repeats.count("page", 7) == 4


def test_calls_side_by_side_are_one_observation():
    repeats = seen(("page", "a", 0, 1), ("page", "b", 0, 1.1), ("page", "c", 0.5, 1.2))
    assert repeats.count("page", 2) == 1
    repeats.came("page", "b", 1.6, 1.7)
    assert repeats.count("page", 2) == 2


def test_something_else_in_between_begins_anew():
    for other in ("words", ""):
        repeats = seen(("page", "a", 0, 1), ("page", "b", 2, 3), (other, "c", 4, 5))
        assert repeats.count("page", 5) == repeats.count(other, 5) == 0
        repeats.came("page", "a", 6, 7)
        assert repeats.count("page", 7) == 0


def test_it_is_forgotten():
    repeats = seen(("page", "a", 0, 1), ("page", "b", 2, 3))
    assert repeats.count("page", 3 + FORGET) == 2
    assert repeats.count("page", 3.1 + FORGET) == 0
    repeats.came("page", "b", 70, 71)
    assert repeats.count("page", 71) == 0, "of one request again"


def test_without_a_likeness_nothing_is_counted():
    assert seen(("", "a", 0, 1), ("", "b", 2, 3)).count("", 3) == 0


def test_a_crowd_that_comes_at_once_is_one_observation():
    crowd = [("page", name, at / 1000, (at + 1) / 1000) for at, name in enumerate("abcdefgh")]
    assert seen(*crowd).count("page", 0.1) == 1
    assert seen(*crowd, ("page", "a", 0.5, 0.6)).count("page", 0.6) == 2
