"""Addresses and headers of providers."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from proxy.settings.load import Settings
from proxy.settings.sections.provider import ProviderSettings


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        (" http://127.0.0.1:8080 ", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("https://x.openai.azure.com/openai?api-version=1", "https://x.openai.azure.com/openai?api-version=1"),
    ],
)
def test_addresses(written, kept):
    assert ProviderSettings(base_url=written).base_url == kept


@pytest.mark.parametrize(
    "written",
    ["", "api.openai.com", "ftp://h", "file:///etc/passwd", "http://", "http://u:p@h", "http://h:port", "http://h#x",
     "http://[::1", "http://h:0", "https://https://h/v1", "https://h\u200b/v1", "https://h/\u202ev1", "https://h/v1/../x",
     "https://h/v1/%2e%2e", "javascript:alert(1)", 5, None, ["http://h"]],
)  # fmt: skip
def test_what_is_no_address(written):
    with pytest.raises(ValidationError):
        ProviderSettings(base_url=written)


ENDPOINTS = [
    ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"),
    ("https://api.openai.com/v1/chat/completions/", "https://api.openai.com/v1"),
    ("https://api.openai.com/v1/Chat/Completions//", "https://api.openai.com/v1"),
    ("https://api.openai.com/v1/completions", "https://api.openai.com/v1"),
    ("https://api.openai.com/v1/responses", "https://api.openai.com/v1"),
    ("https://api.openai.com/v1/embeddings", "https://api.openai.com/v1"),
    ("https://api.openai.com/v1/models", "https://api.openai.com/v1"),
    ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
    ("https://api.anthropic.com/v1/messages/count_tokens", "https://api.anthropic.com/v1"),
    ("http://127.0.0.1:8080/chat/completions", "http://127.0.0.1:8080"),
    ("http://127.0.0.1:11434/api/chat", "http://127.0.0.1:11434"),
    ("http://127.0.0.1:11434/api/generate/", "http://127.0.0.1:11434"),
    ("https://api.cohere.com/v2/rerank", "https://api.cohere.com/v2"),
    ("https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent",
     "https://generativelanguage.googleapis.com/v1beta"),
    ("https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse",
     "https://generativelanguage.googleapis.com/v1beta (with its ?query)"),
    ("https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1&key=sk-secret",
     "https://x.openai.azure.com/openai/deployments/d (with its ?query)"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "instead"), ENDPOINTS)
def test_an_endpoint_is_no_base_address(written, instead):
    with pytest.raises(ValidationError) as caught:
        ProviderSettings(base_url=written)
    assert f"write the one before it: {instead}" in caught.value.errors()[0]["msg"]
    assert "sk-secret" not in caught.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    "written",
    ["https://router.huggingface.co/hf-inference/models", "https://gateway.ai.cloudflare.com/v1/a/b/compat",
     "https://h/mymessages", "https://h/completions/v1", "https://h/v1/responses2",
     "http://127.0.0.1:11434/api", "http://h/api/chatty", "https://h/models/x"],
)  # fmt: skip
def test_addresses_that_only_look_like_one(written):
    assert ProviderSettings(base_url=written).base_url == written


@pytest.mark.parametrize(
    "written", ["http://${HOST}/v1", "https://<resource>.openai.azure.com", "http://h/v 1", "http://$HOST:1"]
)
def test_placeholders(written):
    with pytest.raises(ValidationError):
        ProviderSettings(base_url=written)


@pytest.mark.parametrize(
    "headers",
    [{"": "x"}, {"a\nb": "x"}, {"a": "x\r\nEvil: 1"}, {"é": "x"}, {"X A": "x"},
     {"X:": "x"}, {"Content-Length": "5"}, {"transfer-encoding": "chunked"}, {"Connection": "x-a"}],
)  # fmt: skip
def test_headers_that_would_break_a_request(headers):
    with pytest.raises(ValidationError):
        ProviderSettings(base_url="http://h", headers=headers)


@pytest.mark.parametrize("name", ["v1", "healthz", "metrics", "a/b", "-", "", "a b", ".."])
def test_names_that_cannot_be_a_path(name):
    with pytest.raises(ValidationError):
        Settings.model_validate({"providers": {name: {"base_url": "http://h"}}})


def test_nothing_can_be_changed_afterwards():
    with pytest.raises(ValidationError):
        ProviderSettings(base_url="http://h").base_url = "http://i"  # type: ignore[misc]
