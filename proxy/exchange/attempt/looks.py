"""What an upstream's answer is, by its first bytes before its Content-Type: servers send SSE as text/plain, errors and
whole completions as 200 JSON to a stream request, web pages with status 200, and streams to a request that asked for
none.
"""

from __future__ import annotations

import re
from enum import Enum

from ...upstream.client import UpstreamResponse

EVENTS = re.compile(rb"[\r\n](?:data|event):")
"""A line of server-sent events that is not the first. No JSON holds one: within its strings a line break is escaped."""


class Looks(Enum):
    """What an answer is, by its first bytes."""

    SSE = "sse"
    JSON = "json"
    PAGE = "page"
    OTHER = "other"


def looks(content_type: str, start: bytes) -> Looks:
    """By the first bytes that are not blank; by the media type where they say nothing."""
    head = start.lstrip(b"\xef\xbb\xbf \t\r\n")[:16].lower()
    if head.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        return Looks.SSE
    if head.startswith((b"{", b"[")):
        return Looks.JSON
    if head.startswith(b"<"):
        return Looks.PAGE
    if content_type == "text/event-stream":
        return Looks.SSE
    if content_type == "application/json" or content_type.endswith("+json"):
        return Looks.JSON
    return Looks.OTHER


def is_events(data: bytes) -> bool:
    """Are these events whose first one is damaged?"""
    return EVENTS.search(data) is not None


def never(_: bytes) -> bool:
    """Nothing shows that these are events."""
    return False


def seen(answer: UpstreamResponse, start: bytes) -> Looks:
    """What an answer is. Under a coding that nobody knows only plain text shows itself: servers write `utf-8` there,
    and clients read on; what the media type promises is then still packed."""
    return looks("" if answer.foreign else answer.content_type, start)
