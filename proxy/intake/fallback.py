"""The same request for another provider: its address, its key, its model. No credential goes where it was not meant to.

A provider that has a key of its own gets it. To one without, the client's credential goes only where the first provider
gets it too and both have one origin; anywhere else the request carries none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from rules import Decision, Failure, Kind, Reason, Shown, Surrender, digest, identify

from ..settings.sections.overload import Fallback
from ..settings.service.auth import CREDENTIALS
from . import routing
from .order import Doorway, Order

THEIRS = frozenset({401, 402, 403, 404, 410, 429})
"""Terminal statuses that speak of the provider, the key or the model and not of the request: another may answer."""

STORED = ("previous_response_id", "conversation", "prompt")
"""Fields of a Responses request that name what one provider keeps."""

MAY = frozenset(
    {Reason.TERMINAL, Reason.UPSTREAM, Reason.RETRIES, Reason.DEADLINE, Reason.HINT, Reason.RESERVE, Reason.CLOSED}
)
"""Why there was no further attempt, where another provider may be asked. Not because the client would leave first."""


def eligible(decision: Decision, shown: Shown) -> bool:
    """May another provider be asked? The client has seen nothing, and the failure is one that another may not have."""
    if not isinstance(decision, Surrender) or shown > Shown.NOTHING or decision.reason not in MAY:
        return False
    failure: Failure = decision.failure
    if decision.reason is Reason.TERMINAL or failure.kind is Kind.TERMINAL:
        return failure.status is not None and (failure.status in THEIRS or failure.status >= 500)
    return True


def redirected(
    fuse: Doorway,
    request: web.Request,
    to: routing.Place,
    order: Order,
    body: Mapping[str, Any],
    fallback: Fallback,
) -> tuple[Order, dict[str, Any]] | None:
    """The order for a fallback of `order`'s provider, and its body; None where this request cannot go there: the wire
    is not watched there, the address has no place for it, or it refers to what the first provider has stored."""
    assert order.ask is not None
    settings, headers = fuse.settings, request.headers
    name = fallback.provider or order.name
    provider = settings.providers[name]
    stored = any(body.get(key) for key in STORED)
    if order.wire.name not in provider.wires or (stored and name != order.name):
        return None
    model = fallback.model or order.ask.model
    if (name, model) == (order.name, order.ask.model):
        return None
    sent = {**body, "model": model}
    admitted = fuse.keys.admit(headers) if fuse.keys else None
    strip = (*settings.correlation.headers,) if settings.correlation.strip else ()
    if settings.session.strip:
        strip += (*settings.session.headers,)
    first = order.provider
    if provider.api_key is None and (
        first.api_key is not None or routing.origin(provider.base_url) != routing.origin(first.base_url)
    ):
        strip += CREDENTIALS
    query = request.rel_url.raw_query_string
    if routing.origin(provider.base_url) != routing.origin(first.base_url):
        query = routing.without_key(query)
        strip += ("cookie", "openai-organization", "openai-project")
    out = routing.outgoing(
        headers,
        provider,
        key_header=order.wire.key_header,
        admitted_by=admitted,
        strip=strip,
    )
    out.popall("Content-Length", None)
    try:
        url = routing.join(provider.base_url, to, query, known=True)
    except routing.RouteError:
        return None
    credential = routing.credential(headers)
    engine = fuse.engines[name]
    redirected = replace(
        order,
        name=name,
        provider=provider,
        engine=engine,
        url=url,
        headers=out,
        ask=replace(order.ask, model=model, body=sent),
        mode=engine.mode.at_most(routing.mode_of(headers)),
        identity=identify(
            headers,
            sent,
            provider=name,
            credential=credential,
            correlation=settings.correlation.headers,
            session=settings.session.headers,
        ),
        heal=provider.heal if order.heal == first.heal else order.heal,
        gate=(name, model, digest(credential) if provider.api_key is None else ""),
    )
    return redirected, sent
