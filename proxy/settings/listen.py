"""Where streamfuse listens."""

from __future__ import annotations

from .base import Section, field


class Listen(Section):
    """The port that agents use."""

    host: str = field(
        "127.0.0.1",
        "Address to listen on.",
        danger="0.0.0.0 lets the whole network spend your provider keys; set auth.keys with it.",
        min_length=1,
    )
    port: int = field(8787, "Port to listen on; 0 takes a free one and prints it.", ge=0, le=65535)


class Ops(Section):
    """A second port for /healthz, /readyz, /metrics and the page; none of them is then on the first."""

    host: str = field("127.0.0.1", "Address of the second port.", min_length=1)
    port: int = field(8788, "The second port.", ge=0, le=65535)
