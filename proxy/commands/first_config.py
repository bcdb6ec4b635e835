"""Writes a first config: which provider, where its key is, and who calls. What it writes, `streamfuse check` accepts.

A key belongs into the environment: the file names the variable. Where somebody gives the key itself, the file holds it
and only its owner can read it. A file that is there is never replaced unasked.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit


class Callers(StrEnum):
    """Who may call the proxy."""

    ME = "me"
    NETWORK = "network"


PROVIDERS: Final = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    "local": ("http://localhost:11434", ""),
}
"""Address and usual variable of providers that are known by name; "" = it wants no key. `local` is Ollama's port."""

VARIABLE: Final = re.compile(r"\$?\{?([A-Z_][A-Z0-9_]*)\}?")
"""A variable's name, also as ${NAME} or $NAME. Keys have small letters or dashes."""

OUR_KEY: Final = "FUSE_KEY"
"""The variable of the key that callers from the network present (STREAMFUSE_… are settings)."""


class NotPossible(Exception):
    """What was given makes no config; the text says why."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What was asked. `provider`: a name of PROVIDERS or an address. `key`: a variable's name, a key, or "" = the
    client's own key passes through."""

    provider: str
    key: str
    callers: Callers

    @property
    def address(self) -> tuple[str, str]:
        """(name, base_url). Raises NotPossible."""
        if self.provider in PROVIDERS:
            return self.provider, PROVIDERS[self.provider][0]
        parts = urlsplit(self.provider)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            known = ", ".join(PROVIDERS)
            raise NotPossible(
                f"{self.provider!r} is neither {known}, nor an address that begins with http:// or https://"
            )
        return "main", self.provider.rstrip("/")

    @property
    def variable(self) -> str:
        """The variable that holds the key; "" where there is none."""
        found = VARIABLE.fullmatch(self.key)
        return found[1] if found else ""

    @property
    def holds_secret(self) -> bool:
        """Would the file hold the key itself?"""
        return bool(self.key) and not self.variable


def usual_key(provider: str) -> str:
    """The variable that a provider's key usually stands in; "" where it wants none or is not known."""
    return PROVIDERS.get(provider, ("", ""))[1]


def text(answers: Answers) -> str:
    """The config. Raises NotPossible."""
    name, url = answers.address
    if any(c in answers.key for c in " \t\r\n\"'"):
        raise NotPossible("a key has no white space and no quotes in it; give the key alone, or the name of a variable")
    if answers.callers is Callers.NETWORK and not answers.key and usual_key(answers.provider):
        raise NotPossible(
            "callers from the network present a key of streamfuse's, so the provider's has to be in the config: "
            "give --key with the name of its variable"
        )
    key = f"${{{answers.variable}}}" if answers.variable else answers.key
    lines = [
        "# Every setting, with its default and its dangers: config.example.yaml and docs/configuration.md.",
        f"default_provider: {name}",
        "providers:",
        f"  {name}:",
        f"    base_url: {json.dumps(url)}",
    ]
    if key:
        lines += ["    # The variable of the environment that holds the key." if answers.variable else
                  "    # Better: the name of a variable, as in \"${NAME}\". Only you can read this file."]  # fmt: skip
        lines.append(f"    api_key: {json.dumps(key)}")
    else:
        lines.append("    # No api_key: the key that the client sends passes through.")
    lines += ["", "listen:"]
    if answers.callers is Callers.NETWORK:
        lines += [
            "  # All addresses of this machine; clients that call it by a public name: write that name into `hosts`.",
            "  host: 0.0.0.0",
            "  port: 8787",
            "# Callers present this key, in place of the provider's.",
            "auth:",
            f'  keys: ["${{{OUR_KEY}}}"]',
        ]
    else:
        lines += ["  # This machine only.", "  host: 127.0.0.1", "  port: 8787"]
    lines += [
        "",
        "# First only look: `watch` reports what it would have cut and changes no byte. Then `on`.",
        "rules:",
        "  mode: on",
        "",
    ]
    return "\n".join(lines)


def write(answers: Answers, file: Path, *, replace: bool = False) -> None:
    """Write the config. Raises NotPossible; FileExistsError where it is there and `replace` does not say otherwise."""
    content = text(answers)
    mode = 0o600 if answers.holds_secret else 0o644
    if replace:
        file.unlink(missing_ok=True)  # not through a link, and not with the old file's mode
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(content)


def next_steps(answers: Answers, file: Path) -> list[str]:
    """What to do now, line by line."""
    lines = [f"wrote {file}" + (" (only you can read it: it holds the key)" if answers.holds_secret else "")]
    needed = [name for name in (answers.variable, OUR_KEY if answers.callers is Callers.NETWORK else "") if name]
    lines += [f"export {name}=…" for name in needed if not os.environ.get(name)]
    lines.append(f"streamfuse check {file} --probe && streamfuse serve -c {file}")
    lines.append("then point the agent at http://127.0.0.1:8787/v1 (docs/clients.md has the line for each)")
    return lines
