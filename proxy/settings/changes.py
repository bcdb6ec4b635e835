"""Compares a new config with the present one: which changes can be made while the process runs, and which need a
restart. It is pure: two configs go in, and the config to use comes out. Names of fields only, never a value.
"""

from __future__ import annotations

from dataclasses import dataclass

from .whole import Settings

FIXED = (
    ("listen", "host"),
    ("listen", "port"),
    ("ops", ""),
    ("workers", ""),
    ("loop", ""),
    ("state", ""),
    ("telemetry", ""),
    ("limits", "headers"),
)
"""(section, field) of what is decided when the process starts: sockets, processes, the event loop, the shared state."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a newly read config means for a running process."""

    settings: Settings
    """To serve by: the new one, with the old values of what cannot change."""
    changed: tuple[str, ...]
    """What is taken: sections, and providers by name (`providers.openai`)."""
    restart: tuple[str, ...]
    """Changed fields that need a restart (`listen.port`)."""


def changes(old: Settings, new: Settings) -> Changes:
    """Compare them."""
    restart: list[str] = []
    for section, name in FIXED:
        before, after = getattr(old, section), getattr(new, section)
        if name:
            before, after = getattr(before, name), getattr(after, name)
        if before != after:
            restart.append(f"{section}.{name}" if name else section)
            new = _with(new, section, name, before)
    if new.listen.origins and not old.listen.origins:
        # Without any origin the server never looks for one: it has no hook that would.
        restart.append("listen.origins")
        new = _with(new, "listen", "origins", old.listen.origins)
    return Changes(new, tuple(_changed(old, new)), tuple(restart))


def _changed(old: Settings, new: Settings) -> list[str]:
    out: list[str] = []
    for name in Settings.model_fields:
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if name != "providers":
            out.append(name)
            continue
        names = dict.fromkeys([*before, *after])
        out += [f"providers.{one}" for one in names if before.get(one) != after.get(one)]
    return out


def _with(settings: Settings, section: str, name: str, value: object) -> Settings:
    if not name:
        return settings.model_copy(update={section: value})
    part = getattr(settings, section)
    return settings.model_copy(update={section: part.model_copy(update={name: value})})
