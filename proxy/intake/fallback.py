"""The same request for another provider: its address, its key, its model. No credential goes where it was not meant to.

A provider that has a key of its own gets it. To one without, the client's credential goes only where the first provider
gets it too and both have one origin; anywhere else the request carries none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from rules import Decision, Failure, Kind, Reason, Shown, Surrender, digest, identify

from ..settings.sections.overload import Fallback
from ..settings.service.auth import CREDENTIALS
from . import native_paths, routing
from .order import Doorway, Order, in_line
from .told import admission, stripped

THEIRS = frozenset({401, 402, 403, 404, 410, 429})
"""Terminal statuses that speak of the provider, the key or the model and not of the request: another may answer."""

STORED = ("previous_response_id", "conversation", "prompt")
"""Fields of a Responses request that name what one provider keeps."""

_SECRET = re.compile(
    r"auth|api-?key|(?<!idempotency)-key$|token|secret|cookie|credential|signature|password|account|organization|project|^x-amz-",
    re.I,
)
"""Headers that name or prove who somebody is, at one provider and the gateways before it (Authorization, Cookie,
OpenAI-Organization, ChatGPT-Account-Id, X-Goog-User-Project, Helicone-Auth, CF-AIG-Authorization, X-Portkey-Api-Key):
they mean nothing to a provider of another host, and may be secrets."""

MAY = frozenset(
    {
        Reason.TERMINAL,
        Reason.UPSTREAM,
        Reason.RETRIES,
        Reason.DEADLINE,
        Reason.HINT,
        Reason.RESERVE,
        Reason.SAME,
        Reason.CLOSED,
    }
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
    # The prompt of a completion is text; that of a response names a stored one.
    stored = any(body.get(key) and not (key == "prompt" and not isinstance(body[key], Mapping)) for key in STORED)
    if order.wire.name not in provider.wires or (stored and name != order.name):
        return None
    model = fallback.model or order.ask.model
    if (name, model) == (order.name, order.ask.model):
        return None
    path = native_paths.with_model(to.path, model) if model != order.ask.model else to.path
    sent = {**body}
    if "model" in body or (model != order.ask.model and path == to.path):
        sent["model"] = model
    first = order.provider
    here = routing.origin(provider.base_url) == routing.origin(first.base_url)
    theirs = provider.api_key is None and first.api_key is None and here
    """The client's own credential goes to the first provider, and is good for this one, too."""
    admitted, query = admission(fuse, request)
    strip = stripped(settings)
    if not theirs:
        query = routing.without_key(query)
        strip += CREDENTIALS
    if not here:
        strip += tuple(header for header in headers if _SECRET.search(header))
    out = routing.outgoing(
        headers,
        provider,
        key_header=order.wire.key_header,
        admitted_by=admitted,
        strip=strip,
    )
    out.popall("Content-Length", None)
    if path != to.path:
        to = replace(to, path=path, call=native_paths.with_model(to.call, model))
    try:
        url = routing.join(provider.base_url, to, query, known=True)
    except routing.RouteError:
        return None
    credential = routing.credential(headers, query)
    identity = identify(
        headers,
        sent,
        provider=name,
        credential=credential,
        correlation=settings.correlation.headers,
        session=settings.session.headers,
    )
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
        identity=identity,
        heal=provider.heal if order.heal == first.heal else order.heal,
        gate=(name, model, digest(credential) if provider.api_key is None else ""),
        line=in_line(provider, identity, credential),
    )
    return redirected, sent
