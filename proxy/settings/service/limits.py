"""How much of anything one request or answer may take."""

from __future__ import annotations

from ..base import Bytes, Section, field


class LimitSettings(Section):
    """Every buffer's bound."""

    request_body: Bytes = field(64 << 20, "Largest request body; a larger one is answered with 413.", gt=0)
    memory: Bytes = field(
        512 << 20,
        "Bodies of all open requests together; one more is answered with 503 and Retry-After. 0 = no limit.",
        danger="What is read of a body takes up to three times its size while it is worked on.",
        ge=0,
    )
    event: Bytes = field(16 << 20, "Largest single event; a larger one ends the answer as a failure.", ge=1024)
    hold: Bytes = field(
        4 << 20,
        "How much of an unfinished tool call is kept back, in bytes of the wire; 0 = nothing is held.",
        danger="An event of 300 bytes may carry 4 characters: with 256KB a tool call that writes a file of 4 KB "
        "would already be released before it is whole.",
        ge=0,
    )
    json_answer: Bytes = field(32 << 20, "Largest whole JSON answer that is read and judged; larger ones pass.", gt=0)
    error_body: Bytes = field(64 << 10, "How much of an upstream's error body is kept.", gt=0)
    headers: Bytes = field(64 << 10, "Largest header block of a request, and longest header line of one.", ge=8192)
    streams: int = field(0, "Most requests open at once; 0 = no limit. One more is answered with 503.", ge=0)
