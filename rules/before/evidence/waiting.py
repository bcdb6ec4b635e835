"""Does a call wait for something, or poll for it? Equal calls with equal results do not show that.

An agent that waits makes the same call and gets the same result until the thing has happened, and that is no loop. A
sign counts in the tool's name, its command, its arguments or its result, in any of some thirty languages. It is
computed only for calls that repeat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from .states import ABSENT, AWAITED, BROKE, GOES_ON, ROWS, UNFINISHED


class Sign(IntEnum):
    """How likely a wait is."""

    NONE = 0
    """A file was read or changed: the same call again cannot bring anything new."""
    MAYBE = 1
    """No sign speaks for or against a wait."""
    LIKELY = 2
    """A server that does not answer yet, an object that says `"done": false`: never refused, but reminded."""
    SURE = 3
    """The call itself waits, or its result names a state that passes: reminded only after many equal looks."""


_SHORT = 600
"""Only short results are read as a status: a long one is content that happens to contain such a word."""
_TABLE = 4000
"""Up to here a result may be a table of states (pods, jobs, checks), whose words are more certain."""
_WORD = 48
"""Characters up to which a file's content may be a state as well (`cat build.status`)."""
_COMMAND = 4096
"""Characters of a command that are looked at."""
_DEPTH = 6

_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WAITING_TOOLS = frozenset(
    (
        *("wait", "waits", "sleep", "poll", "polls", "polling", "watch", "await", "awaits", "delay", "pause"),
        *("monitor", "follow", "listen", "subscribe", "tail"),
    )
)
_WAITING_MEMBERS = frozenset(
    (
        *("wait", "waits", "waiting", "sleep", "block", "blocks", "blocking", "until", "poll", "polling", "watch"),
        *("follow", "interval", "delay", "await", "longpoll"),
    )
)
"""Words of an argument's name; its value must be set."""
_SEARCHES = frozenset(
    ("search", "grep", "find", "glob", "read", "view", "open", "cat", "edit", "write", "replace", "patch", "insert")
)
"""Tools whose arguments are words to look for or to write: such a word in them waits for nothing."""
_WAITING_COMMAND = re.compile(
    r"(?<!/)\b(?:u?sleep|wait(?:pid|-for\S*|-on|for\w*)?|watch|inotifywait|Start-Sleep|Wait-\w+|poll\w*|setTimeout"
    r"|wait_?for\w*|wait_?until\w*|settimeout)\b(?!\.\w|/)"
    r"|\b(?:until|while)\b.{1,400}?\bdo\b|\btail\b.{0,80}?\s(?:-\w*[fF]\b|--follow)|\bjournalctl\b.{0,80}?\s-\w*f"
    r"|--?(?:follow|watch|wait|until|retry|poll|block|interval|await)\b|\bping\s",
    re.DOTALL,
)
_LIMIT = re.compile(r"\b(?:timeout|max-time)\b")
"""Waits for something, or bounds the time that a command may take."""
_SHELL = re.compile(r"bash|shell|terminal|exec|command|run|console|python|code|^sh$|^cmd$", re.IGNORECASE)
_CHANGES = frozenset(("edit", "write", "replace", "patch", "insert", "todo"))
_FILES = frozenset(("read", "view", "open", "cat")) | _CHANGES
_PATHS = frozenset(("path", "file", "filename", "filepath", "uri", "todos", "f"))
"""Words of the arguments that name a file."""
_READING = re.compile(r"^\s*(?:cd \S+ *(?:&&|;) *)?(?:cat|sed -n|head|nl|bat|less|git (?:add|commit|show|diff))\b")
_GROWS = re.compile(
    r"logs?\b|out\b|output|status|state|\.pid|lock|progress|result|report|done|flag|te?mp|queue|inbox", re.IGNORECASE
)
"""Names of files that somebody else may be writing."""


def _strings(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """(name, value) of every plain value in the arguments."""
    if depth > _DEPTH:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, (dict, list)):
                yield from _strings(inner, depth + 1)
            else:
                yield str(name), inner
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, (dict, list)):
                yield from _strings(inner, depth + 1)
            else:
                yield "", inner
    else:
        yield "", value


def _words(name: str) -> set[str]:
    """The words of a name: `waitForJob`, `wait_for_job`, `mcp__ci__wait`."""
    return {word.lower() for word in _NAME.findall(name[:200])}


def waits(name: str, arguments: Any) -> Sign:
    """Does the call itself wait? `arguments` as parsed. A tool's own limit (`"timeout": 120000`) is no wait."""
    words = _words(name)
    if words & _WAITING_TOOLS:
        return Sign.SURE
    shell = _SHELL.search(name) is not None
    looks = bool(words & _SEARCHES) and not shell
    commands: list[str] = []
    for member, value in _strings(arguments):
        if _set(value) and _words(member) & _WAITING_MEMBERS:
            return Sign.SURE
        if isinstance(value, str) and not looks:
            if value.strip().lower() in _WAITING_TOOLS:
                return Sign.SURE
            commands.append(value[:_COMMAND])
    said = " ".join(commands)[:_COMMAND]
    if not said or not (shell or " " in said or "(" in said):  # one word that is no command names something
        return Sign.NONE
    if _WAITING_COMMAND.search(said) is not None:
        return Sign.SURE
    return Sign.LIKELY if _LIMIT.search(said) is not None else Sign.NONE


def _set(value: Any) -> bool:
    """Is this value of a switch or a duration neither off nor a text of its own?"""
    return bool(value) and (not isinstance(value, str) or (len(value) <= 16 and value not in ("false", "0", "none")))


def _file(name: str, arguments: Any) -> bool:
    """Does the call read or write a file that nobody else is writing?"""
    said = " ".join(str(value) for _, value in _strings(arguments))[:_COMMAND]
    if _SHELL.search(name) is not None:
        return _READING.match(said) is not None and _GROWS.search(said) is None
    words = _words(name)
    if not words & _FILES or not any(_words(member) & _PATHS for member, _ in _strings(arguments)):
        return isinstance(arguments, str) and bool(words & _FILES) and _GROWS.search(said) is None
    return bool(words & _CHANGES) or _GROWS.search(said) is None


def sign(name: str, arguments: Any, result: str | None, *, told: bool | None, failed: bool) -> Sign:
    """The sign of a wait in a call and its result. `told`: whether the wire says that it failed (is_error); `failed`:
    whether its words do.
    """
    itself = waits(name, arguments)
    if result is None:
        return itself or Sign.MAYBE
    file = _file(name, arguments)
    size = len(result)
    over = BROKE.search(result[:_TABLE]) is not None and AWAITED.search(result[:_TABLE]) is None
    if over and itself:
        return Sign(itself - 1)
    found = Sign.NONE if file and size and not failed and not told else Sign.MAYBE
    if size <= (_WORD if file else _SHORT):
        if not told and not over and GOES_ON.search(result) is not None:
            found = Sign.SURE
        elif ABSENT.search(result) is not None or UNFINISHED.search(result) is not None:
            found = Sign.LIKELY
    if found is not Sign.SURE and size <= _TABLE and not file and not over and ROWS.search(result) is not None:
        found = Sign.LIKELY
    return max(itself, found)
