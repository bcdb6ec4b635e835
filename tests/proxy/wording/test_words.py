"""What the page says of each way that an exchange can end."""

# ruff: noqa: E501
from __future__ import annotations

from typing import Any

import pytest

from proxy.wording import words

CUT = {
    "rule": "period",
    "action": "cut",
    "mode": "on",
    "acted": True,
    "channel": "text",
    "because": "“ab” came 30 times",
}
WATCH = {**CUT, "mode": "watch", "acted": False}
STEPS = {**CUT, "action": "refuse", "channel": "steps", "because": "the same call 9 times", "rule": "doom_loop"}
DOWN = {"what": "failed", "try": 1, "seconds": 0.2, "kind": "server", "status": 529, "phase": "headers", "code": None}
LOST = {**DOWN, "kind": "network", "status": None}


def row(outcome: str = "ok", **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "end": "done", "story": [], "findings": [], "server_cuts": [], "code": None, "attempts": 1,
            "seconds": 12.3, "provider": "main", "heal": None, **more}  # fmt: skip


@pytest.mark.parametrize(
    ("one", "said", "tone"),
    [
        (row(), "", "good"),
        (row(story=[DOWN, DOWN], attempts=3), "answered at try 3; before: 529: the provider is overloaded", "care"),
        (row("cut", findings=[CUT]), "cut: “ab” came 30 times in the text (rule period)", "care"),
        (row("cut", findings=[CUT], heal={"result": "again"}),
         "cut: “ab” came 30 times in the text (rule period); a second call was made to heal it, and looped again", "care"),
        (row(heal={"result": "healed"}), "healed: a second call carried on after the loop", "care"),
        (row(findings=[WATCH]), "watched only; would have been cut: “ab” came 30 times in the text (rule period)", "care"),
        (row("refused", findings=[STEPS]), "refused: the same call 9 times (rule doom_loop)", "care"),
        (row("failed", story=[LOST], attempts=4), "the connection failed, after 4 tries", "bad"),
        (row("failed", story=[{**DOWN, "status": 401}]),
         "401: the provider does not take the key. Look at the provider's api_key, or at the client's own where it has none", "bad"),
        (row("failed", story=[{**LOST, "phase": "connect"}]), "the connection failed. Does anything listen at its base_url?", "bad"),
        (row("failed", end="idle"), "the provider fell silent in the middle", "bad"),
        (row("failed", story=[{"what": "memory", "reason": "breaker"}]),
         "answered from memory: the provider is failing, and its breaker is open", "bad"),
        (row("rejected", code="streamfuse_draining"), "not taken: streamfuse was shutting down", "bad"),
        (row("rejected"), "not taken: the request was not valid", "bad"),
        (row("cut", end="drain"), "streamfuse was shut down before the answer was complete", "care"),
        (row("client_gone"), "the client left after 12 s", "care"),
        (row(story=[DOWN, {"what": "fallback", "provider": "spare", "model": "m2"}], provider="spare"),
         "answered by spare, since 529: the provider is overloaded", "care"),
        (row(story=[{"what": "queued", "seconds": 4.0}]), "waited 4.0 s for a place among the provider's calls", "care"),
        (row(server_cuts=["repetition"]), "the provider itself ended it because of a loop", "care"),
    ],
)  # fmt: skip
def test_why(one, said, tone):
    assert (words.why(one), words.tone(one)) == (said, tone)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (DOWN, "try 1 failed after 0.2 s: 529: the provider is overloaded"),
        ({"what": "retry", "wait": 4.0, "resume": False}, "asked again after 4.0 s"),
        ({"what": "retry", "wait": 90, "resume": True}, "went on in the same answer after 90 s"),
        ({"what": "fallback", "provider": "spare", "model": "m"}, "asked spare instead (m)"),
        (
            {"what": "memory", "reason": "queue"},
            "answered without asking: no place came free among the calls to the provider",
        ),
        ({"what": "follow_up", "name": "length"}, "the answer was not good enough (length): asked again"),
        ({"what": "rewritten"}, "the history in the request was shortened"),
        ({"what": "other"}, "other"),
    ],
)
def test_steps(one, said):
    assert words.step(one) == said


@pytest.mark.parametrize(("value", "said"), [(0.25, "0.2 s"), (30, "30 s"), (600, "10 min"), (10_800, "3.0 h")])
def test_seconds(value, said):
    assert words.seconds(value) == said
