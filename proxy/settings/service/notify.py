"""Who is told when something happens that a person may want to know at once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, SecretStr, field_validator

from ..base import Section, absent, field
from ..secret import MaybeKey

Event = Literal["refused", "cut", "provider_down", "provider_up"]


class Notify(Section):
    """One POST with the facts, as JSON: names and numbers, never text of prompts or answers."""

    url: Annotated[SecretStr | None, BeforeValidator(absent)] = field(
        None, "Where to: http:// or https://. Without it nothing is sent."
    )
    secret: MaybeKey = field(
        None, "Signs each body: `X-Streamfuse-Signature: sha256=…`, the HMAC-SHA256 of its bytes in hexadecimal."
    )
    on: tuple[Event, ...] = field(
        ("refused", "cut", "provider_down", "provider_up"),
        "What is told: an agent's run refused, a loop cut, a provider's breaker opened or closed.",
    )

    @field_validator("url")
    @classmethod
    def _http(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("http://", "https://")):
            raise ValueError("an address must begin with http:// or https://")
        return value
