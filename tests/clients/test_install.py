"""A client that cannot be had is skipped with its reason, and only then; one that is there is left alone."""

import json

import pytest

from . import install
from .install import KITS, Kit, home, missing


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(install, "CACHE", tmp_path)
    monkeypatch.setattr(install, "NODE", tmp_path / "node/bin/node")
    install.NODE.parent.mkdir(parents=True)
    install.NODE.write_text("")
    return tmp_path


def put(name, package, version, done=True):
    folder = home(name) / "node_modules" / package
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"version": version}))
    if done:
        (home(name) / "DONE").write_text("")


def test_what_is_not_there_says_how_to_get_it():
    assert missing("pi") == "pi is not installed: python -m tests.clients.install pi"


def test_what_is_there_in_the_right_version_is_not_missing():
    put("codex", "@openai/codex", "0.171.0")
    assert missing("codex") is None


@pytest.mark.parametrize(("version", "done"), [("0.170.0", True), ("0.171.0", False)], ids=["old", "half done"])
def test_another_version_or_half_an_installation_is_missing(version, done):
    put("codex", "@openai/codex", version, done)
    assert missing("codex")


def test_without_node_nothing_from_npm_is_there():
    put("codex", "@openai/codex", "0.171.0")
    install.NODE.unlink()
    assert missing("codex")


def test_the_reason_of_a_failure_is_kept_and_the_others_go_on(monkeypatch, capsys):
    def broken(argv, cwd):
        raise RuntimeError("npm install …: no such package")

    monkeypatch.setattr(install, "_run", broken)
    monkeypatch.setattr(install, "KITS", {"one": Kit(npm=("gone@1.0.0",)), "two": Kit(npm=("lost@2.0.0",))})
    assert install.main([]) == 0
    out = capsys.readouterr().out
    assert "one could not be installed: npm install …: no such package" in out
    assert "two could not be installed" in out
    assert missing("one") == "one could not be installed: npm install …: no such package"


def test_every_version_is_pinned():
    for kit in KITS.values():
        assert all("==" in package for package in kit.pip)
        assert all(package.rpartition("@")[2][0].isdigit() for package in kit.npm)
