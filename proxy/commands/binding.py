"""What binds for each provider, as tables: where it is, whose key it gets, its budgets, timers and rules."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rules import BUDGETS, Action, HealStyle, Mode

from ..settings.base import duration
from ..settings.engine import Engine, engine
from ..settings.load import Settings
from ..settings.sections.provider import ProviderSettings
from ..upstream.transport import environment, transport_to


def show(settings: Settings, out: Console) -> None:
    """Print it. Never a key, nor an address with one."""
    for name, provider in settings.providers.items():
        binds = engine(settings, name)
        default = " (default)" if name == settings.default_provider else ""
        out.print(Text.assemble((name, "bold"), default, "  ", provider.address))
        key = f"api_key in {provider.key_header.value}" if provider.api_key is not None else "the client's own"
        out.print(
            f"  key: {key} · mode: {binds.mode.value} · resume: {provider.resume.value} · fail: {provider.fail.value}"
        )
        if shown := transport_to(provider, environment(settings.network.proxy_env)).shown:
            out.print(Text(f"  proxy: {shown}"))
        out.print(f"  heal: {_heal(provider.heal, binds)}")
        out.print(f"  wires: {', '.join(provider.wires)}")
        for line in _care(provider):
            out.print(Text(f"  {line}"))
        out.print(f"  timers: {_timers(binds)}")
        out.print(f"  rules: {_rules(binds)}")
        out.print(_budgets(binds))
    for route in settings.routes:
        out.print(Text(f"model {route.model} → {route.provider}"))


def _heal(written: HealStyle | None, binds: Engine) -> str:
    """What is done for an answer that was cut as a loop, and by what is known of the provider."""
    takes = binds.takes
    style = written or (HealStyle.THINKING if takes.safe else HealStyle.NONE)
    known = f"known as {takes.name}" if takes.name else "provider not known"
    ways = [f"ends thinking by {takes.thinking}"] if takes.thinking else []
    ways += [f"continues by {takes.prefill}"] if takes.prefill else []
    asks = " · rules with action retry: auto" if written is None and _retries(binds) else ""
    return f"{style.value} ({', '.join([known, *ways])}){asks}"


def _retries(binds: Engine) -> bool:
    return any(rule.action is Action.RETRY for rule in binds.rules)


def _care(provider: ProviderSettings) -> Iterator[str]:
    """What protects it, where something does."""
    limit, breaker = provider.concurrency, provider.breaker
    if limit.limit:
        most = f"at most {limit.limit}, fewer after a 429" if limit.adaptive else f"at most {limit.limit}"
        yield f"calls at once: {most}; {limit.queue} more wait up to {duration(limit.wait)}"
    if breaker.failures:
        yield f"breaker: after {breaker.failures} failures in a row; a probe each {duration(breaker.pause)}"
    if provider.fallback:
        named = (f"{other.provider or 'the same'} ({other.model or 'same model'})" for other in provider.fallback)
        yield f"falls back to: {', '.join(named)}"


def _rules(binds: Engine) -> str:
    said = (rule.name if rule.mode is Mode.ON else f"{rule.name} ({rule.mode.value})" for rule in binds.rules)
    return ", ".join(said) or "none"


def _timers(binds: Engine) -> str:
    timers = binds.timeouts.model_dump()
    characters = timers.pop("slow_characters")
    said = " · ".join(f"{name} {_time(value)}" for name, value in timers.items())
    return said if binds.timeouts.slow is None else f"{said} for {characters} characters"


def _time(value: float | None) -> str:
    return "none" if value is None else duration(value)


def _budgets(binds: Engine) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for column in ("budget", "mode", "retries", "deadline", "waits", "jitter"):
        table.add_column(column)
    for name in BUDGETS:
        budget = binds.budgets.named(name)
        retries = "no limit" if budget.max_retries is None else str(budget.max_retries)
        waits = f"{_time(budget.initial_delay)} … {_time(budget.max_delay)}"
        written = "*" if name in binds.budgets.explicit else ""
        table.add_row(name + written, budget.mode, retries, _time(budget.deadline), waits, f"{budget.jitter_ratio:g}")
    return table
