"""How a provider is reached: whose certificates are believed, and through which HTTP proxy. Made once, at start."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .settings.provider import Provider


@dataclass(frozen=True, slots=True)
class Way:
    """`tls`: True = the system's authorities, False = none is checked, or a context. `proxy`: its address."""

    tls: ssl.SSLContext | bool = True
    proxy: str | None = None


def way(provider: Provider) -> Way:
    """The way to a provider. Raises OSError or ssl.SSLError where ca_file is not what it should be."""
    tls: ssl.SSLContext | bool = provider.verify_tls
    if provider.ca_file is not None and tls:
        tls = ssl.create_default_context()
        tls.load_verify_locations(provider.ca_file)
    proxy = provider.proxy_url.get_secret_value() if provider.proxy_url is not None else None
    return Way(tls, proxy)
