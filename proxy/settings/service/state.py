"""Where accounts are kept: digests, counters and times only, never text."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import SecretStr, model_validator

from ..base import Seconds, Section, field


class State(Section):
    """`memory`, or a Redis address that several workers and machines share. Written as one word or in full."""

    kind: Literal["memory", "redis"] = field("memory", "memory or redis.")
    url: SecretStr | None = field(None, "redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:// too.")
    prefix: str = field("streamfuse:", "Beginning of every key in Redis.")
    timeout: Seconds = field(0.25, "Longest wait for Redis before this process goes on alone.", gt=0)

    @model_validator(mode="before")
    @classmethod
    def _one_word(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value.strip() == "memory":
                return {"kind": "memory"}
            if urlsplit(value.strip()).scheme in ("redis", "rediss", "unix"):
                return {"kind": "redis", "url": value.strip()}
            raise ValueError("memory or a redis:// address is needed")
        if isinstance(value, dict) and value.get("url") and "kind" not in value:
            return {**value, "kind": "redis"}
        return value

    @model_validator(mode="after")
    def _has_address(self) -> State:
        if self.kind == "redis" and self.url is None:
            raise ValueError("redis needs a url: redis://host:6379/0")
        return self
