"""The chart, rendered by Helm's own engine, and checked against Kubernetes' schemas (make test-deploy)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxy.settings.load import load
from tests.deploy.monitoring import SCHEMAS

ROOT = Path(__file__).parents[2]
helm = pytest.importorskip("helm_python", reason="Helm's engine is not installed: make test-deploy")
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: make test-deploy")
schemas = pytest.importorskip("kubernetes_validate", reason="Kubernetes' schemas are not installed: make test-deploy")
spec = importlib.util.spec_from_file_location("manifests", ROOT / "tools/manifests.py")
assert spec is not None and spec.loader is not None
manifests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(manifests)

OLDEST, NEWEST = "1.30", schemas.latest_version()

VALUES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "everything": {
        "autoscaling": {"enabled": True},
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
        "secretName": "keys",
        "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "imagePullSecrets": [{"name": "pull"}],
        "podLabels": {"team": "agents"},
        "podAnnotations": {"note": "yes"},
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "priorityClassName": "high",
        "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"team": "agents"}}}]},
    },
    "alone": {
        "replicas": 1,
        "redis": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
        "networkPolicy": {"enabled": False},
    },
    "a redis elsewhere": {"state": {"url": "rediss://redis.example.com:6380/0"}},
    "another port": {"service": {"port": 80, "type": "LoadBalancer"}, "drainSeconds": 300, "nameOverride": "fuse"},
}


def objects(name: str) -> list[dict[str, Any]]:
    """What Helm makes of these values."""
    found: list[dict[str, Any]] = manifests.rendered(VALUES[name], name="demo", namespace="agents")
    return found


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("name", VALUES)
def test_every_object_is_one_that_kubernetes_takes(name: str, version: str) -> None:
    made = objects(name)
    for one in made:
        if one["kind"] in SCHEMAS:
            jsonschema.validate(one, SCHEMAS[one["kind"]])
        else:
            schemas.validate(one, version, strict=True)
    names = [(one["kind"], one["metadata"]["name"]) for one in made]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", VALUES)
def test_helm_lint_finds_nothing_to_mend(name: str) -> None:
    found = helm.lint(str(manifests.CHART), VALUES[name])
    assert found["errors"] == []
    assert [one["error"] for one in found["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize("name", VALUES)
def test_streamfuse_takes_the_config(name: str, tmp_path: Path) -> None:
    (made,) = [one for one in objects(name) if one["kind"] == "ConfigMap"]
    file = tmp_path / "config.yaml"
    file.write_text(made["data"]["config.yaml"])
    settings = load(file)
    assert settings.ops is not None and settings.drain.grace == VALUES[name].get("drainSeconds", 60)
    assert (settings.state.kind == "redis") == (name != "alone")


def test_what_the_user_writes_comes_before_what_the_chart_decides() -> None:
    made = manifests.rendered({"config": {"drain": {"grace": "5s"}, "rules": {"mode": "watch"}}})
    (one,) = [one for one in made if one["kind"] == "ConfigMap"]
    config = yaml.safe_load(one["data"]["config.yaml"])
    assert config["drain"] == {"grace": "5s"} and config["rules"] == {"mode": "watch"}
    assert config["providers"]["openai"]["base_url"] == "https://api.openai.com/v1"


def test_a_scaled_deployment_has_no_count_of_its_own() -> None:
    (one,) = [
        one for one in objects("everything") if one["kind"] == "Deployment" and "valkey" not in one["metadata"]["name"]
    ]
    assert "replicas" not in one["spec"]
    assert one["spec"]["template"]["spec"]["containers"][0]["envFrom"] == [{"secretRef": {"name": "keys"}}]


def test_the_operator_s_prometheus_finds_the_job_that_the_alerts_ask_for() -> None:
    made = {(one["kind"], one["metadata"]["name"]): one for one in objects("everything")}
    monitor, rule = made["ServiceMonitor", "demo"], made["PrometheusRule", "demo"]
    assert rule["spec"] == yaml.safe_load((ROOT / "deploy/alerts.yml").read_text())
    service = made["Service", "demo-ops"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "streamfuse"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("ServiceMonitor", {"endpoints": [{"interval": "15 s"}]}), ("PrometheusRule", {"groups": [{"rules": []}]}),
     ("ServiceMonitor", {"endpoints": [{"prot": "ops"}]}), ("ServiceMonitor", {"endpoints": []})],
)  # fmt: skip
def test_the_schemas_of_the_operator_refuse_what_it_refuses(name: str, wrong: dict[str, Any]) -> None:
    (one,) = [one for one in objects("everything") if one["kind"] == name]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**one, "spec": {**one["spec"], **wrong}}, SCHEMAS[name])


def test_a_redis_elsewhere_starts_none_here() -> None:
    assert not [one for one in objects("a redis elsewhere") if "valkey" in one["metadata"]["name"]]


def test_the_plain_manifests_are_what_the_chart_makes() -> None:
    made = manifests.plain(manifests.rendered({"secretName": "streamfuse-keys"}))
    assert manifests.PLAIN.read_text(encoding="utf-8") == made, "run: python tools/manifests.py"
