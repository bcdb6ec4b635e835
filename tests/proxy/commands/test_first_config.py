"""`streamfuse init`: what it writes is a config that streamfuse takes, and it neither leaks nor overwrites."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from proxy.commands.cli import app
from proxy.commands.first_config import PROVIDERS, Answers, Callers, NotPossible, text, write
from proxy.settings.load import load

ENVIRONMENT = {name: "sk-abcdef0123456789" for _, name in PROVIDERS.values() if name} | {
    "FUSE_KEY": "fuse-abcdef0123456789",
    "MY_KEY": "sk-abcdef0123456789",
}


@pytest.mark.parametrize("callers", Callers)
@pytest.mark.parametrize("provider", [*PROVIDERS, "https://llm.example.com/v1/"])
def test_what_it_writes_is_a_config_that_is_taken(provider: str, callers: Callers, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    key = PROVIDERS.get(provider, ("", "MY_KEY"))[1]
    write(Answers(provider, key, callers), file)
    settings = load(file, environ=ENVIRONMENT)
    (found,) = settings.providers.values()
    assert found.base_url == PROVIDERS.get(provider, ("https://llm.example.com/v1", ""))[0]
    assert (found.api_key is None) == (not key)
    assert (settings.listen.host, bool(settings.auth.keys)) == (
        ("127.0.0.1", False) if callers is Callers.ME else ("0.0.0.0", True)
    )


def test_without_a_key_the_clients_own_passes(tmp_path: Path) -> None:
    write(Answers("openai", "", Callers.ME), tmp_path / "c.yaml")
    assert load(tmp_path / "c.yaml", environ={}).providers["openai"].api_key is None


@pytest.mark.parametrize(("key", "mode"), [("sk-abcdef0123456789", 0o600), ("MY_KEY", 0o644), ("${MY_KEY}", 0o644)])
def test_only_its_owner_reads_a_file_that_holds_a_key(key: str, mode: int, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    write(Answers("openai", key, Callers.ME), file)
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == (0 if mode == 0o600 else file.stat().st_mode & 0o077)
    held = load(file, environ=ENVIRONMENT).providers["openai"].api_key
    assert held is not None and held.get_secret_value() == "sk-abcdef0123456789"


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (Answers("opneai", "", Callers.ME), "neither openai"),
        (Answers("openai", "two words", Callers.ME), "no white space"),
        (Answers("openai", "", Callers.NETWORK), "--key"),
    ],
)
def test_what_makes_no_config_is_told(answers: Answers, says: str) -> None:
    with pytest.raises(NotPossible, match=says):
        text(answers)


def test_a_file_that_is_there_stays_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("mine")
    run = CliRunner()
    assert run.invoke(app, ["init", str(file), "--yes"]).exit_code == 2 and file.read_text() == "mine"
    done = run.invoke(app, ["init", str(file), "--yes", "--force"])
    assert done.exit_code == 0 and "default_provider: openai" in file.read_text()


def test_nobody_is_asked_where_nobody_is(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["init", str(tmp_path / "c.yaml")])
    assert done.exit_code == 2 and not (tmp_path / "c.yaml").exists()
