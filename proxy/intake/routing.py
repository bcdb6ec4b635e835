"""Path and headers → where a request goes and what goes with it. Nothing here waits or touches a socket.

Only configured upstreams are ever addressed: the client's path is joined below a provider's base address and can
neither leave it (`..`) nor name another host. Credentials are passed or replaced as a whole, never mixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from multidict import CIMultiDict

from rules import HealStyle, Mode, Scope

from ..settings.service.auth import CREDENTIALS
from . import native_paths

if TYPE_CHECKING:
    from ..settings.load import Settings
    from ..settings.sections.provider import ProviderSettings

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "trailers",
        "transfer-encoding",
        "upgrade",
    }
)
"""RFC 9110 §7.6.1 and what old clients add; the names that Connection lists go too."""

OWN = "x-streamfuse-"
"""Request headers with this prefix are for us and never go upstream."""

CORS = "access-control-"
"""What an upstream lets web pages read is not for it to say: pages call us, and `listen.origins` decides."""

DECODED = 4
"""How often a path may be percent-encoded on top of itself; no API needs more than two."""

_VERSION = re.compile(r"v\d+", re.ASCII)
_DEPLOYMENT = re.compile(r"/openai/deployments/[^/]+(/.+)", re.ASCII)
_SLASHES = re.compile(r"/{2,}")
_BELOW = re.compile(r"((?:/[^/]+)+?)(/v1(?:/.*)?)", re.ASCII)


class RouteError(Exception):
    """A request that goes nowhere. `code` is stable (streamfuse_…), the text says what to do."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class Place:
    """A request's path, read. `call` is what wires are matched by: `/chat/completions`, no version, no query."""

    provider: str | None
    """The provider named in the path, None where the path names none."""
    path: str
    """The path below the provider, slashes collapsed, its version doubled at most once."""
    call: str
    versioned: bool
    """The client wrote a version (/v1) itself."""
    above: str = ""
    """Version and what stood before it, where that is no provider's name: `/api/v1` of /api/v1/models."""
    endings: re.Pattern[str] | None = None
    """A native call of Ollama or Google: how the path of a base may end that this call does not stand below."""


def prefixes(bases: Iterable[str]) -> tuple[str, ...]:
    """The paths of base addresses, longest first: /api/v1 of https://openrouter.ai/api/v1."""
    return tuple(sorted({path for base in bases if (path := _split(base)[1])}, key=len, reverse=True))


def place(raw_path: str, providers: Iterable[str], bases: Iterable[str] = ()) -> Place:
    """Read a request's path (percent-encoded, without query). Raises RouteError 400 for one that climbs,
    404 for one below /-/ that nobody serves.

    `bases`: see prefixes. A client of which only the host was changed still writes the path of its provider's base.
    """
    path = _SLASHES.sub("/", raw_path or "/")
    if not path.startswith("/"):
        path = "/" + path
    if _climbs(path):
        raise RouteError(400, "streamfuse_bad_request", "The path must not contain '..': send the plain API path.")
    provider = None
    first, _, rest = path[1:].partition("/")
    if first in providers:
        provider, path = first, "/" + rest
    elif first == "-":
        raise RouteError(404, "streamfuse_not_found", "Nothing is here: paths below /-/ are streamfuse's own.")
    above = ""
    if (native := native_paths.read(path)) is not None:
        return Place(provider, native.path, native.call, False, endings=native.endings)
    for base in bases:
        if base != "/v1" and (path == base or path.startswith(base + "/")):
            above, path = base, "/v1" + path[len(base) :]
            break
    else:
        if not path.startswith("/v1/") and (inner := _BELOW.fullmatch(path)):
            above, path = inner[1] + "/v1", inner[2]
    call = path
    versioned = False
    while call == "/v1" or call.startswith("/v1/"):
        call = call[3:] or "/"
        versioned = True
    if versioned:
        path = "/v1" + call
    if azure := _DEPLOYMENT.fullmatch(call):
        call = azure.group(1)
    else:
        call = native_paths.call(call)
    if len(call) > 1:
        call = call.rstrip("/")
    return Place(provider, path, call, versioned, above)


_OVERLONG = re.compile(r"%c[01]%[89ab]|%e0%[89]|%f0%8|%u00[0-7]", re.IGNORECASE)
"""A character of ASCII in more bytes than it needs (RFC 3629 §3 forbids them), or in IIS's own spelling."""


