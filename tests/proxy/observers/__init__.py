"""One exchange as the shell tells it, for every sink: tried twice, cut in the end."""

from __future__ import annotations

from proxy.observers.reports import (
    Attempted,
    BudgetExhausted,
    Ended,
    EndReason,
    ErrorRuleHit,
    LoopFound,
    Outcome,
    Report,
    RequestInfo,
    Retrying,
    Started,
    StateChanged,
)
from rules.values.delta import Channel
from rules.values.failures import Failure, Kind, Phase
from rules.values.verdict import Action, Finding, Hit, Mode

SECRET = "sk-proj-abcdef0123456789"
PROMPT = "the patient's name is Dolores"

CALL = RequestInfo("req-1", "openai", "openai_chat", "gpt-x", True)
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


def found(mode: Mode = Mode.ON) -> LoopFound:
    """The finding of the exchange."""
    finding = Finding(FINDING.rule, FINDING.action, mode, FINDING.channel, 0, FINDING.hit)
    return LoopFound(CALL, finding, finding.acts)


def ended(outcome: Outcome = Outcome.CUT, reason: EndReason | None = EndReason.CUT, call: RequestInfo = CALL) -> Ended:
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
