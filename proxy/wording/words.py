"""What happened to a request, in plain words for people. Made of names and numbers; what clients and models choose is
escaped by the template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rules import Failure

Row = Mapping[str, Any]

KINDS = {
    "network": "the connection failed",
    "server": "the provider failed",
    "rate_limit": "rate limit",
    "stream": "the answer broke off",
    "stall": "the provider was silent for too long",
    "rule": "an error inside the answer",
    "unknown": "an error of no known kind",
    "terminal": "the provider refused the request",
}
"""A failure's kind."""

FAILURES = {"streamfuse_timeout_slow": "the answer came too slowly"}
"""What a failure's code says, where it says more than the kind."""

STATUSES = {
    400: "the provider says that the request is wrong",
    401: "the provider does not take the key",
    402: "the provider wants to be paid",
    403: "the provider does not allow it",
    404: "the provider does not know the model or the path",
    413: "the request is too large",
    429: "rate limit",
    500: "the provider failed",
    502: "a gateway before the provider failed",
    503: "the provider is unavailable",
    504: "a gateway gave up waiting for the provider",
    529: "the provider is overloaded",
}
"""What a status says, where it says more than the kind."""

LOOK_AT = {
    401: "Look at the provider's api_key, or at the client's own where it has none",
    402: "Look at the account's balance",
    403: "Look at what its key may do, and at the model's name",
    404: "Look at the model's name, and at the end of base_url",
}
"""What a person can do about a request that failed for good with this status."""

UNREACHABLE = "Does anything listen at its base_url?"

CODES = {
    "streamfuse_unauthorized": "it did not present one of this proxy's keys",
    "streamfuse_draining": "streamfuse was shutting down",
    "streamfuse_busy": "the bodies of all open requests were over limits.memory",
    "streamfuse_too_many_streams": "as many requests were open as limits.streams allows",
    "streamfuse_body_too_large": "its body was over limits.request_body",
    "streamfuse_unknown_provider": "it named a provider that is not configured",
    "streamfuse_bad_request": "it could not be read",
    "streamfuse_not_found": "nothing is at that path",
    "streamfuse_no_upgrade": "it asked for a WebSocket",
    "streamfuse_ring": "it came back to the proxy that sent it",
    "streamfuse_queue_full": "no place came free among the calls to its provider",
    "streamfuse_upstream_unreachable": "the provider could not be reached",
    "streamfuse_internal": "streamfuse itself failed",
}
"""Codes of ours."""

ENDS = {
    "idle": "the provider fell silent in the middle",
    "drain": "streamfuse was shut down before it was complete",
    "error": "it broke off in the middle",
    "eof": "the provider ended it without saying so",
}

MEMORY = {
    "breaker": "answered from memory: the provider is failing, and its breaker is open",
    "queue": "answered without asking: no place came free among the calls to the provider",
    "turn": "answered from memory: the provider is failing, and others were asking it already",
}


def failure(what: Failure | Mapping[str, Any] | None) -> str:
    """A failure in a few words."""
    if what is None:
        return "a loop"
    if isinstance(what, Failure):
        kind, status, code = what.kind.value, what.status, what.code
    else:
        kind, status, code = str(what.get("kind")), what.get("status"), what.get("code")
    said = STATUSES.get(status or 0) or FAILURES.get(code or "") or KINDS.get(kind, kind)
    return f"{status}: {said}" if status else said


def seconds(value: float) -> str:
    """A length of time as people say it."""
    if value < 10:
        return f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


HEALS = {
    "healed": "healed: a second call carried on after the loop",
    "again": "a second call was made to heal it, and looped again",
    "poor": "a second call was made to heal it, and was hardly better",
    "refused": "the provider refused the second call that was to heal it",
    "restarted": "the second call that was to heal it began anew",
    "slow": "the second call that was to heal it took too long",
    "broken": "the second call that was to heal it broke off",
    "watched": "watched only: a second call would have been made to heal it",
}
"""What came of a heal."""


