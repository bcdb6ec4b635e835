"""Finds providers that are this proxy itself: their address is one that we listen on.

A request to such a provider would come back as a new one, and that as the next, without end. Names are looked up only
where the port is ours; what cannot be seen from here (a published port, a load balancer, two proxies that name each
other) is found at the first request, by `ring`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias
from urllib.parse import urlsplit

from .whole import Settings

Address: TypeAlias = IPv4Address | IPv6Address
Lookup: TypeAlias = Callable[[str], Iterable[Address]]


def itself(settings: Settings, lookup: Lookup | None = None) -> Iterator[tuple[str, str]]:
    """(provider's name, the address we listen on) of each provider that leads back here.

    `lookup`: the addresses of a name, [] where there are none; None asks the system.
    """
    look = lookup or _lookup
    ours = [(settings.listen.host, settings.listen.port)]
    if settings.ops is not None:
        ours.append((settings.ops.host, settings.ops.port))
    for name, provider in settings.providers.items():
        parts = urlsplit(provider.base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if provider.proxy_url is not None or not parts.hostname:
            continue
        for host, listening in ours:
            if port == listening and any(_reaches(one, host, look) for one in _addresses(parts.hostname, look)):
                yield name, f"{host}:{listening}"
                break


def _reaches(there: Address, bound: str, look: Lookup) -> bool:
    """Does a connection to `there` come to who listens on `bound`?"""
    if there.is_unspecified:
        there = ip_address("127.0.0.1" if there.version == 4 else "::1")
    for here in _addresses(bound, look):
        if there == here:
            return True
        if here.is_unspecified and (here.version == 6 or there.version == 4) and _local(there):
            return True
    return False


def _addresses(host: str, look: Lookup) -> Iterable[Address]:
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return (ip_address("127.0.0.1"), ip_address("::1"))
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:
        return look(host)
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found,)


def _lookup(name: str) -> Iterable[Address]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return {ip_address(str(one[4][0]).partition("%")[0]) for one in found}


def _local(address: Address) -> bool:
    """Is this an address of this machine? One can listen only on such."""
    if address.is_loopback:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
