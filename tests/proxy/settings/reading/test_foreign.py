"""Config files of other programs are known as such."""

from __future__ import annotations

import pytest

from proxy.settings.reading.foreign import owner


@pytest.mark.parametrize(
    ("data", "whose"),
    [
        ({"model_list": [], "general_settings": {}}, "LiteLLM"),
        ({"litellm_settings": {}, "x": 1}, "LiteLLM"),
        ({"services": {}}, "Docker Compose"),
        ({"global": {}, "scrape_configs": []}, "Prometheus"),
        ({"theme": "dark", "plugins": []}, "another program"),
        ({"providers": {}}, None),
        ({"upstrem": "http://h", "rules": {}}, None),
        ({"baseURL": "x", "listen": {}}, None),
        ({"experimental": {"loop_streak_recovery": {}}}, None),
        ({"maxRetries": 3, "rules": []}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_owner(data: object, whose: str | None) -> None:
    assert owner(data) == whose
