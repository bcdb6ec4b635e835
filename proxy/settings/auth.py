"""Who may use the proxy, and who may look at it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, SecretStr, field_validator

from .base import Section, absent, field


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


Page = Literal["metrics", "page", "ready"]
Pages = Annotated[tuple[Page, ...], BeforeValidator(_several)]
MaybeSecret = Annotated[SecretStr | None, BeforeValidator(absent)]


class Auth(Section):
    """Keys of this proxy's own; none = anyone who reaches the port."""

    keys: Annotated[tuple[SecretStr, ...], BeforeValidator(_several)] = field(
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
    metrics_key: MaybeSecret = field(
        None, "A key that opens /metrics and nothing else, for the scraper, as Authorization: Bearer or Basic."
    )

    @field_validator("keys", "metrics_key")
    @classmethod
    def _not_empty(cls, value: tuple[SecretStr, ...] | SecretStr | None) -> tuple[SecretStr, ...] | SecretStr | None:
        for key in value if isinstance(value, tuple) else [value] if value is not None else []:
            if not key.get_secret_value().strip():
                raise ValueError("a key is empty: a request without one would be let in")
        return value
