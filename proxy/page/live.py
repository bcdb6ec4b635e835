"""What is under way now, read from the open exchanges when somebody looks: it costs nothing while nobody does.

Names and numbers only, as everywhere on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from rules import Channel

from ..exchange.context import Context
from ..exchange.exchange import Exchange
from ..observers.recent import RecentObserver
from ..observers.reports import LEAST_SECONDS, LEAST_TOKENS, shown_model
from ..wording import words

MOST_SPEEDS = 20
"""Models whose speed is shown; clients choose the names."""

MOST_MODELS = 3
"""Models that are named of those at which a provider fails."""

RUNGS = {"note": "noticed", "advise": "reminded", "cut": "reminded", "refuse": "refused"}
"""What the ladder has done about steps that go round in circles."""


def running(
    fuse: Context, recent: RecentObserver, takes: Callable[[dict[str, Any]], bool], most: int
) -> tuple[list[dict[str, Any]], int]:
    """The open requests that `takes` wants, the oldest first, `most` of them; and how many more there are."""
    now = fuse.clock.now()
    exchanges = [exchange for exchange in tuple(fuse.open) if isinstance(exchange, Exchange)]
    exchanges.sort(key=lambda exchange: exchange.reporting.began)
    rows = [row for exchange in exchanges if takes(row := _who(exchange, now))]
    for row in rows[:most]:
        row.update(_running(row.pop("exchange"), now, recent))
    return rows[:most], len(rows) - len(rows[:most])


def speeds(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How fast each model of each provider has answered, by the exchanges that are shown: medians over streams that one
    call answered."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["stream"] and row["attempts"] == 1 and row["first_event"] is not None:
            found.setdefault((row["provider"], row["model"]), []).append(row)
    out = []
    for (provider, model), those in sorted(found.items(), key=lambda one: -len(one[1]))[:MOST_SPEEDS]:
        rates = [
            row["tokens"]["output"] / (row["seconds"] - row["first_event"])
            for row in those
            if row["tokens"] and row["tokens"]["output"] >= LEAST_TOKENS
            if row["seconds"] - row["first_event"] >= LEAST_SECONDS
        ]
        out.append(
            {
                "provider": provider,
                "model": model,
                "answers": len(those),
                "first": median(row["first_event"] for row in those),
                "rate": median(rates) if rates else None,
            }
        )
    return out


def _who(exchange: Exchange, now: float) -> dict[str, Any]:
    call = exchange.reporting.call
    return {
        "exchange": exchange,
        "request_id": exchange.ident,
        "session": call.session,
        "provider": call.provider,
        "model": call.model,
        "stream": call.streaming,
        "age": now - exchange.reporting.began,
    }


def _running(exchange: Exchange, now: float, recent: RecentObserver) -> dict[str, Any]:
    reporting = exchange.reporting
    return {
        "attempts": reporting.attempts,
        "sent": exchange.reply.sent,
        "state": _state(exchange, now),
        "waits": _waits(exchange, now),
        "rung": _rung(exchange),
        "story": recent.story(exchange.ident),
    }


def _waits(exchange: Exchange, now: float) -> bool:
    reporting = exchange.reporting
    return reporting.in_line or (reporting.retry is not None and reporting.retry[0] == reporting.attempts)


def _state(exchange: Exchange, now: float) -> str:
    """What it does, in plain words."""
    reporting, attempt = exchange.reporting, exchange.finish.attempt
    if exchange.reply.stuck_since is not None and now - exchange.reply.stuck_since > 1:
        return f"the client has taken nothing for {words.seconds(now - exchange.reply.stuck_since)}"
    if reporting.in_line:
        return f"waiting for a place among the calls to {reporting.call.provider}"
    if exchange.finish.order is None:
        return "the request is being read"
    if reporting.retry is not None and reporting.retry[0] == reporting.attempts:
        tries, failure, at = reporting.retry
        if at > now:
            return f"waiting {words.seconds(at - now)} for a retry: {words.failure(failure)}, try {tries + 1}"
        return f"waiting for its turn to retry: {words.failure(failure)}, try {tries + 1}"
    if attempt is None:
        return "waiting for its first call" if reporting.call.wire != "opaque" else "passed through unread"
    number = f", try {reporting.attempts}" if reporting.attempts > 1 else ""
    if not attempt.opened:
        return f"asked, no answer yet{number}"
    if exchange.reply.sent == 0:
        return f"the answer has begun, nothing to show yet{number}"
    return f"answering{number}"


def _rung(exchange: Exchange) -> str:
    found = [one for one in exchange.reporting.findings if one.finding.channel is Channel.STEPS]
    return RUNGS.get(found[-1].action, found[-1].action) if found else ""


def providers(fuse: Context) -> list[dict[str, Any]]:
    """Each provider: where it is, how it is, what is left of its reserve of retries, who waits."""
    wall = fuse.clock.wall()
    out: list[dict[str, Any]] = []
    for name, provider in fuse.settings.providers.items():
        sick = [(key, gate) for key, gate in fuse.gates.sick() if key[0] == name and not gate.calm]
        slots = fuse.slots.get(name)
        health = "well"
        last = next((gate.last for _, gate in sick if gate.last is not None), None)
        models = _few(dict.fromkeys(key[1] for key, _ in sick if key[1]))
        if any(gate.breaker is not None and gate.breaker.open for _, gate in sick):
            health = "breaker open: new requests are answered from memory"
        elif any(gate.health.sick for _, gate in sick):
            health = "sick: asked one call after the other"
        elif sick:
            health = "something failed lately"
        out.append(
            {
                "name": name,
                "address": provider.address,
                "mode": fuse.engines[name].mode.value,
                "tone": "good" if health == "well" else "care" if health.startswith("something") else "bad",
                "health": health,
                "last": f"{words.failure(last)}{f' ({models})' if models else ''}" if last is not None else "",
                "retries_left": fuse.reserves[name].left(wall),
                "budget": _budget(fuse, name),
                "running": slots.running if slots is not None else None,
                "limit": slots.allowed if slots is not None else None,
                "waiting": (slots.waiting if slots is not None else 0) + sum(gate.waiting for _, gate in sick),
                "fallback": [other.provider or name for other in provider.fallback],
            }
        )
    return out


def _few(models: Iterable[str]) -> str:
    """The first of them in short: clients choose the names, and how many there are."""
    short = [shown_model(model) for model in models]
    more = f" and {len(short) - MOST_MODELS} more" if len(short) > MOST_MODELS else ""
    return ", ".join(short[:MOST_MODELS]) + more


def _budget(fuse: Context, name: str) -> str:
    """The budgets that matter most, in short."""
    budgets = fuse.engines[name].budgets
    said = []
    for kind in ("server", "rate_limit", "stream"):
        budget = budgets.named(kind)
        count = "no limit" if budget.max_retries is None else str(budget.max_retries)
        said.append(f"{kind.replace('_', ' ')} {count}")
    return ", ".join(said)
