"""How events are framed in these attacks: server-sent events, one JSON object a line, or one JSON array."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Form:
    """One framing."""

    kind: str
    """The media type."""
    head: bytes
    """What stands before the data of an event."""
    end: bytes
    """What ends an event; where nothing does, `lead` parts them."""
    noise: dict[str, bytes] = field(default_factory=dict)
    """Nothing is lost by it, wherever it stands between two events."""

    def event(self, data: Any, name: str = "") -> bytes:
        """An event as servers write it. `data`: bytes as they are, else JSON."""
        named = f"event: {name}\n".encode() if name and self.head else b""
        return named + self.head + (data if isinstance(data, bytes) else json.dumps(data).encode()) + self.end

    def lead(self, raw: bytes, first: bool) -> bytes:
        """What parts this event from those before it. `first`: there are none."""
        if self.end or not raw.strip():
            return b""
        return b"[" if first else b"" if raw.strip() == b"]" else b",\r\n"

    def joined(self, events: Iterable[bytes]) -> list[bytes]:
        """These events as they follow each other."""
        out: list[bytes] = []
        for raw in events:
            out.append(self.lead(raw, not any(one.strip() for one in out)) + raw)
        return out


SSE = Form(
    "text/event-stream",
    b"data: ",
    b"\n\n",
    {
        "a comment": b": keepalive\n\n",
        "a CRLF comment": b":\r\n\r\n",
        "id and retry": b"id: 1\nretry: 10\n\n",
        "empty data": b"data:\n\n",
        "a name without data": b"event: x\n\n",
    },
)
CRLF = Form("text/event-stream", b"data: ", b"\r\n\r\n", SSE.noise)
LINES = Form(
    "application/x-ndjson", b"", b"\n", {"an empty line": b"\n", "a CRLF line": b"\r\n", "a blank line": b"  \t\n"}
)
ARRAY = Form("application/json", b"", b"", {"white space": b" \r\n\t", "an empty line": b"\n"})
