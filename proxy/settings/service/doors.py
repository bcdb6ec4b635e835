"""Who may knock: requests that a browser sends for somebody else's page are refused, whatever they ask for.

Any page that a person opens can make the browser send requests to 127.0.0.1. Three things tell such a request from
a program's:
- `Origin`: the page that asks. Browsers put it on every POST and on every request that a page wants to read.
- `Sec-Fetch-Site` (W3C Fetch Metadata): whose page asks, also where no Origin is sent (an image, a link, a form).
- `Host`: the name that the browser thinks it talks to. A page can point its own name at this machine (DNS
  rebinding), and then everything here counts as its own; but the name stays the page's.

Programs send neither of the first two, and call us by an address or by a name that we know.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from multidict import CIMultiDict, MultiMapping

FROM_CONTAINERS = frozenset({"host.docker.internal", "gateway.docker.internal", "host.containers.internal"})
"""What containers of this machine call its own loopback."""

PRIVATE = (
    ".internal",  # reserved by ICANN, 2024
    ".local",  # RFC 6762; *.svc.cluster.local is one of them
    ".home.arpa",  # RFC 8375
    ".test",  # RFC 6761
    ".lan",
    ".home",
    ".corp",
    ".intranet",
    ".localdomain",
    ".svc",  # Kubernetes: name.namespace.svc
    ".default",  # Kubernetes: name.default
)
"""Ends of names that nobody can register on the public internet, so no page is served from one."""

KNOWN = 256
"""Host headers whose reading is remembered."""

MAX_AGE = "600"
"""Seconds that a browser may remember the answer to a preflight."""

_TOKENS = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+(\s*,\s*[A-Za-z0-9!#$%&'*+.^_`|~-]+)*")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.%a-z]+\]|[^\[\]:/?#@\s\\]+)(?::(\d{1,5}))?")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([^\s/?#@\\]+)")
_NO_METHODS = frozenset({"TRACE", "TRACK", "CONNECT"})
_SAFE = frozenset(
    {"cache-control", "content-language", "content-length", "content-type", "expires", "last-modified", "pragma"}
)
"""Headers that a page may read without being told (Fetch standard)."""
_NUMBER = re.compile(r"(?:^|\.)(?:\d+|0x[0-9a-f]*)$")
"""What ends in a number is an address however it is written (127.1), never a name (URL standard)."""
_DEFAULT_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that is not served: status, stable code, and what to write in the config if it should be."""

    status: int
    code: str
    message: str


