"""The container files fit together: what one file names, another has. (Building needs a builder: make image.)"""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def mounted(service):
    for volume in COMPOSE["services"][service]["volumes"]:
        source, target, *_ = volume.split(":")
        if source.startswith("./"):
            yield ROOT / source, target


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_every_mounted_file_is_in_the_repository(service):
    assert all(source.is_file() for source, _ in mounted(service))


def test_streamfuse_finds_its_config_where_it_is_mounted():
    (_, target), *_ = mounted("streamfuse")
    assert target == "/etc/streamfuse/config.yaml"
    assert "WORKDIR /etc/streamfuse" in DOCKERFILE


def test_streamfuse_asks_the_gateway_that_stands_beside_it():
    config = yaml.safe_load((ROOT / "deploy/streamfuse.yaml").read_text())
    url = config["providers"][config["default_provider"]]["base_url"]
    host, port = url.removeprefix("http://").removesuffix("/v1").split(":")
    assert host in COMPOSE["services"]
    assert port in COMPOSE["services"][host]["command"]


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
