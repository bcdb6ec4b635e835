"""One exchange as the shell tells it, for every sink: tried twice, cut in the end."""

from __future__ import annotations

from proxy.reports import (
    Attempted,
    BudgetExhausted,
    Call,
    Ended,
    EndReason,
    ErrorRuleHit,
    Found,
    Outcome,
    Report,
    Retrying,
    Started,
    StateChanged,
)
from rules.delta import Channel
from rules.failures import Failure, Kind, Phase
from rules.verdict import Action, Finding, Hit, Mode

SECRET = "sk-proj-abcdef0123456789"
PROMPT = "the patient's name is Dolores"

CALL = Call("req-1", "openai", "openai_chat", "gpt-x", True)
FAILURE = Failure(
    Phase.HEADERS,
    Kind.RATE_LIMIT,
    f"Incorrect API key provided: {SECRET}",
    status=429,
    code=SECRET,
    body=PROMPT.encode(),
    headers={"x-request-id": SECRET},
)
FINDING = Finding(
    "period", Action.CUT, Mode.ON, Channel.REASONING, 0, Hit(700, 100, 600, 20, 30.0, {"span": 600.0}, {"span": 512.0})
)


def found(mode: Mode = Mode.ON) -> Found:
    """The finding of the exchange."""
    finding = Finding(FINDING.rule, FINDING.action, mode, FINDING.channel, 0, FINDING.hit)
    return Found(CALL, finding, finding.acts)


def ended(outcome: Outcome = Outcome.CUT, reason: EndReason | None = EndReason.CUT, call: Call = CALL) -> Ended:
    """Its end."""
    return Ended(call, outcome, reason, 200, 3.0, 0.5, 2, 40, 1, 1000, 900, "streamfuse_loop_cut", "final", (found(),))


EXCHANGE: tuple[Report, ...] = (
    Started(CALL),
    Attempted(CALL, 1, 0.2, 429, FAILURE),
    Retrying(CALL, FAILURE, "request", 0.2, 1),
    ErrorRuleHit(CALL, "overloaded"),
    Attempted(CALL, 2, 2.5, 200, None, "cut"),
    found(),
    ended(),
    BudgetExhausted(CALL, "server"),
    StateChanged(False, "ConnectionError"),
)