def _climbs(path: str) -> bool:
    """Could a server read a step upwards in this path? Also one that decodes it again and again, that takes `;x` for a
    parameter of a segment (Tomcat), that ends it at a NUL, or that takes an overlong UTF-8 form (`%c0%ae`) or IIS's
    `%u002e` for a dot."""
    if "%" not in path and "." not in path and "\\" not in path:
        return False
    plain = path
    for _ in range(DECODED):
        if _OVERLONG.search(plain):
            return True
        if (again := unquote(plain)) == plain:
            break
        plain = again
    else:
        return True
    if "\0" in plain or "\\" in plain:
        return True
    return any(segment.partition(";")[0].strip() in (".", "..") for segment in plain.split("/"))


def join(base: str, to: Place, query: str, known: bool) -> str:
    """The upstream's address for a path.

    `base` ends with the provider's version (https://api.openai.com/v1), which takes the place of the client's. A base
    without any path gets the client's path as it is, and /v1 where a `known` call came without. Azure's deployment
    paths stand beside the version, not below it. Raises RouteError 404 for a path whose beginning is neither a
    provider's name nor a part of its base: a misspelt name must not send one provider's key to another.
    """
    root, prefix, extra = _split(base)
    path = to.path
    below = path[3:] if to.versioned else path
    if to.endings is not None:
        target = native_paths.below(prefix, to.endings) + path
    elif prefix and native_paths.is_method(to.call):
        target = prefix.removesuffix("/openai") + below
    elif below.startswith("/openai/deployments/"):
        prefix = prefix.removesuffix("/v1").removesuffix("/openai")
        target = prefix + below
    elif prefix and to.above and to.above != prefix:
        first = to.above[1:].partition("/")[0]
        raise RouteError(
            404, "streamfuse_unknown_provider", f"No provider {first[:60]!r} is configured, and no base address has it."
        )
    elif prefix:
        target = prefix + below
    elif to.versioned or not known:
        target = to.above + below if to.above else path
    else:
        target = "/v1" + path
    joined = f"{extra}&{query}" if extra and query else extra or query
    return f"{root}{target}?{joined}" if joined else root + target


def origin(base: str) -> str:
    """Scheme, host and port of a base address."""
    return _split(base)[0]


@lru_cache(256)
def _split(base: str) -> tuple[str, str, str]:
    """Origin, path and query of a base address."""
    origin, _, extra = base.partition("?")
    origin = origin.rstrip("/")
    slash = origin.find("/", origin.index("://") + 3)
    return (origin, "", extra) if slash < 0 else (origin[:slash], origin[slash:], extra)


def choose(settings: Settings, to: Place, named: str | None, model: str | None) -> str:
    """The provider's name: header, then path, then the model's route, then the default. Raises RouteError 404."""
    wanted = named or to.provider
    if wanted is not None:
        if wanted not in settings.providers:
            have = ", ".join(sorted(settings.providers))
            raise RouteError(
                404, "streamfuse_unknown_provider", f"No provider {wanted[:60]!r} is configured. Configured: {have}."
            )
        return wanted
    if model and settings.routes:
        from fnmatch import fnmatchcase

        for route in settings.routes:
            if fnmatchcase(model, route.model):
                return str(route.provider)
    default = settings.default_provider or next(iter(settings.providers), None)
    if default is None:
        raise RouteError(
            404,
            "streamfuse_unknown_provider",
            "No default provider is configured: name one in the path (/{provider}/v1/…) or in x-streamfuse-provider.",
        )
    return str(default)


def mode_of(headers: Mapping[str, str]) -> Mode:
    """x-streamfuse-mode. Raises RouteError 400 for another word."""
    word = headers.get("x-streamfuse-mode")
    if word is None:
        return Mode.ON
    try:
        return Mode(word.strip().lower())
    except ValueError:
        raise RouteError(400, "streamfuse_bad_request", "x-streamfuse-mode must be off, watch or on.") from None


def waits(headers: Mapping[str, str]) -> bool:
    """x-streamfuse-hold: may text wait while a rule is half convinced? Raises RouteError 400 for another word."""
    word = headers.get("x-streamfuse-hold")
    if word is None:
        return True
    word = word.strip().lower()
    if word not in ("on", "off"):
        raise RouteError(400, "streamfuse_bad_request", "x-streamfuse-hold must be on or off.")
    return word == "on"


def heal_of(headers: Mapping[str, str]) -> HealStyle | None:
    """x-streamfuse-heal: how far a heal of this answer may go; None = as configured. Raises RouteError 400 for another
    word."""
    word = headers.get("x-streamfuse-heal")
    if word is None:
        return None
    named = {"on": "auto", "off": "none"}.get(word.strip().lower(), word.strip().lower())
    try:
        return HealStyle(named)
    except ValueError:
        words = ", ".join([*HealStyle, "on", "off"])
        raise RouteError(400, "streamfuse_bad_request", f"x-streamfuse-heal must be one of {words}.") from None


