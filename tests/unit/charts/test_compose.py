"""compose.yaml says the same as the charts, and gives no container more than it needs; read without an engine."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from wirebench.system.paths import ROOT

CHART = ROOT / "charts/observability"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]

every_service = pytest.mark.parametrize("service", SERVICES)


def test_prometheus_is_that_of_the_chart() -> None:
    """It looks as often, keeps as much, evaluates the same rules and takes what generators push."""
    ours = yaml.safe_load((ROOT / "images/prometheus/compose.yaml").read_text())
    theirs = yaml.safe_load(re.sub("{{.*}}", "true", (CHART / "files/prometheus.yaml").read_text()))
    for key in ("global", "storage", "rule_files"):
        assert theirs[key] == ours[key]
    arguments = re.findall(r"(?m)^ +- (--\S+)$", (CHART / "templates/prometheus-deployment.yaml").read_text())
    assert arguments == SERVICES["prometheus"]["command"]


def test_prometheus_targets_have_the_labels_of_a_cluster() -> None:
    """Dashboards and rules go by them."""
    scraped = yaml.safe_load((ROOT / "images/prometheus/compose.yaml").read_text())["scrape_configs"][1]
    labels = {each["targets"][0].split(":")[0]: each["labels"] for each in scraped["static_configs"]}
    assert {"rest", "grpc", "socket"} == labels.keys()
    for transport, each in labels.items():
        assert {"namespace", "pod", "node", "container"} == each.keys()
        assert transport == each["container"]


@every_service
def test_a_container_has_no_right_that_it_does_not_need(service: str) -> None:
    """No root, no root file system to write to, no capability, limits, and a way to see that it is healthy."""
    container = SERVICES[service]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", container["user"])
    assert container["read_only"]
    assert ["ALL"] == container["cap_drop"]
    assert ["no-new-privileges:true"] == container["security_opt"]
    assert "no" == container["restart"]
    assert {"mem_limit", "cpus"} <= container.keys()
    assert ("build" in container) != ("healthcheck" in container)  # the image that is built has one
    assert "privileged" not in container


@every_service
def test_ports_are_on_loopback_only(service: str) -> None:
    """Other machines can't reach them, and each is the container's port if the environment names no other."""
    for port in SERVICES[service].get("ports", []):
        found = re.fullmatch(r"127\.0\.0\.1:\$\{\w+_PORT:-(\d+)}:(\d+)", port)
        assert found is not None, port
        assert found[1] == found[2]


def test_a_client_starts_only_when_asked_for_and_knows_the_services() -> None:
    """It has a profile of its own, and the address of each service by its name in the network."""
    container = SERVICES["client"]
    assert ["client"] == container["profiles"]
    assert ["python", "-m", "wirebench.cli", "client"] == container["entrypoint"]
    for transport in ("rest", "grpc", "socket"):
        port = SERVICES[transport]["ports"][0].rpartition(":")[2]
        assert f"{transport}:{port}" == container["environment"][f"WIREBENCH_{transport.upper()}"]
