"""What a contributor is told holds: the commands exist, workflows run what a landing runs, the site has every page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", "docs/index.md"])
def test_every_make_target_that_is_named_exists(page: str) -> None:
    named = set(re.findall(r"`?\bmake ([a-z]+(?:-[a-z]+)*)\b(?=[ `\n])", (ROOT / page).read_text()))
    assert named <= TARGETS | {"up", "sure"}, f"{page} names make targets that do not exist: {sorted(named - TARGETS)}"


def test_a_hosted_run_is_the_same_script_as_a_landing() -> None:
    steps = [s.get("run", "") for job in load(ROOT / ".github/workflows/ci.yml")["jobs"].values() for s in job["steps"]]
    assert any(".ci/run" in step for step in steps)
    assert "make test" in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_may_only_read_unless_a_job_says_why(path: Path) -> None:
    flow = load(path)
    assert flow["permissions"] == {"contents": "read"}
    assert "secrets." not in path.read_text(), f"{path.name} needs a stored secret"


def test_releases_are_tried_before_they_are_published() -> None:
    jobs = load(ROOT / ".github/workflows/release.yml")["jobs"]
    assert jobs["publish"]["needs"] == jobs["image"]["needs"] == "build"
    assert any("dist/*.whl" in step.get("run", "") for step in jobs["build"]["steps"])


def test_the_python_versions_that_we_claim_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    claimed = {c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)}
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    assert claimed == set(re.findall(r'"(3\.\d+)"', text))


def test_the_site_shows_every_page() -> None:
    def pages(part: Any) -> list[str]:
        if isinstance(part, str):
            return [part]
        inner = part.values() if isinstance(part, dict) else part
        return [page for one in inner for page in pages(one)]

    assert sorted(pages(load(ROOT / "mkdocs.yml")["nav"])) == sorted(p.name for p in (ROOT / "docs").glob("*.md"))


def test_pre_commit_runs_what_make_lint_runs() -> None:
    hooks = {hook["id"] for repo in load(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]}
    assert {"ruff-check", "ruff-format", "mypy"} <= hooks
