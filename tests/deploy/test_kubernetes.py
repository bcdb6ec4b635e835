"""The plain manifests: hardened, drained, probed where the process answers, with a config that streamfuse takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from proxy.observers.metric_table import METRICS
from proxy.settings.load import Settings, load

ROOT = Path(__file__).parents[2]
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "deploy/kubernetes/streamfuse.yaml").read_text()))
DEPLOYMENTS = [one for one in OBJECTS if one["kind"] == "Deployment"]


def only(kind: str, name: str = "streamfuse") -> dict[str, Any]:
    """The one object of this kind and name."""
    (found,) = [one for one in OBJECTS if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    """The config of the ConfigMap, read as the pod reads it."""
    file = tmp_path / "config.yaml"
    file.write_text(only("ConfigMap")["data"]["config.yaml"])
    return load(file)


@pytest.mark.parametrize("one", DEPLOYMENTS, ids=lambda one: one["metadata"]["name"])
def test_no_pod_runs_as_root_writes_to_its_image_or_knows_the_cluster(one: dict[str, Any]) -> None:
    pod = one["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        held = container["securityContext"]
        assert held["readOnlyRootFilesystem"] is True and held["allowPrivilegeEscalation"] is False
        assert held["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]


def test_an_open_answer_has_the_time_that_the_config_gives_it(config: Settings) -> None:
    pod = only("Deployment")["spec"]["template"]["spec"]
    before = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] >= before + config.drain.grace + 5


def test_a_changed_config_reaches_running_pods(config: Settings) -> None:
    (container,) = only("Deployment")["spec"]["template"]["spec"]["containers"]
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "config"]
    assert "subPath" not in mount, "a file that is mounted alone never changes"
    assert container["args"] == ["serve", "--config", f"{mount['mountPath']}/config.yaml"]
    assert config.reload.watch > 0


def test_probes_metrics_and_agents_meet_the_ports_of_the_config(config: Settings) -> None:
    (container,) = only("Deployment")["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert config.ops is not None
    assert ports == {"http": config.listen.port, "ops": config.ops.port}
    assert config.listen.host == config.ops.host == "0.0.0.0"
    assert {
        probe: container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    } == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }
    assert only("Service")["spec"]["ports"][0]["targetPort"] == "http"
    allowed = [rule["ports"][0]["port"] for rule in only("NetworkPolicy")["spec"]["ingress"]]
    assert allowed == [config.listen.port, config.ops.port]


def test_all_pods_count_together(config: Settings) -> None:
    shared = yaml.safe_load(only("ConfigMap")["data"]["config.yaml"])["state"]["url"]
    assert config.state.kind == "redis"
    service = only("Service", shared.removeprefix("redis://").partition(":")[0])
    assert service["spec"]["ports"][0]["port"] == 6379
    assert service["spec"]["selector"].items() <= DEPLOYMENTS[1]["spec"]["template"]["metadata"]["labels"].items()


def test_selectors_choose_the_pods_of_their_own(config: Settings) -> None:
    for one in OBJECTS:
        if one["kind"] == "Deployment":
            chosen = one["spec"]["selector"]["matchLabels"].items()
            assert chosen <= one["spec"]["template"]["metadata"]["labels"].items()
    mine = only("Deployment")["spec"]["template"]["metadata"]["labels"]
    for name in ("streamfuse", "streamfuse-ops"):
        assert only("Service", name)["spec"]["selector"].items() <= mine.items()
    assert only("PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= mine.items()


def test_the_chart_scales_on_a_metric_that_exists() -> None:
    text = (ROOT / "deploy/helm/streamfuse/templates/hpa.yaml").read_text()
    assert "metric: {name: streamfuse_open_streams}" in text
    assert "streamfuse_open_streams" in {metric.name for metric in METRICS}
