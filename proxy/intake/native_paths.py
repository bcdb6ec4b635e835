"""Paths of Google's and Ollama's own APIs. They stand beside `/v1`, not below it, and Google's versions have names.

A base address is mostly written for the OpenAI-compatible API of the same host (`http://localhost:11434/v1`,
`https://generativelanguage.googleapis.com/v1beta/openai`): a native call leaves those endings out.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

_OLLAMA = re.compile(
    r"(?:/v1)?(/api/(?:chat|generate|embed|embeddings|tags|show|ps|version|status|pull|push|create|copy|delete|blobs/[^/]+"
    r"|me|signout|user/.+?|web_search|web_fetch|experimental/.+?))/?"
)
"""https://docs.ollama.com/api. Other services have an /api, too, so only these names count."""
_NAMED_VERSION = re.compile(r"((?:/upload|/download)?/v\d+(?:alpha|beta)\d*)(/.+)")
"""`/v1beta/models/…`, `/v1beta1/projects/…`, `/upload/v1beta/files`; a plain /v1 is everybody's."""
_METHOD = re.compile(
    r"(?:/projects/[^/]+/locations/[^/]+)?(?:/publishers/[^/]+)?"
    r"/(?:models|tunedModels|endpoints)/[^/]+(?::|%3[aA])[a-zA-Z]+"
)
"""A method of a model: `/models/gemini-2.5-flash:streamGenerateContent`."""
_NAMED = re.compile(r"(/(?:models|tunedModels|endpoints)/)[^/:%?]+((?::|%3[aA])[a-zA-Z]+)\Z")
_DEPLOYED = re.compile(r"(/openai/deployments/)[^/]+(/)", re.ASCII)
_COMPATIBLE = re.compile(r"(?:/openai|/projects/[^/]+/locations/[^/]+/endpoints/[^/:]+)(/.+)")
"""The OpenAI-compatible API, on ai.google.dev and on Vertex AI."""
_GOOGLE_ENDING = re.compile(
    r"(?:/v\d+(?:(?:alpha|beta)\d*)?)?(?:/projects/[^/]+/locations/[^/]+(?:/endpoints/[^/]+)?)?(?:/openai)?"
)


class NativePath(NamedTuple):
    """A path that was recognised."""

    path: str
    """As it goes upstream, below the base without `endings`."""
    call: str
    """What wires are matched by."""
    endings: re.Pattern[str]
    """How the path of a base may end that this call does not stand below."""


_OLLAMA_ENDING = re.compile(r"(?:/api)?(?:/v1)?|/api")


def read(path: str) -> NativePath | None:
    """A path without provider and query; None where it is no native one."""
    if ollama := _OLLAMA.fullmatch(path):
        return NativePath(ollama[1], ollama[1], _OLLAMA_ENDING)
    if (named := _NAMED_VERSION.fullmatch(path)) is None:
        return None
    return NativePath(path, call(named[2]), _GOOGLE_ENDING)


def call(below: str) -> str:
    """What wires match, of a path below its version."""
    if _METHOD.fullmatch(below):
        return re.sub("%3[aA]", ":", below)
    if compatible := _COMPATIBLE.fullmatch(below):
        return compatible[1].rstrip("/") or "/"
    return below


def with_model(path: str, model: str) -> str:
    """The path with another model where it names one: Google's methods, Azure's deployments. Else as it is."""
    name = quote(model.rpartition("/")[2], safe="")
    path, found = _NAMED.subn(lambda at: at[1] + name + at[2], path)
    return path if found else _DEPLOYED.sub(lambda at: at[1] + name + at[2], path)


def is_method(call: str) -> bool:
    """Is this a method of one of Google's models?"""
    return _METHOD.fullmatch(call) is not None


def below(prefix: str, endings: re.Pattern[str]) -> str:
    """The path of a base without its ending."""
    for at in range(len(prefix) + 1):
        if prefix.startswith("/", at) and endings.fullmatch(prefix, at):
            return prefix[:at]
    return prefix
