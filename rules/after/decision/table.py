"""What may follow, by what the client was shown and what ended the attempt.

The rows follow from one rule: a second try must never contradict what the client has seen. Where it saw nothing, the
request is sent again (replay). Where it saw text, another call may continue exactly behind that text (resume). Where it
saw a tool call, nothing is tried again, because the client may run the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from ...values.failures import Failure, Kind
from ...values.transcript import Shown
from ...values.verdict import Finding


class Cause(StrEnum):
    """What ended the attempt: the column of the table."""

    CLEAN = "clean end"
    MAY_PASS = "failure that may pass"
    TERMINAL = "terminal failure"
    LOOP = "loop"


class Ruling(StrEnum):
    """The table's answer. The limits may turn a replay or resume into what its `else` says."""

    ACCEPT = "accept"
    REPLAY = "replay, else surrender"
    REASONING = "replay where `replay_reasoning`, else as TEXT"
    RESUME = "resume, else surrender"
    HEAL = "heal, else settle"
    SETTLE = "settle"
    SURRENDER = "surrender"


TABLE: Mapping[Shown, Mapping[Cause, Ruling]] = {
    Shown.NOTHING: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.REPLAY,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP: Ruling.HEAL,
    },
    Shown.REASONING: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.REASONING,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP: Ruling.HEAL,
    },
    Shown.TEXT: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.RESUME,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP: Ruling.HEAL,
    },
    Shown.TOOL: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.SURRENDER,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP: Ruling.SETTLE,
    },
    Shown.FINISHED: dict.fromkeys(Cause, Ruling.ACCEPT),
}


def column(came: Failure | Finding | None) -> Cause:
    """The column of the table for what ended the attempt."""
    if came is None:
        return Cause.CLEAN
    if isinstance(came, Finding):
        return Cause.LOOP if came.acts else Cause.CLEAN
    return Cause.TERMINAL if came.kind is Kind.TERMINAL else Cause.MAY_PASS
