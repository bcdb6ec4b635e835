"""Keys as people write them: what no provider would ever accept is a mistake, and is never shown."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from proxy.settings.load import Settings

GOOD = [
    "sk-abc",
    "sk-proj-A_b-9",
    "dummy",
    "a.b:c/d+e==",
    "AIza$x",
    "none-of-it",
    "KEY",
    "ABC_KEYS",
    "sk-...",
    "changeme",
    "bearer",
    "x" * 4000,
    "sk-'quoted'-in",
]
BAD = ["sk-abc\n", " sk-abc", "sk-abc ", "sk abc", "\tsk", "sk\r\nx", '"sk-abc"', "'sk-abc'", "`sk`", "Bearer sk-abc",
       "bearer sk-abc", "Authorization: Bearer sk", "Token abc", "${OPENAI_API_KEY}", "$OPENAI_API_KEY", "$(cat key)",
       "{{ key }}", "%OPENAI_API_KEY%", "os.environ/OPENAI_API_KEY", "process.env.KEY", "<your key>", "sk-…",
       "OPENAI_API_KEY", "YOUR_API_KEY", "OPENAI_API_KEY=sk-abc", "HF_TOKEN",
       "schlüssel",       "sk\x00x", "\u200bsk"]  # fmt: skip


def settings(where: str, key: str) -> Settings:
    provider = {"base_url": "https://h/v1"} | ({"api_key": key} if where == "api_key" else {})
    auth = {} if where == "api_key" else {where: [key] if where == "keys" else key}
    return Settings.model_validate({"providers": {"a": provider}, "auth": auth})


@pytest.mark.parametrize("where", ["api_key", "keys", "metrics_key"])
@pytest.mark.parametrize("key", BAD)
def test_what_is_no_key(where: str, key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        settings(where, key)
    told = str(caught.value)
    assert "sk-abc" not in told and "OPENAI" not in told


@pytest.mark.parametrize("where", ["api_key", "keys", "metrics_key"])
@pytest.mark.parametrize("key", GOOD)
def test_what_is_one(where: str, key: str) -> None:
    settings(where, key)


def test_no_key_at_all() -> None:
    assert settings("api_key", "").providers["a"].api_key is None, "an empty variable: the client's own passes"
    with pytest.raises(ValidationError, match="a key is empty"):
        settings("keys", "")
