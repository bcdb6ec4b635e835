"""What makes two requests one: correlation (a logical request and its retries) and session (an agent's run)."""

from __future__ import annotations

from ..base import Names, Seconds, Section, field


class Correlation(Section):
    """One logical request, the client's own retries included."""

    headers: Names = field((), "Request headers that name a logical request, after x-streamfuse-correlation-id.")
    strip: bool = field(True, "Take these headers out before the request goes upstream.")
    ttl: Seconds = field(300.0, "How long an account is kept after its last use.", gt=0)


class SessionSettings(Section):
    """One run of an agent."""

    headers: Names = field(
        (
            "x-session-id",
            "session-id",
            "session_id",
            "conversation_id",
            "x-claude-code-session-id",
            "x-opencode-session",
        ),
        "Request headers that name a session; the first that is present counts.",
    )
    strip: bool = field(False, "Take these headers out before the request goes upstream.")
