"""The README promises only commands, files and numbers that are there."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.findall(r"^([a-z-]+):.*##", MAKEFILE, flags=re.M)


def test_every_make_target_it_names_exists():
    named = set(re.findall(r"\bmake ([a-z-]+)", README))
    assert named
    assert named <= set(TARGETS)


def test_every_file_it_links_to_exists():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "UPSTREAM=http://up/v1"], 'serve --upstream "http://up/v1"'),
        (["demo"], "streamfuse demo"),
        (["test", "ARGS=-k cut"], "-m pytest -n auto --dist worksteal -k cut"),
        (["test-clients"], "-m agents"),
        (["real"], "tests.clients.real"),
    ],
)
def test_make_would_do_what_it_says(arguments, expected):
    told = subprocess.run(["make", "-n", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    assert expected in told.stdout


def test_ci_runs_all_of_it():
    ci = (ROOT / ".ci/run").read_text()
    positions = [ci.index(f"\nmake {target}\n") for target in ("test", "lint", "test-clients")]
    assert positions == sorted(positions)
