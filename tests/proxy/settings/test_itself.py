"""A provider whose address is one that we listen on, seen before anything is asked."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from proxy.settings.itself import itself
from proxy.settings.load import Settings


def found(base: str, names: dict[str, str] | None = None, **more: Any) -> list[str]:
    tree = {"providers": {"a": {"base_url": base}}, **more}
    look = lambda name: [ip_address(names[name])] if names and name in names else []  # noqa: E731
    return [name for name, _ in itself(Settings.model_validate(tree), look)]


@pytest.mark.parametrize(
    ("base", "listen"),
    [
        ("http://127.0.0.1:8787/v1", {}),
        ("http://localhost:8787", {}),
        ("http://LOCALHOST.:8787/v1", {}),
        ("http://0.0.0.0:8787/v1", {}),
        ("http://[::ffff:127.0.0.1]:8787/v1", {}),
        ("https://127.0.0.1:8787/v1", {}),
        ("http://127.0.0.1:8787/a/v1", {}),
        ("http://127.0.0.1:9000/v1", {"port": 9000}),
        ("http://127.0.0.1/v1", {"port": 80}),
        ("https://localhost/v1", {"port": 443}),
        ("http://127.0.0.1:8787/v1", {"host": "0.0.0.0"}),
        ("http://127.0.0.1:8787/v1", {"host": "localhost"}),
        ("http://[::1]:8787/v1", {"host": "::1"}),
        ("http://[::1]:8787/v1", {"host": "::"}),
        ("http://127.0.0.1:8787/v1", {"host": "::"}),
    ],
)
def test_our_own_address(base: str, listen: dict[str, Any]) -> None:
    assert found(base, listen=listen) == ["a"]


@pytest.mark.parametrize(
    ("base", "listen"),
    [
        ("http://127.0.0.1:8080/v1", {}),
        ("http://127.0.0.2:8787/v1", {}),
        ("https://api.openai.com/v1", {}),
        ("http://192.0.2.1:8787/v1", {"host": "0.0.0.0"}),
        ("http://[::1]:8787/v1", {}),
        ("http://[::1]:8787/v1", {"host": "0.0.0.0"}),
        ("http://127.0.0.1:8787/v1", {"host": "192.0.2.1"}),
        ("http://streamfuse:8787/v1", {}),
        ("http://127.0.0.1:8787/v1", {"port": 0}),
    ],
)
def test_somebody_else_s(base: str, listen: dict[str, Any]) -> None:
    assert found(base, listen=listen) == []


def test_a_name_that_leads_here() -> None:
    names = {"streamfuse": "127.0.0.1", "llm": "192.0.2.7"}
    assert found("http://streamfuse:8787/v1", names, listen={"host": "0.0.0.0"}) == ["a"]
    assert found("http://streamfuse:8787/v1", names) == ["a"]
    assert found("http://llm:8787/v1", names, listen={"host": "0.0.0.0"}) == []
    assert found("http://llm:8787/v1", names, listen={"host": "llm"}) == ["a"]


def test_the_second_port_and_a_way_through_another_proxy() -> None:
    assert found("http://127.0.0.1:8788/v1", ops={}) == ["a"]
    through = {"providers": {"a": {"base_url": "http://127.0.0.1:8787/v1", "proxy_url": "http://h:3128"}}}
    assert list(itself(Settings.model_validate(through), lambda _: [])) == []
