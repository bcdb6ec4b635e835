"""Where streamfuse listens, under which names it may be called, and which web pages may call it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from ..base import Section, field

_HOST = re.compile(r"\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[?[0-9a-f:.]*:[0-9a-f:.]*\]?(?:%[a-z0-9]+)?")
_PORT = re.compile(r"(.+?):\d{1,5}")
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^\s/?#@\\]+")


def _list(value: object) -> object:
    """One name → a list of it; a bare null → an empty one. In a list, YAML's null is the word that browsers send."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    return tuple("null" if item is None else item for item in value) if isinstance(value, list | tuple) else value


def _hosts(value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_host(name) for name in value)


def _host(name: str) -> str:
    plain = name.strip().lower()
    if "[" not in plain and plain.count(":") == 1 and (port := _PORT.fullmatch(plain)):
        plain = port[1]
    if not _HOST.fullmatch(plain):
        raise ValueError("a host is a name or an address without scheme and path: llm.example.com, *.example.com")
    return plain.strip("[]").rstrip(".")


def _origins(value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_origin(name) for name in value)


def _origin(name: str) -> str:
    plain = name.strip().lower()
    plain = plain if plain.endswith("://") else plain.rstrip("/")
    if plain == "file:":
        raise ValueError('a page opened from a file sends the origin "null"; write that word')
    if not _ORIGIN.fullmatch(plain):
        raise ValueError("an origin is scheme://host[:port] without a path, as browsers send it, or null")
    return plain


Hosts = Annotated[tuple[str, ...], BeforeValidator(_list), AfterValidator(_hosts)]
Origins = Annotated[tuple[str, ...], BeforeValidator(_list), AfterValidator(_origins)]


class Listen(Section):
    """The port that agents use."""

    host: str = field(
        "127.0.0.1",
        "Address to listen on.",
        danger="0.0.0.0 lets the whole network spend your provider keys; set auth.keys with it.",
        min_length=1,
    )
    port: int = field(8787, "Port to listen on; 0 takes a free one and prints it.", ge=0, le=65535)
    hosts: Hosts = field(
        (),
        "More names that requests may call this proxy by, as in https://NAME/v1; *.example.com takes any name below. "
        "Addresses, localhost and names that the public internet does not have are known (docs/http.md).",
        danger='"*" lets a web page that rebinds its own name to this machine read answers.',
    )
    origins: Origins = field(
        (),
        "Web pages and browser-based apps that may call this proxy, as they name themselves: https://chat.example.com, "
        "http://localhost:*, app://obsidian.md, vscode-webview://*, null. Programs that send no Origin need none.",
        danger='"*" lets every page that you open spend your provider keys; "null" is what any sandboxed page says.',
    )


class Ops(Section):
    """A second port for /healthz, /readyz, /metrics and the page; none of them is then on the first."""

    host: str = field("127.0.0.1", "Address of the second port.", min_length=1)
    port: int = field(8788, "The second port.", ge=0, le=65535)
