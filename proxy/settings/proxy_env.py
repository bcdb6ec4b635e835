"""HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY: which proxy the environment wants for an address.

As curl and the Python clients read them: lower case before upper case, ALL_PROXY where the scheme has none of its own,
and NO_PROXY as names (with everything below them), ports, networks and `*`. Loopback addresses never go through one.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

SCHEMES = ("http", "https", "socks5", "socks5h", "socks4", "socks4a")
"""What a proxy may speak."""

_PORTS = {"http": 80, "https": 443}


def from_environment(url: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """(proxy's address, name of the variable) for calls to `url`; None where they go directly. An address that is none
    is no proxy."""
    parts = urlsplit(url)
    host, port = (parts.hostname or "").lower().rstrip("."), parts.port or _PORTS.get(parts.scheme)
    if not host or _loopback(host) or excepted(host, port, _value("no_proxy", environ)[0]):
        return None
    for variable in (f"{parts.scheme}_proxy", "all_proxy"):
        value, name = _value(variable, environ)
        if value:
            address = value if "://" in value else f"http://{value}"
            return (address, name) if is_proxy(address) else None
    return None


def is_proxy(address: str) -> bool:
    """Can this be the address of a proxy?"""
    try:
        parts = urlsplit(address)
        return parts.scheme in SCHEMES and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def excepted(host: str, port: int | None, no_proxy: str) -> bool:
    """Does NO_PROXY name this host? Entries are parted by commas or blanks."""
    address = _address(host)
    for entry in no_proxy.lower().replace(",", " ").split():
        if entry == "*":
            return True
        name, wanted = _split(entry)
        if wanted is not None and wanted != port:
            continue
        if address is not None:
            if _within(address, name):
                return True
            continue
        name = name.removeprefix("*").lstrip(".").rstrip(".")
        if name and (host == name or host.endswith("." + name)):
            return True
    return False


def _value(variable: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """(value, name) of a variable in either case; a lower case one that is empty switches the other off."""
    for name in (variable, variable.upper()):
        if name in environ:
            return environ[name].strip(), name
    return "", ""


def _split(entry: str) -> tuple[str, int | None]:
    """(name, port) of an entry: host:8080, [::1]:8080, an IPv6 address without brackets has no port."""
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]")
        port = port.removeprefix(":")
    elif entry.count(":") == 1:
        name, _, port = entry.partition(":")
    else:
        name, port = entry, ""
    return name, int(port) if port.isdecimal() else None


def _within(address: IPv4Address | IPv6Address, name: str) -> bool:
    try:
        return address in ip_network(name, strict=False)
    except ValueError:
        return False


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _loopback(host: str) -> bool:
    address = _address(host)
    if address is not None:
        return address.is_loopback
    return host == "localhost" or host.endswith(".localhost")
