"""Who may use the proxy, and who may look at it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from ..base import Section, field
from ..secret import Key, MaybeKey

CREDENTIALS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
"""Where clients of the known providers put their key (facts of the released SDKs); Gemini also takes ?key=."""


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


Page = Literal["metrics", "page", "ready"]
Pages = Annotated[tuple[Page, ...], BeforeValidator(_several)]


class Auth(Section):
    """Keys of this proxy's own; none = anyone who reaches the port."""

    keys: Annotated[tuple[Key, ...], BeforeValidator(_several)] = field(
        (),
        "A client must present one of these as Authorization: Bearer or x-api-key; it is never sent upstream. "
        "/metrics, the page, /-/recent and the details of /readyz want one too (a browser asks for it: any user name).",
        danger="Empty, with a provider's api_key set and listen.host open, anyone may spend that key.",
    )
    open: Pages = field(
        (),
        "What is served without a key nevertheless: metrics, page (with /-/recent), ready (its details).",
        danger="Names of models and providers, and how much is asked of them, for whoever reaches the port.",
    )
    metrics_key: MaybeKey = field(
        None, "A key that opens /metrics and nothing else, for the scraper, as Authorization: Bearer or Basic."
    )
