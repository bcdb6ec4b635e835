"""How a provider is reached: which certificates are trusted and shown, and through which proxy. Made once, at start."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..settings.proxy_env import from_environment

if TYPE_CHECKING:
    from ..settings.sections.provider import ProviderSettings


@dataclass(frozen=True, slots=True)
class Transport:
    """`tls`: True = the system's authorities, False = none is checked, or a context. `proxy`: the address of an HTTP
    proxy, `socks` of a SOCKS one. `said_by`: who named it, `proxy_url` or a variable of the environment."""

    tls: ssl.SSLContext | bool = True
    proxy: str | None = None
    socks: str | None = None
    said_by: str = ""

    @property
    def shown(self) -> str:
        """The proxy for people, without credentials; "" where there is none."""
        address = self.proxy or self.socks
        if address is None:
            return ""
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port is not None else ""
        return f"{parts.scheme}://{parts.hostname}{port} ({self.said_by})"


def transport_to(provider: ProviderSettings, environ: Mapping[str, str] | None = None) -> Transport:
    """The way to a provider. `environ`: where proxies may be named besides the config; None = nowhere. Raises OSError
    or ssl.SSLError where a file of certificates is not what it should be."""
    address, said_by = None, ""
    if provider.proxy_url is not None:
        address, said_by = provider.proxy_url.get_secret_value(), "proxy_url"
    elif environ is not None and (found := from_environment(provider.base_url, environ)) is not None:
        address, said_by = found
    if address is not None and address.lower().startswith("socks"):
        import_module("aiohttp_socks")  # now, and not while requests wait
        return Transport(_tls(provider), None, address, said_by)
    return Transport(_tls(provider), address, None, said_by)


def environment(proxy_env: bool) -> Mapping[str, str] | None:
    """The variables of this process, where they count."""
    return os.environ if proxy_env else None


def _tls(provider: ProviderSettings) -> ssl.SSLContext | bool:
    own = provider.client_cert is not None
    if not provider.verify_tls and not own:
        return False
    if provider.ca_file is None and not own:
        return True
    tls = ssl.create_default_context()
    if not provider.verify_tls:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    elif provider.ca_file is not None:
        tls.load_verify_locations(provider.ca_file)
    if provider.client_cert is not None:
        tls.load_cert_chain(provider.client_cert, provider.client_key)
    return tls