class Doors:
    """The rules of one listening port."""

    def __init__(self, bound: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        """`bound`: the address listened on. `hosts`, `origins`: as in the config, lower case."""
        bound = bound.strip("[]").lower()
        self._loopback = loopback(bound)
        self._names = {bound, *hosts} if not _unspecified(bound) else set(hosts)
        if self._loopback:
            self._names |= FROM_CONTAINERS
        else:
            self._names.add(socket.gethostname().lower())
        self._any_host = "*" in self._names
        self._below = tuple(name[1:] for name in self._names if name.startswith("*."))
        self._origins = frozenset(origins)
        self._any_origin = "*" in self._origins
        self._patterns = [_pattern(one) for one in self._origins if "*" in one and one != "*"]
        self._known: dict[str, str | None] = {}
        """Host header → the name in it where it is certainly ours, "" where only a program can have sent it, None
        where it is somebody else's."""

    @property
    def for_pages(self) -> bool:
        """Some page may call: answers need headers that let it read them."""
        return bool(self._origins)

    def refusal(self, headers: MultiMapping[str], *, own: bool = False, reads: bool = True) -> Refused | None:
        """Why a request is not served; None = it may come in. `own`: it asks for a page of ours, not for a provider.
        `reads`: it changes nothing here (GET, HEAD)."""
        host = headers.get("Host")
        name: str | None = ""
        if host is not None:
            try:
                name = self._known[host]
            except KeyError:
                name = self._remember(host)
            if name is None or (name == "" and own and self._loopback):
                return _wrong_host(host)
        origin, site = headers.get("Origin"), headers.get("Sec-Fetch-Site")
        if origin is None and site is None:
            return None
        if origin is not None:
            origins = headers.getall("Origin")
            if all(map(self.allows, origins)):
                return None
            ours = name and host is not None and all(_same(one, host) for one in origins)
            if ours and site in (None, "same-origin", "none"):
                return None
            return _wrong_origin(origin)
        if site in ("same-origin", "none"):
            return None
        to_page = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
        if own and reads and to_page:
            return None  # a link to our page that a person clicked: the page that holds it reads nothing
        return _wrong_site()

    def allows(self, origin: str | None) -> bool:
        """May this page call, and read what it gets?"""
        if origin is None:
            return False
        said = origin.strip().lower()
        return self._any_origin or said in self._origins or any(one.fullmatch(said) for one in self._patterns)

    def preflight(self, headers: MultiMapping[str]) -> CIMultiDict[str] | None:
        """The headers of the answer to a browser's question whether it may ask, None where it may not or where this
        is no such question. It is never the provider's to answer: it comes without a credential."""
        origin = headers.get("Origin")
        if origin is None or not self.allows(origin) or self.refusal(headers) is not None:
            return None
        wanted = headers.get("Access-Control-Request-Headers", "").strip()
        out = CIMultiDict(
            {
                "Access-Control-Allow-Origin": origin,
                "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
                "Access-Control-Max-Age": MAX_AGE,
                "Vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers, "
                "Access-Control-Request-Private-Network",
            }
        )
        if wanted and len(wanted) <= 8192 and _TOKENS.fullmatch(wanted):
            out["Access-Control-Allow-Headers"] = wanted
        if headers.get("Access-Control-Request-Private-Network") == "true":
            out["Access-Control-Allow-Private-Network"] = "true"
        return out

    def open_to_page(self, origin: str | None, answer: CIMultiDict[str]) -> None:
        """Add to an answer's headers what lets the page that asked read it; `Vary` also where none did, since a cache
        must not hand the answer on to a page."""
        varies = answer.get("Vary", "")
        if "origin" not in varies.lower() and varies != "*":
            answer["Vary"] = f"{varies}, Origin" if varies else "Origin"
        if origin is None or not self.allows(origin):
            return
        answer["Access-Control-Allow-Origin"] = origin
        if shown := sorted({name.lower() for name in answer} - _SAFE - {"vary", "access-control-allow-origin"}):
            answer["Access-Control-Expose-Headers"] = ", ".join(shown)

    def _remember(self, host: str) -> str | None:
        known = self._read(host)
        if len(self._known) < KNOWN:
            self._known[host] = known
        return known

    def _read(self, host: str) -> str | None:
        found = _AUTHORITY.fullmatch(host.strip())
        if found is None:
            return "" if not host.strip() else None
        name = found[1].strip("[]").rstrip(".").lower()
        if name in self._names or self._any_host or any(name.endswith(end) for end in self._below):
            return name
        # An address cannot be rebound: what it leads to is settled.
        if name == "localhost" or name.endswith(".localhost") or _address(name) or _NUMBER.search(name):
            return name
        if not self._loopback and ("." not in name or name.endswith(PRIVATE)):
            return name
        # A name without a dot cannot be registered on the public internet, but whoever runs the local network can make
        # one lead anywhere: programs may use it, pages may not.
        return "" if "." not in name else None


def loopback(host: str) -> bool:
    """Is this an address or name that only this machine reaches?"""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _address(name: str) -> bool:
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def _unspecified(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _pattern(origin: str) -> re.Pattern[str]:
    """`*` stands for a part of a host's name, or for a port: never for the end of a host and a port."""
    return re.compile("[^/:]+".join(map(re.escape, origin.split("*"))))


def _same(origin: str, host: str) -> bool:
    """Is the page one of ours: served under the very host and port that it calls? The scheme is not compared, since
    a server before us may have undone TLS."""
    found = _ORIGIN.fullmatch(origin.strip().lower())
    if found is None or found[1] not in _DEFAULT_PORTS:
        return False
    default = _DEFAULT_PORTS[found[1]]
    here, there = _AUTHORITY.fullmatch(found[2]), _AUTHORITY.fullmatch(host.strip().lower())
    return here is not None and there is not None and (here[1], here[2] or default) == (there[1], there[2] or default)


def _shown(text: str) -> str:
    """What a client sent, for an error: short, printable ASCII, nothing that could end a quotation."""
    return "".join(c for c in text[:200] if " " < c < "\x7f" and c not in "\"'`<>\\")


def _wrong_host(host: str) -> Refused:
    name = _shown(host)
    found = _AUTHORITY.fullmatch(name)
    name = found[1] if found else name
    return Refused(
        403,
        "streamfuse_host_refused",
        f"This proxy is not known as '{name}'. Call it by its address, or write in the config: "
        f'listen: {{hosts: ["{name}"]}} (or STREAMFUSE_LISTEN__HOSTS={name}).',
    )


def _wrong_origin(origin: str) -> Refused:
    name = _shown(origin).lower()
    return Refused(
        403,
        "streamfuse_origin_refused",
        f"A web page or app that calls itself '{name}' may not use this proxy. To allow it, write in the config: "
        f'listen: {{origins: ["{name}"]}} (or STREAMFUSE_LISTEN__ORIGINS={name}).',
    )


def _wrong_site() -> Refused:
    return Refused(
        403,
        "streamfuse_origin_refused",
        "A browser sent this request for a page of another site. A page that is meant to use this proxy must ask "
        'with CORS (fetch, not an image or a form) and stand in the config: listen: {origins: ["https://…"]}.',
    )


def no_method(method: str) -> Refused | None:
    """TRACE would send the provider's key back to whoever asks; CONNECT is for proxies of another kind."""
    if method in _NO_METHODS:
        return Refused(405, "streamfuse_bad_request", f"{method} is not served here.")
    return None
