"""Who may use the proxy."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, SecretStr

from .base import Section, field


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Auth(Section):
    """Keys of this proxy's own; none = anyone who reaches the port."""

    keys: Annotated[tuple[SecretStr, ...], BeforeValidator(_several)] = field(
        (),
        "A client must present one of these as Authorization: Bearer or x-api-key; it is never sent upstream.",
        danger="Empty, with a provider's api_key set and listen.host open, anyone may spend that key.",
    )
