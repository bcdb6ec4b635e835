"""Extracts the user's own newest words from a request: the only text in which a wish for repetition counts.

Results of tools, files, logs and earlier answers are left out, wherever a client puts them: text protocols send tool
results as user messages, and editors paste files into them. A short message ("go on") is read with the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

READ: Final = 4096
"""Characters that are read at the beginning and at the end of a message; pasted text lies between them."""
SHORT: Final = 48
"""A message of at most this many characters is read together with the one before it."""
BACK: Final = 3
HANDBOOK: Final = 2000
"""Characters of a system message that is read as an instruction, which may give a format. A longer one is an agent's
handbook, whose numbers are limits of tools."""
_RESULT: Final = re.compile(
    r"\s*(?:\[[^\]\n]{1,200}\] ?Result:|"
    r"<(?:tool_result|function_results?|tool_response|environment_details|observation)\b"
    r"|(?:Observation|OBSERVATION|Tool (?:result|output)|Command output|EXECUTION RESULT)\b)"
)
"""How text protocols begin a tool's result."""
_FENCE: Final = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})")
_OPEN: Final = re.compile(r"^[ \t]*<([a-zA-Z][\w:.-]{0,40})(?:\s[^<>\n]{0,300})?>")


def asked(system: str, users: Iterable[str]) -> str:
    """The user's newest words, and the system message where it is short. `users`: the user's messages, newest first."""
    said: list[str] = []
    for message in users:
        if not message or message.isspace() or _RESULT.match(message):
            continue
        words = spoken(message)
        if words:
            said.append(words)
        if len(words) > SHORT or len(said) >= BACK:
            break
    if system and len(system) <= HANDBOOK:
        said.append(spoken(system))
    return "\n".join(reversed(said))


def spoken(message: str) -> str:
    """The message without code fences, quoted lines and tagged blocks: only the user's own words."""
    if len(message) > 2 * READ:
        message = message[:READ] + "\n" + message[-READ:]
    kept: list[str] = []
    until = ""
    for line in message.split("\n"):
        if until:
            if line.strip().startswith(until) or (until[:1] == "<" and until in line):
                until = ""
            continue
        fence = _FENCE.match(line)
        if fence:
            until = fence[1]
            continue
        tag = _OPEN.match(line)
        if tag:
            close = f"</{tag[1]}>"
            if close not in line:
                until = close if close in message else ""
            if until or close in line:
                continue
        if line.lstrip()[:1] != ">":
            kept.append(line)
    return "\n".join(kept).strip()
