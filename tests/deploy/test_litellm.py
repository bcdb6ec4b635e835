"""LiteLLM itself takes the config of the compose profile: it starts, is healthy as compose asks, and has the models.

It is heavy (some 100 packages), so this runs where `litellm` is on PATH, or LITELLM names it:
`python3 -m venv VENV && VENV/bin/pip install 'litellm[proxy]'`, then `LITELLM=VENV/bin/litellm`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import yaml

from tests.clients.fuse import free_port

ROOT = Path(__file__).parents[2]
LITELLM = os.environ.get("LITELLM") or shutil.which("litellm")
KEY = "sk-change-me"
pytestmark = pytest.mark.skipif(LITELLM is None, reason="no litellm (its docstring says how to get one)")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    env |= {"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x", "LITELLM_MASTER_KEY": KEY}
    argv = [str(LITELLM), "--config", str(ROOT / "deploy/litellm.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(argv, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as it:
        assert it.stdout is not None
        said = []
        for line in it.stdout:
            said.append(line)
            if "Uvicorn running" in line:
                break
        else:
            raise AssertionError("".join(said[-20:]))
        yield f"http://127.0.0.1:{port}"
        it.kill()


def got(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        return bytes(answer.read())


def test_it_is_healthy_as_compose_asks(url: str) -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    asked = compose["services"]["litellm"]["healthcheck"]["test"][-1]
    assert "localhost:4000/health/liveliness" in asked
    assert got(f"{url}/health/liveliness")


def test_it_has_the_models_of_the_config(url: str) -> None:
    config = yaml.safe_load((ROOT / "deploy/litellm.yaml").read_text())
    models = orjson.loads(got(f"{url}/v1/models", Authorization=f"Bearer {KEY}"))["data"]
    assert {model["id"] for model in models} == {model["model_name"] for model in config["model_list"]}
