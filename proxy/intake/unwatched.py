"""Answers that are streamed past the rules because their protocol is not read here: told once a kind, at the first.

Whoever reads the journal then knows that this traffic is not guarded. Calls that stream no answer (lists of models,
embeddings, files) are not told of.
"""

from __future__ import annotations

import re
from typing import Final

WEBSOCKET: Final = "websocket"
"""Any upgrade, OpenAI's Realtime API among them: it is refused (426)."""
KINDS: Final = (
    ("realtime", re.compile(r"/realtime(?:/.*)?")),
    ("bedrock_event_stream", re.compile(r"/model/[^/]+/(?:invoke-with-response-stream|converse-stream)")),
    ("gemini_code_assist", re.compile(r"/v1internal:streamGenerateContent")),
    ("gemini_interactions", re.compile(r"(?:/v\d+\w*)?(?:/projects/[^/]+/locations/[^/]+)?/interactions")),
    ("vertex_raw_predict", re.compile(r"(?:/[^/]+)+:streamRawPredict")),
)
"""(word for the journal, path). Bedrock frames its answers as `application/vnd.amazon.eventstream`; Gemini CLI with a
Google login wraps Gemini's answers; Google's Interactions API has its own events; Vertex AI passes other vendors'
answers on."""

PATHS, LONGEST = 256, 128
"""Paths that are remembered, and the characters of the longest."""


class Unwatched:
    """What one process has told."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._plain: set[str] = set()
        """Paths that are none of these, the newest PATHS at most: clients ask for the same few."""

    def first(self, path: str, upgrade: bool = False) -> str | None:
        """The kind of a request that nobody here can read, the first time it comes; None otherwise."""
        if upgrade:
            kind: str | None = WEBSOCKET
        elif path in self._plain:
            return None
        else:
            kind = next((word for word, known in KINDS if known.fullmatch(path)), None)
            if kind is None and len(path) <= LONGEST:
                if len(self._plain) >= PATHS:
                    self._plain.clear()
                self._plain.add(path)
        if kind is None or kind in self._told:
            return None
        self._told.add(kind)
        return kind
