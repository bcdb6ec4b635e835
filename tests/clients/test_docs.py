"""docs/clients.md shows the settings that the tests really use, for the versions that they really run."""

import re
from pathlib import Path

import pytest

from .agents import AGENTS, Room
from .install import KITS

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs/clients.md").read_text()
README = (ROOT / "README.md").read_text()
TITLES = {
    "opencode": "OpenCode",
    "codex": "Codex CLI",
    "claude": "Claude Code",
    "qwen": "Qwen Code",
    "cline": "Cline CLI",
    "pi": "pi",
    "aider": "aider",
}
SETTINGS = (
    r"[A-Z]+_[A-Z_]+=http\S+",
    r"http://\S+?(?=[\"\s,]|$)",
    r"--auth-type \w+",
    r"wire_api = \S+",
    r"\"(?:api|npm)\": \S+(?=,)",
    r"-[a-z] openai",
)
"""What in a documented block is a setting that must be right."""


def section(name):
    return re.search(rf"^## {TITLES[name]} (\S+)\n(.*?)(?=^## )", DOCS, flags=re.M | re.S)


@pytest.mark.parametrize("name", AGENTS)
def test_the_version_is_the_one_that_is_tested(name):
    kit = KITS[name]
    (package,) = kit.npm + kit.pip
    assert package.endswith(section(name)[1])


@pytest.mark.parametrize("name", AGENTS)
def test_the_settings_are_the_ones_that_are_tested(name, tmp_path):
    room = Room(tmp_path, tmp_path, "http://127.0.0.1:8787", "hello")
    starts = [AGENTS[name].start(room), *([before(room)] if (before := AGENTS[name].before) else [])]
    used = " ".join(
        [word for start in starts for word in start.argv] + [f"{k}={v}" for s in starts for k, v in s.env.items()]
    )
    used += " ".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    documented = re.findall(r"```\w+\n(.*?)```", section(name)[2], flags=re.S)[0]
    # Every word of the documented block that holds a setting must occur in what the test starts.
    words = re.findall("|".join(SETTINGS), documented)
    assert words
    for word in words:
        assert word in used, word


@pytest.mark.parametrize("name", AGENTS)
def test_the_readme_names_it(name):
    assert f"**{TITLES[name].removesuffix(' CLI')}" in README
