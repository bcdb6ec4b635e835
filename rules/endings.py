"""Stop reasons with which a server says that it cut a loop itself: to be recognised and counted.

Names as the servers send them in `finish_reason` (or `stop_reason`); sources: vLLM (`repetition`), DeepSeek
(`repetition_truncation`), and Ollama, whose native stream ends with `done` false after 30 equal tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LOOP_STOPS: Final = frozenset({"repetition", "repetition_truncation", "repeat", "loop", "repetition_detected"})
"""Finish reasons that mean: the server saw a loop and stopped."""
_DETAILS: Final = ("stop_reason", "finish_details", "finish_reason_detail", "stop_details")


def cut_by_server(reason: str | None, fields: Mapping[str, Any] | None = None) -> bool:
    """Did the upstream itself end this choice because of a loop? `fields` is the choice as the wire sent it."""
    if reason is not None and reason.lower() in LOOP_STOPS:
        return True
    for name in _DETAILS if fields else ():
        said = (fields or {}).get(name)
        if isinstance(said, Mapping):
            said = said.get("type") or said.get("reason")
        if isinstance(said, str) and (said.lower() in LOOP_STOPS or said.lower().startswith("repetition")):
            return True
    return False


def unfinished(last: Mapping[str, Any]) -> bool:
    """Ollama's own stream: its last line says that it is not done, which is how its loop guard ends an answer."""
    return last.get("done") is False