def scope_of(headers: Mapping[str, str]) -> Scope:
    """x-streamfuse-scope. Raises RouteError 400 for another word."""
    word = headers.get("x-streamfuse-scope")
    if word is None:
        return Scope.REQUEST
    try:
        return Scope(word.strip().lower())
    except ValueError:
        raise RouteError(
            400, "streamfuse_bad_request", f"x-streamfuse-scope must be one of {', '.join(Scope)}."
        ) from None


def credential(headers: Mapping[str, str], query: str = "") -> str:
    """The client's credential as it came, for a digest only; "" where it sent none."""
    for name in CREDENTIALS:
        if name in headers:
            return headers[name] or key_of(query)
    return key_of(query)


def key_of(query: str) -> str:
    """The key in a query (Gemini's ?key=); "" where there is none."""
    return next((unquote(value) for part in query.split("&") if (value := part.removeprefix("key=")) != part), "")


@lru_cache(64)
def _gone(strip: tuple[str, ...], admitted_by: str | None, keyed: bool) -> frozenset[str]:
    """The request headers that never go upstream, lower case; the same for all requests that are treated alike."""
    own = {"host", "expect", *(name.lower() for name in strip), *([admitted_by] if admitted_by else [])}
    return HOP_BY_HOP | own | (set(CREDENTIALS) if keyed else set())


def _listed(headers: Mapping[str, str]) -> set[str]:
    return {name.strip().lower() for name in headers.get("Connection", "").split(",")}


def outgoing(
    headers: CIMultiDict[str] | Mapping[str, str],
    provider: ProviderSettings,
    *,
    key_header: str = "authorization",
    admitted_by: str | None = None,
    strip: Iterable[str] = (),
    keyed: bool = True,
) -> CIMultiDict[str]:
    """The headers for the upstream. Body headers (Content-Length, Content-Encoding) stay for the caller to decide.

    `key_header`: where the key travels on this wire, if the config does not say. `admitted_by`: the header that held
    our own key. `strip`: identity headers that the config says to take out. `keyed`: False = the provider's key stays
    here.
    """
    key = provider.api_key if keyed else None
    gone = _gone(tuple(strip), admitted_by, key is not None)
    if "Connection" in headers:
        gone |= _listed(headers)
    out: CIMultiDict[str] = CIMultiDict()
    for name, value in headers.items():
        lower = name.lower()
        if lower not in gone and not lower.startswith(OWN):
            out.add(name, value)
    if key is not None:
        where = str(provider.key_header)
        if where == "auto":
            where = key_header
        secret = key.get_secret_value()
        out["Authorization" if where == "authorization" else where] = (
            f"Bearer {secret}" if where == "authorization" else secret
        )
    for name, value in provider.headers.items():
        out[name] = value
    return out


def without_key(query: str) -> str:
    """A query without Gemini's ?key=, for when the provider's own key is used."""
    return "&".join(part for part in query.split("&") if part and part.partition("=")[0] != "key")


PROBES = frozenset({"/", "/health", "/healthcheck", "/healthz", "/livez", "/live", "/ping", "/ready", "/readyz"})
"""Paths that are asked only to see whether somebody is there: load balancers, container health checks, agents as they
start (Claude Code begins with `HEAD /`)."""


def knocks(method: str, to: Place) -> bool:
    """Does the request ask only whether somebody is there? A HEAD of the root learns a status and nothing else: it is
    answered here, and costs no upstream call."""
    return method == "HEAD" and to.path == "/" and not to.above


def probes(method: str, to: Place, headers: Mapping[str, str]) -> bool:
    """Is this a health check without a credential? It goes upstream as it is, never with the provider's own key."""
    return (
        method in ("GET", "HEAD")
        and to.path.rstrip("/") in PROBES | {""}
        and not to.above
        and not any(name in headers for name in CREDENTIALS)
    )


DROPPED = frozenset({"content-length", "content-encoding", "alt-svc"})
"""What an answer that we frame ourselves must not inherit; Alt-Svc would lead clients around us."""


FRAMED, UNTOUCHED = HOP_BY_HOP | DROPPED, HOP_BY_HOP | {"alt-svc"}
"""What stays here of the headers of an answer that we frame, and of one that passes byte for byte."""


def incoming(headers: Mapping[str, str], *, untouched: bool = False) -> CIMultiDict[str]:
    """The upstream's headers for the client. `untouched`: the body passes byte for byte, so its own headers stay."""
    gone = UNTOUCHED if untouched else FRAMED
    if "Connection" in headers:
        gone |= _listed(headers)
    out: CIMultiDict[str] = CIMultiDict()
    for name, value in headers.items():
        lower = name.lower()
        if lower not in gone and not lower.startswith((OWN, CORS)):
            out.add(name, value)
    return out
