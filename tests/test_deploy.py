"""The container files fit together: what one file names, another has. (Building needs a builder: make image.)"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client import Counter, Histogram

from proxy.observers.metric_table import METRICS
from proxy.settings.load import load
from tests.proxy.redis_server import ABSENT, SERVERS, RedisServer

ROOT = Path(__file__).parent.parent
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def mounted(service):
    for volume in COMPOSE["services"][service].get("volumes", ()):
        source, target, *_ = volume.split(":")
        if source.startswith("./"):
            yield ROOT / source, target


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_every_mounted_file_is_in_the_repository(service):
    assert all(source.is_file() for source, _ in mounted(service))


FUSES = {name: service for name, service in COMPOSE["services"].items() if name.startswith("streamfuse")}
ALONE, MONITORING = {"alone", "litellm", "workers"}, "monitoring"


def test_each_profile_starts_one_streamfuse_and_what_it_asks():
    profiles = {name: service["profiles"] for name, service in COMPOSE["services"].items()}
    assert {name: fuse["profiles"] for name, fuse in FUSES.items()} == {
        "streamfuse": ["alone"], "streamfuse-litellm": ["litellm"], "streamfuse-workers": ["workers"]}  # fmt: skip
    for profile in ALONE | {MONITORING}:
        started = {name for name, its in profiles.items() if profile in its}
        for name in started:
            assert set(COMPOSE["services"][name].get("depends_on", ())) <= started, (
                f"{name} waits for what is not there"
            )
        assert len(started & FUSES.keys()) == (profile in ALONE)
    head = (ROOT / "docker-compose.yml").read_text().partition("x-streamfuse")[0]
    assert all(f"--profile {profile} " in head for profile in ALONE | {MONITORING})


@pytest.mark.parametrize("name", FUSES)
def test_streamfuse_takes_its_config_from_where_it_is_mounted(name, tmp_path, monkeypatch):
    """As the container reads it: the mounted file, and the variables of the compose file."""
    service = FUSES[name]
    for key, value in service.get("environment", {}).items():
        monkeypatch.setenv(key, re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", value))
    assert "WORKDIR /etc/streamfuse" in DOCKERFILE
    monkeypatch.chdir(tmp_path)
    for source, target in mounted(name):
        assert target == "/etc/streamfuse/config.yaml"
        (tmp_path / "config.yaml").write_text(source.read_text())
    settings = load(None)
    assert settings.default_provider is not None
    url = settings.providers[settings.default_provider].base_url
    if name == "streamfuse-litellm":
        host, port = url.removeprefix("http://").removesuffix("/v1").split(":")
        assert port in COMPOSE["services"][host]["command"] and host in service["depends_on"]
    else:
        assert url == "https://api.openai.com/v1"
    if name == "streamfuse-workers":
        assert settings.workers == 2 and settings.state.url is not None
        assert settings.state.url.get_secret_value() == "redis://valkey:6379/0"
    assert service["networks"]["default"]["aliases"] == ["streamfuse"]


@pytest.mark.skipif(SERVERS["valkey"] is None, reason=ABSENT)
async def test_valkey_takes_its_options():
    words = COMPOSE["services"]["valkey"]["command"]
    assert words[0] == "valkey-server"
    async with RedisServer(*words[1:], binary=SERVERS["valkey"]):
        pass


def test_the_gateway_does_not_retry_too():
    assert yaml.safe_load((ROOT / "deploy/litellm.yaml").read_text())["router_settings"]["num_retries"] == 0


def test_prometheus_scrapes_streamfuse_and_loads_the_alerts():
    config = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text())
    assert config["scrape_configs"][0]["static_configs"][0]["targets"] == ["streamfuse:8787"]
    assert "EXPOSE 8787" in DOCKERFILE
    targets = {target for _, target in mounted("prometheus")}
    assert {f"/etc/prometheus/{name}" for name in config["rule_files"]} <= targets


def test_the_image_runs_without_root_and_listens_to_the_outside():
    last = DOCKERFILE[DOCKERFILE.rindex("FROM ${BASE}") :]
    assert "USER 10001:10001" in last
    assert "STREAMFUSE_LISTEN__HOST=0.0.0.0" in last
    assert "HEALTHCHECK" in last


# --- what refers to metrics ------------------------------------------------------------------------------------------
DASHBOARD = json.loads((ROOT / "deploy/grafana/dashboard.json").read_text())
ALERTS = yaml.safe_load((ROOT / "deploy/alerts.yml").read_text())
PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total", "up"}
"""What the process collector and Prometheus itself tell."""


def exported():
    """{name as scraped: the labels it has}."""
    for metric in METRICS:
        if metric.kind is Histogram:
            yield f"{metric.name}_bucket", {*metric.labels, "le"}
            yield f"{metric.name}_sum", {*metric.labels}
            yield f"{metric.name}_count", {*metric.labels}
        else:
            assert metric.kind is not Counter or metric.name.endswith("_total")
            yield metric.name, {*metric.labels}


def expressions():
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield f"panel {panel['title']}", target["expr"], target["legendFormat"]
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            yield f"alert {rule['alert']}", rule["expr"], " ".join(rule["annotations"].values())


@pytest.mark.parametrize(("where", "expr", "said"), list(expressions()))
def test_dashboard_and_alerts_refer_to_metrics_and_labels_that_exist(where, expr, said):
    known = dict(exported())
    names = set(re.findall(r"\b(?:streamfuse|process)_[a-z_]+\b|\bup\b", expr))
    assert names and names - PROCESS <= known.keys(), where
    labels = {"job", "instance"}.union(*(known.get(name, set()) for name in names))
    grouped = [label.strip() for inner in re.findall(r"by \(([^)]*)\)", expr) for label in inner.split(",")]
    matched = re.findall(r"([a-z_]+)(?:=~|=|!=)\"", expr)
    assert {*grouped, *matched} <= labels, where
    shown = set(re.findall(r"\{\{ *(?:\$labels\.)?([a-z_]+) *\}\}", said))
    assert shown <= ({*grouped} if grouped else labels), where


def test_every_metric_of_weight_is_on_the_dashboard():
    text = json.dumps(DASHBOARD)
    left_out = {"streamfuse_build_info", "streamfuse_model_requests_total", "streamfuse_error_rule_hits_total",
                "streamfuse_retry_wait_seconds", "streamfuse_malformed_events_total"}  # fmt: skip
    assert {metric.name for metric in METRICS if metric.name not in text} <= left_out


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine: apt-get install prometheus")
def test_prometheus_takes_the_alerts_and_its_config(tmp_path):
    for name in ("alerts.yml", "prometheus.yml"):
        text = (ROOT / "deploy" / name).read_text()
        (tmp_path / name).write_text(text.replace("/etc/prometheus/alerts.yml", str(tmp_path / "alerts.yml")))
    for what in (["rules", "alerts.yml"], ["config", "prometheus.yml"]):
        done = subprocess.run(["promtool", "check", *what], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine: apt-get install prometheus")
def test_an_alert_rings_when_it_should(tmp_path):
    series = [
        {"series": 'streamfuse_breaker_open{provider="p"}', "values": "0 0 1 1 1 1 1"},
        {"series": 'streamfuse_reloads_total{result="broken"}', "values": "0 0 0 0 1 1 1"},
        {"series": "streamfuse_state_up", "values": "1 1 1 1 1 1 1"},
    ]
    rings = [
        {"eval_time": at, "alertname": name, "exp_alerts": alerts}
        for name, at, alerts in [
            ("BreakerOpen", "3m", []),
            ("BreakerOpen", "5m", [{"exp_labels": {"provider": "p"}, "exp_annotations": {
                "summary": "p is failing: its requests are answered from memory"}}]),
            ("ConfigBroken", "3m", []),
            ("StateAway", "6m", []),
        ]
    ]  # fmt: skip
    (tmp_path / "alerts.yml").write_text((ROOT / "deploy/alerts.yml").read_text())
    tests = [{"interval": "1m", "input_series": series, "alert_rule_test": rings}]
    (tmp_path / "tests.yml").write_text(yaml.safe_dump({"rule_files": ["alerts.yml"], "tests": tests}))
    done = subprocess.run(
        ["promtool", "test", "rules", "tests.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_panels_have_ids_of_their_own_and_do_not_overlap():
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in DASHBOARD["panels"]]
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places) == len(set(places))
    assert all(p["gridPos"]["x"] + p["gridPos"]["w"] <= 24 for p in DASHBOARD["panels"])


def test_grafana_finds_its_dashboard_where_it_is_mounted():
    targets = [target for _, target in mounted("grafana")]
    folder = yaml.safe_load((ROOT / "deploy/grafana/dashboards.yml").read_text())["providers"][0]["options"]["path"]
    assert f"{folder}/streamfuse.json" in targets
    url = yaml.safe_load((ROOT / "deploy/grafana/datasource.yml").read_text())["datasources"][0]["url"]
    assert url == "http://prometheus:9090" and "prometheus" in COMPOSE["services"]


@pytest.mark.parametrize("service", sorted(COMPOSE["services"].keys() - FUSES.keys()))
def test_versions_are_pinned(service):
    assert re.search(r":-[a-z./]+:v?\d+\.\d+\.\d+(-alpine)?\}$", COMPOSE["services"][service]["image"])


def test_the_chart_starts_the_same_valkey_and_has_the_same_alerts():
    values = yaml.safe_load((ROOT / "deploy/helm/streamfuse/values.yaml").read_text())
    assert f":-{values['redis']['image']}}}" in COMPOSE["services"]["valkey"]["image"]
    chart = ROOT / "deploy/helm/streamfuse/files/alerts.yml"
    assert chart.read_bytes() == (ROOT / "deploy/alerts.yml").read_bytes(), "run: cp deploy/alerts.yml " + str(chart)


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_every_service_tells_whether_it_works(service):
    assert COMPOSE["services"][service]["healthcheck"]["test"][0] == "CMD"


def test_the_images_health_check_asks_the_command_that_knows_the_port():
    assert 'CMD ["streamfuse", "health"]' in DOCKERFILE
    assert all(fuse["healthcheck"]["test"] == ["CMD", "streamfuse", "health"] for fuse in FUSES.values())
    assert "STREAMFUSE_LISTEN__PORT" not in DOCKERFILE, "it would beat listen.port of the config in silence"


def test_the_compose_file_is_one_that_compose_takes():
    compose = pytest.importorskip("compose_spec", reason="no reader of compose files is installed: make test-deploy")
    text = re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", (ROOT / "docker-compose.yml").read_text())
    text = yaml.safe_dump(yaml.safe_load(text))  # this reader knows no `<<`, which Compose itself takes
    read = compose.PyCompose.from_yaml(text)
    read.validate()
    assert set(read.service_names()) == set(COMPOSE["services"])
