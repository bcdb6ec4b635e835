"""A conversation whose client sends only what is new: loops are found all the same, and nothing can be read back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rules import wires
from rules.before.request import HistoryPolicy, before
from rules.before.threads import LONGEST, Thread, recall, remember, so_far
from rules.histories import HISTORIES
from rules.values.steps import Step, ToolCall
from rules.values.verdict import Action, Mode

RESPONSES = HISTORIES["openai_responses"]
MANNERS = HistoryPolicy()


class Talk:
    """An agent that uses previous_response_id, and the memory between its requests."""

    def __init__(self) -> None:
        self.record: dict[str, Any] = {}
        self.sent = 0

    def ask(self, items: list[dict[str, Any]], answer: Step) -> Action:
        body = {"model": "m", "input": items, "previous_response_id": "resp"}
        prior = recall(self.record)
        out = before(wires.get("openai_responses"), RESPONSES, body, MANNERS, Mode.ON, prior=prior)
        run = RESPONSES.run(body)
        known = prior.answered(RESPONSES.outputs(body)) if run.asked is None else ()
        self.record = json.loads(json.dumps(remember(so_far(known, run), answer)))
        return out.review.action


def output(n: int, result: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"call_{n}", "output": result}


def calls(n: int, name: str = "read", arguments: str = '{"f":"secret.py"}') -> Step:
    return Step(calls=(ToolCall(f"call_{n}", name, arguments),))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_the_ladder_is_climbed_without_the_history() -> None:
    talk = Talk()
    got = [talk.ask([user("Go.")], calls(0))]
    got += [talk.ask([output(n, "x = 1")], calls(n + 1)) for n in range(18)]
    assert got == [Action.PASS] * 3 + [Action.ADVISE] * 15 + [Action.REFUSE]
    assert talk.ask([user("Stop.")], calls(9)) is Action.PASS


def test_changed_results_are_progress_here_too() -> None:
    talk = Talk()
    talk.ask([user("Go.")], calls(0))
    assert all(talk.ask([output(n, f"line {n}")], calls(n + 1)) is Action.PASS for n in range(20))


def test_the_same_error_with_drifting_arguments() -> None:
    talk = Talk()
    talk.ask([user("Go.")], calls(0))
    got = [
        talk.ask([output(n, f"error {n}: denied")], calls(n + 1, arguments=f'{{"q":{n}}}')) for n in range(9)
    ]  # fmt: skip
    assert got[7] is Action.ADVISE and got[6] is Action.PASS


def test_no_text_is_kept_and_the_record_is_bounded() -> None:
    talk = Talk()
    talk.ask([user("my password")], Step(text="my answer", calls=calls(0).calls))
    for n in range(60):
        talk.ask([output(n, f"result {n}")], Step(text="my answer", calls=calls(n + 1).calls))
    kept = json.dumps(talk.record)
    assert not any(word in kept for word in ("password", "answer", "secret", "read", "result", "call_"))
    assert len(talk.record["steps"]) == LONGEST and len(kept) < 16_000


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from(["steps", "open"]), x), max_leaves=8))  # fmt: skip
def test_an_odd_record_is_an_empty_thread(record: Any) -> None:
    thread = recall(record) if isinstance(record, dict) else Thread()
    assert thread.answered({"x": "y"}) is not None
