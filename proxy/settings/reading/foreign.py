"""Recognises configs of other programs, because many programs call theirs config.yaml."""

from __future__ import annotations

from typing import Any

from ..whole import Settings
from .names import field_of

_BY_KEY = {
    "model_list": "LiteLLM",
    "litellm_settings": "LiteLLM",
    "general_settings": "LiteLLM",
    "services": "Docker Compose",
    "scrape_configs": "Prometheus",
    "static_resources": "Envoy",
    "_format_version": "Kong",
    "apiVersion": "Kubernetes",
    "entryPoints": "Traefik",
    "default_pipeline": "a Hugging Face pipeline",
}


def owner(data: Any) -> str | None:
    """The program that a mapping looks like the config of, "another program" where that is all that can be said, None
    where at least one key is ours (or it holds nothing)."""
    if not isinstance(data, dict) or not data:
        return None
    if any(field_of(str(name), Settings)[0] is not None for name in data) or "experimental" in data:
        return None
    return next((_BY_KEY[name] for name in data if name in _BY_KEY), "another program")
