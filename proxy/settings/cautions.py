"""What is allowed in a config and still worth a word: each caution says what may happen and how to avoid it."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from .whole import Settings


def cautions(settings: Settings) -> Iterator[str]:
    """One sentence for each risk that this config takes. No values that could be secret."""
    exposed = not _loopback(settings.listen.host)
    with_key = [name for name, provider in settings.providers.items() if provider.api_key is not None]
    if exposed and with_key and not settings.auth.keys:
        yield (
            f"listen.host {settings.listen.host} is open to the network and {', '.join(with_key)} has an api_key: "
            "anyone who reaches the port spends it; set auth.keys"
        )
    shown_at = settings.ops.host if settings.ops is not None else settings.listen.host
    if settings.privacy.show_excerpts and not _loopback(shown_at):
        yield f"privacy.show_excerpts: whoever reaches {shown_at} reads text of answers on /-/; move ops to a loopback"
    if "*" in settings.listen.origins or "null" in settings.listen.origins:
        word = "*" if "*" in settings.listen.origins else "null"
        spends = f" and spend the api_key of {', '.join(with_key)}" if with_key and not settings.auth.keys else ""
        yield f'listen.origins "{word}": any web page that you open may call this proxy{spends}; name the pages instead'
    if "*" in settings.listen.hosts:
        yield 'listen.hosts "*": a web page that points its own name here (DNS rebinding) reads answers; name the hosts'
    for name, provider in settings.providers.items():
        parts = urlsplit(provider.base_url)
        if parts.scheme == "http" and provider.api_key is not None and not _loopback(parts.hostname or ""):
            yield f"providers.{name}: the api_key travels unencrypted (http://)"
        if not provider.verify_tls:
            yield f"providers.{name}: verify_tls is off, anyone in between can read and change everything"
    if settings.workers > 1 and settings.state.kind == "memory":
        yield (
            f"workers is {settings.workers} and state is memory: each worker keeps accounts of its own, "
            "so a request may be retried more often than its budget says; use state: redis://…"
        )
    if len(settings.providers) > 1 and settings.default_provider is None:
        yield "no default_provider: requests to /v1/… that no route takes are answered with 404"


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
