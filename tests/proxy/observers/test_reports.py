"""The fan-out: every sink hears everything, and none can break another."""

from __future__ import annotations

import pytest

from proxy.observers.reports import Attempted, Reports, RequestInfo, Stage, Started
from rules.values.failures import Failure, Kind, Phase

CALL = RequestInfo("r", "p", "openai_chat")


class Ear:
    def __init__(self, error: Exception | None = None) -> None:
        self.heard: list[object] = []
        self.error = error

    def hear(self, report: object) -> None:
        if self.error:
            raise self.error
        self.heard.append(report)


def test_all_hear_all_in_order():
    one, two = Ear(), Ear()
    reports = Reports([one])
    reports.add(two)
    reports.tell(Started(CALL))
    reports.tell(Attempted(CALL, 1, 0.1))
    assert one.heard == two.heard == [Started(CALL), Attempted(CALL, 1, 0.1)]


def test_a_broken_sink_is_told_once_by_class_only():
    good = Ear()
    reports = Reports([Ear(ValueError("sk-secret")), good])
    for _ in range(3):
        reports.tell(Started(CALL))
    told = Stage("observer_failed", {"observer": "Ear", "error": "ValueError"}, wrong=True)
    assert good.heard == [told, Started(CALL), Started(CALL), Started(CALL)]
    assert reports.broken == 4


@pytest.mark.parametrize(
    ("model", "kept"), [("gpt-4o", "gpt-4o"), ("x" * 500, "x" * 128), ("a\nb\x1b[31m", "ab[31m"), ("模型", "模型")]
)
def test_a_model_s_name_is_bounded_and_printable(model, kept):
    assert RequestInfo("r", "p", "w", model).model == kept


def test_the_word_for_an_attempt():
    failure = Failure(Phase.CONNECT, Kind.NETWORK, "refused")
    assert Attempted(CALL, 1, 0.1).word == "ok"
    assert Attempted(CALL, 1, 0.1, failure=failure).word == "network"
    assert Attempted(CALL, 1, 0.1, failure=failure, result="client_gone").word == "client_gone"


def test_a_sink_that_names_classes_is_told_of_no_others():
    class Few:
        def __init__(self) -> None:
            self.took: list[object] = []
            self.hears = {Started: self.took.append}

        def hear(self, report: object) -> None:
            raise AssertionError("not asked")

    few, reports = Few(), Reports()
    reports.tell(Started(CALL))
    reports.add(few)
    for report in (Started(CALL), Stage("stopped")):
        reports.tell(report)
    assert few.took == [Started(CALL)] and reports.broken == 0
