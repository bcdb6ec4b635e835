"""The way out of this machine, for all providers together."""

from __future__ import annotations

from ..base import Section, field


class Network(Section):
    """What the environment says of proxies."""

    proxy_env: bool = field(
        True,
        "Providers go through the proxies that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name, upper or lower "
        "case, as other programs do; a provider's own proxy_url wins, loopback addresses never do.",
    )