def step(one: Mapping[str, Any]) -> str:
    """One thing that happened on the way."""
    match one["what"]:
        case "failed":
            return f"try {one['try']} failed after {seconds(one['seconds'])}: {failure(one)}"
        case "retry":
            how = "went on in the same answer" if one["resume"] else "asked again"
            return f"{how} after {seconds(one['wait'])}"
        case "fallback":
            return f"asked {one['provider']} instead ({one['model']})"
        case "memory":
            return MEMORY.get(one["reason"], str(one["reason"]))
        case "queued":
            return f"waited {seconds(one['seconds'])} for a place among the provider's calls"
        case "follow_up":
            return f"the answer was not good enough ({one['name']}): asked again"
        case "rewritten":
            return "the history in the request was shortened"
    return str(one["what"])


def finding(one: Mapping[str, Any]) -> str:
    """A finding: what was done, and why."""
    done = {"cut": "cut", "retry": "cut and asked again", "advise": "the agent was told", "refuse": "refused"}
    if one["mode"] != "on":
        does = "watched only; would have been " + done.get(one["action"], "noted")
    else:
        does = done.get(one["action"], "noted") if one["acted"] else "noted"
    where = "" if one["channel"] == "steps" else f" in the {one['channel']}"
    because = one.get("because") or f"rule {one['rule']}"
    return f"{does}: {because}{where} (rule {one['rule']})"


def why(row: Row) -> str:
    """Why it ended as it did, in one sentence; "" where all was well at once."""
    steps: Sequence[Mapping[str, Any]] = row["story"]
    failed = [one for one in steps if one["what"] == "failed"]
    acted = [one for one in row["findings"] if one["acted"]]
    code, tries = row["code"] or "", row["attempts"]
    match row["outcome"]:
        case "rejected":
            return f"not taken: {CODES.get(code, code or 'the request was not valid')}"
        case "refused":
            return finding(acted[-1]) if acted else "refused: the agent goes in circles"
        case "cut" if row["end"] == "drain":
            return "streamfuse was shut down before the answer was complete"
        case "cut":
            cut = finding(acted[-1]) if acted else "cut"
            return f"{cut}; {HEALS.get(row['heal']['result'], 'healed')}" if row["heal"] is not None else cut
        case "client_gone":
            return f"the client left after {seconds(row['seconds'])}"
        case "failed":
            from_memory = next((one for one in steps if one["what"] == "memory"), None)
            if from_memory is not None:
                return step(from_memory)
            if row["end"] in ENDS and not failed:
                return ENDS[row["end"]]
            last = failure(failed[-1]) if failed else CODES.get(code, code or "the provider failed")
            last = f"{last}, after {tries} tries" if tries > 1 else last
            return f"{last}. {todo}" if failed and (todo := _look_at(failed[-1])) else last
    fell = next((one for one in steps if one["what"] == "fallback"), None)
    if fell is not None:
        return f"answered by {row['provider']}, since {failure(failed[-1]) if failed else 'the first provider failed'}"
    if failed:
        return f"answered at try {tries}; before: {', '.join(dict.fromkeys(failure(one) for one in failed))}"
    if row["heal"] is not None:
        return (
            f"{HEALS.get(row['heal']['result'], 'healed')}; {finding(row['findings'][-1])}"
            if row["findings"]
            else (HEALS.get(row["heal"]["result"], "healed"))
        )
    if row["findings"]:
        return finding(row["findings"][-1])
    if row["server_cuts"]:
        return "the provider itself ended it because of a loop"
    waited = next((one for one in steps if one["what"] == "queued"), None)
    return step(waited) if waited is not None else ""


def _look_at(one: Mapping[str, Any]) -> str:
    """What a person can do about this last failure; "" where waiting is all."""
    if one.get("kind") == "network" and one.get("phase") == "connect":
        return UNREACHABLE
    return LOOK_AT.get(one.get("status") or 0, "")


def outcome(word: str) -> str:
    """The outcome as people say it."""
    return "client left" if word == "client_gone" else word


def tone(row: Row) -> str:
    """good, care or bad: the colour of a row."""
    if row["outcome"] in ("failed", "rejected"):
        return "bad"
    return "care" if row["outcome"] in ("cut", "refused", "client_gone") or why(row) else "good"
