"""The ways in which a provider fails for a while, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Way(StrEnum):
    """What a call gets while the outage lasts."""

    STATUS = "status"
    REFUSED = "refused"
    RESET = "reset"
    SILENT = "silent"
    SLOW = "slow"
    CUT = "cut"
    CUT_CALL = "cut in a call"
    FAULT = "fault"
    STALL = "stall"
    FLAKY = "flaky"
    SHORT = "short"
    LONG = "long"
    CLAIM = "claim"
    NOTHING = "nothing"
    JUNK = "junk"


@dataclass(frozen=True)
class Scenario:
    """One kind of outage."""

    name: str
    way: Way
    says: str
    status: int = 0
    retry_after: int | None = None
    """Seconds, as a header."""
    page: bool = False
    """The body is a page for people, as balancers send it."""

    @property
    def dead(self) -> bool:
        """Does every call fail before its client has been shown anything? Then asking in a row helps nobody."""
        shows = (Way.SLOW, Way.CUT, Way.CUT_CALL, Way.STALL, Way.FLAKY, Way.SHORT, Way.LONG, Way.CLAIM)
        return self.way not in shows


HINT = 2
"""Seconds of Retry-After: what a provider says in a short overload."""

LONG_HINT = 20
"""The same of a limit by the minute."""

STATUSES = (429, 500, 502, 503, 504, 529)

SCENARIOS = {
    one.name: one
    for one in (
        *(Scenario(str(code), Way.STATUS, f"HTTP {code}", code) for code in STATUSES),
        *(
            Scenario(f"{code}+hint", Way.STATUS, f"HTTP {code} with Retry-After: {HINT}", code, HINT)
            for code in STATUSES
        ),
        Scenario("429+long", Way.STATUS, f"HTTP 429 with Retry-After: {LONG_HINT}", 429, LONG_HINT),
        Scenario("page", Way.STATUS, "HTTP 502 with a page of HTML", 502, page=True),
        Scenario("flaky", Way.FLAKY, "HTTP 503 to every other call", 503),
        Scenario("refused", Way.REFUSED, "nothing listens on the port"),
        Scenario("reset", Way.RESET, "the connection is reset after the request"),
        Scenario("silent", Way.SILENT, "the connection stands, no byte comes, not even after the outage"),
        Scenario("slow", Way.SLOW, "a good answer: 20 s to the first byte, 5 s between words"),
        Scenario("cut", Way.CUT, "an answer begins, and the connection is reset within its text"),
        Scenario("cut-call", Way.CUT_CALL, "the same within the arguments of a tool call"),
        Scenario("stall", Way.STALL, "an answer begins, and then no byte comes, not even after the outage"),
        Scenario("fault", Way.FAULT, "a 200 whose first event after the start is the wire's error"),
        Scenario("200", Way.STATUS, "HTTP 200 with a body that tells an overload", 200),
        Scenario("200+hint", Way.STATUS, f"the same with Retry-After: {HINT}", 200, HINT),
        Scenario("200-page", Way.STATUS, "HTTP 200 with a page of HTML", 200, page=True),
        Scenario("nothing", Way.NOTHING, "HTTP 200 with an empty body"),
        Scenario("short", Way.SHORT, "a Content-Length, half of so many bytes, and the connection is closed"),
        Scenario("long", Way.LONG, "a Content-Length of half the answer"),
        Scenario("claim", Way.CLAIM, "a good answer under a Content-Length that is too large"),
        Scenario("junk", Way.JUNK, "an answer whose head is no HTTP"),
    )
}

DURATIONS = (3.0, 10.0, 30.0, 120.0)
"""Seconds. What public reports name: a hiccup, a restart, a roll-out, an incident."""

CROWDS = (1, 10, 50)
"""Agents at the same time."""
