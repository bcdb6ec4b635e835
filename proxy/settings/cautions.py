"""Warnings about settings that are allowed but risky. Each says what may happen and how to avoid it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from rules import BUDGETS, BudgetOverrides, Budgets

from .sections.provider import ProviderSettings
from .service.auth import CREDENTIALS
from .service.doors import PRIVATE, loopback
from .whole import Settings

SHORT = 16
"""Characters below which a key is no secret to somebody who may try as often as he likes."""


def cautions(settings: Settings) -> Iterator[str]:
    """One sentence for each risk that this config takes. No values that could be secret."""
    yield from _who_may(settings)
    yield from _pages(settings)
    yield from _providers(settings)
    yield from _counts(settings)
    if settings.workers > 1 and settings.state.kind == "memory":
        yield (
            f"workers is {settings.workers} and state is memory: each worker keeps accounts of its own, "
            "so a request may be retried more often than its budget says; use state: redis://…"
        )
    if any(over.action == "retry" for over in settings.rules.change.values()) or any(
        rule.get("action") == "retry" for rule in settings.rules.add
    ):
        yield (
            "rules: action retry is a cut now, and its loops are healed as with heal: auto where a provider has no "
            "heal of its own; write action: cut and providers.NAME.heal (docs/heal.md)"
        )
    if len(settings.providers) > 1 and settings.default_provider is None:
        yield "no default_provider: requests to /v1/… that no route takes are answered with 404"


def _counts(settings: Settings) -> Iterator[str]:
    """Numbers of retries that no budget reads, because it is persistent."""
    for name, provider in settings.providers.items():
        written = [BudgetOverrides.model_validate(layer.written) for layer in (settings.retry, provider.retry)]
        merged = Budgets.merge(*written)
        for budget in BUDGETS:
            layers = [over for layer in written if (over := getattr(layer, budget)) is not None]
            if merged.named(budget).mode == "persistent" and any(over.max_retries is not None for over in layers):
                yield (
                    f"retry.{budget}.max_retries has no effect on {name}: this budget is persistent, which retries "
                    "for as long as the client waits; write mode: bounded beside it"
                )


def _who_may(settings: Settings) -> Iterator[str]:
    """Who can reach the port, and what they can do there."""
    listen, auth = settings.listen, settings.auth
    exposed = not loopback(listen.host)
    with_key = [name for name, provider in settings.providers.items() if _pays(provider)]
    if exposed and with_key and not auth.keys:
        yield (
            f"listen.host {listen.host} is open to the network and {', '.join(with_key)} has an api_key: "
            "anyone who reaches the port spends it; set auth.keys"
        )
    if exposed and any(len(key.get_secret_value()) < SHORT for key in auth.keys):
        yield (
            f"auth.keys: a key of fewer than {SHORT} characters can be guessed by whoever reaches {listen.host}; "
            "make one with: openssl rand -hex 24"
        )
    theirs = {
        provider.api_key.get_secret_value(): name for name, provider in settings.providers.items() if provider.api_key
    }
    for key in auth.keys:
        if (name := theirs.get(key.get_secret_value())) is not None:
            yield f"auth.keys holds the api_key of {name}: every client then knows it; give clients a key of their own"
    if "*" in listen.origins or "null" in listen.origins:
        word = "*" if "*" in listen.origins else "null"
        spends = f" and spend the api_key of {', '.join(with_key)}" if with_key and not auth.keys else ""
        yield f'listen.origins "{word}": any web page that you open may call this proxy{spends}; name the pages instead'
    for origin in listen.origins:
        host = urlsplit(origin.replace("*", "x")).hostname or ""
        if origin.startswith("http://") and host and not loopback(host) and with_key and not auth.keys:
            yield (
                f"listen.origins {origin}: whoever is on the way to that page can change it and spend the api_key of "
                f"{', '.join(with_key)}; use https:// or set auth.keys"
            )
    if "*" in listen.hosts:
        yield 'listen.hosts "*": a web page that points its own name here (DNS rebinding) reads answers; name the hosts'


def _pages(settings: Settings) -> Iterator[str]:
    """What our own pages show, and to whom."""
    auth, shown_at = settings.auth, settings.ops.host if settings.ops is not None else settings.listen.host
    if settings.privacy.show_excerpts and not loopback(shown_at) and ("page" in auth.open or not auth.keys):
        yield (
            f"privacy.show_excerpts: whoever reaches {shown_at} reads text of answers on /-/; "
            "move ops to a loopback or let auth.keys cover the page"
        )
    if auth.metrics_key is not None and "metrics" in auth.open:
        yield "auth.open has metrics: nobody is asked for auth.metrics_key"
    if auth.open and not auth.keys:
        yield "auth.open: without auth.keys everything is open anyway"
    if auth.metrics_key is not None and auth.metrics_key in auth.keys:
        yield "auth.metrics_key is one of auth.keys: the scraper can then ask every provider"


def _providers(settings: Settings) -> Iterator[str]:
    """How providers are reached, and whether they get a key at all."""
    for name, provider in settings.providers.items():
        parts = urlsplit(provider.base_url)
        host = parts.hostname or ""
        if parts.scheme == "http" and not loopback(host):
            if provider.api_key is not None:
                yield f"providers.{name}: the api_key travels unencrypted (http://)"
            elif _public(host):
                yield f"providers.{name}: {host} is on the internet and http:// encrypts nothing: write https://"
        if parts.scheme == "https" and loopback(host):
            yield (
                f"providers.{name}: https:// to this machine itself: most local servers speak http:// only "
                "(streamfuse check --probe tells)"
            )
        if (parts.scheme, parts.port) in (("https", 80), ("http", 443)):
            yield f"providers.{name}: port {parts.port} is not the port of {parts.scheme}://; leave it out, or check it"
        if _FILL_IN.search(host):
            yield f"providers.{name}: {host} looks like a placeholder that nobody filled in"
        if (right := _WEBSITES.get(host)) is not None:
            yield f"providers.{name}: {host} is a website for people; the API is at {right}"
        if provider.api_key is not None and _public(host) and _EXAMPLE.search(provider.api_key.get_secret_value()):
            yield f"providers.{name}: the api_key looks like an example or a masked key, not like a key of your own"
        if settings.auth.keys and not _pays(provider):
            yield (
                f"providers.{name} has no api_key, and auth.keys is set: the one key that a client sends is ours and "
                "is taken off, so this provider gets none; give it an api_key (or let clients send both, ours in "
                "x-api-key and the provider's in Authorization)"
            )
        for other in provider.fallback:
            there = settings.providers[other.provider or name]
            if other.model is None and there is provider:
                yield f"providers.{name}.fallback: the same provider and the same model are no fallback; it is left out"
            if not _pays(there) and urlsplit(there.base_url).netloc != parts.netloc:
                yield (
                    f"providers.{name}.fallback: {other.provider} has no api_key, and the client's credential does not "
                    "go to another host: it is asked without any"
                )
        if provider.breaker.failures == 1:
            yield f"providers.{name}: one failure opens the breaker; a single fault then fails everybody's requests"
        if not provider.verify_tls:
            yield f"providers.{name}: verify_tls is off, anyone in between can read and change everything"


_FILL_IN = re.compile(r"(^|\.)(your-(resource|endpoint|host|domain|company|org)|example)\b[^/]*\.", re.IGNORECASE)
_WEBSITES = {
    "platform.openai.com": "https://api.openai.com/v1",
    "chatgpt.com": "https://api.openai.com/v1",
    "console.anthropic.com": "https://api.anthropic.com",
    "platform.claude.com": "https://api.anthropic.com",
    "claude.ai": "https://api.anthropic.com",
    "aistudio.google.com": "https://generativelanguage.googleapis.com",
    "platform.deepseek.com": "https://api.deepseek.com/v1",
    "console.groq.com": "https://api.groq.com/openai/v1",
    "console.mistral.ai": "https://api.mistral.ai/v1",
}
"""Where people get their keys, and where programs ask."""
_EXAMPLE = re.compile(
    r"\.\.\.|\*{3}|x{6}|your[-_]?(api[-_]?)?key|change[-_]?me|replace[-_]?me|placeholder", re.IGNORECASE
)


def _public(host: str) -> bool:
    """Is this a host that one reaches over the internet?"""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(PRIVATE)


def _pays(provider: ProviderSettings) -> bool:
    """Does a request to it cost without the client's own credential?"""
    names = {name.lower() for name in provider.headers}
    return provider.api_key is not None or bool(names & set(CREDENTIALS)) or "key=" in provider.base_url
