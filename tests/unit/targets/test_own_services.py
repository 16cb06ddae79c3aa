"""Variants in a cluster: what is behind a Service, and when it is ready."""

from __future__ import annotations

import base64
import copy
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from wirebench.drivers import Job
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.application import Application
from wirebench.model.cell import Cell
from wirebench.model.scenario import Load
from wirebench.model.variant import InCluster
from wirebench.run.load_pod.task import (
    FILES_CHARACTERS_MAX,
    Files,
)
from wirebench.targets.cluster.client import Access
from wirebench.targets.cluster.client import Cluster as Namespace
from wirebench.targets.cluster.pods import Pod
from wirebench.targets.cluster.variants import VariantServices, find_backend

PLACE = InCluster(service="shop", port=80, namespace="lab")
SERVICE = {
    "kind": "Service",
    "metadata": {"name": "shop"},
    "spec": {"selector": {"app": "shop"}, "clusterIP": "10.96.0.7", "ports": [{"port": 80, "targetPort": "http"}]},
}
POD = {
    "metadata": {"name": "shop-1", "uid": "u1", "labels": {"app": "shop"}},
    "spec": {"nodeName": "a", "containers": [{"name": "shop", "ports": [{"name": "http", "containerPort": 8080}]}]},
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T10:15:07Z"}],
        "initContainerStatuses": [
            {"name": "proxy", "state": {"running": {}}, "containerID": "containerd://c1"},
            {"name": "migrate", "state": {"terminated": {"exitCode": 0}}, "containerID": "containerd://c0"},
        ],
        "containerStatuses": [
            {"name": "shop", "state": {"running": {}}, "containerID": "containerd://c2", "restartCount": 0}
        ],
    },
}


def changed(data: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a copy with another value at a dotted path."""
    made = copy.deepcopy(dict(data))
    inner = made
    *keys, last = path.split(".")
    for key in keys:
        inner = inner[key]
    inner[last] = value
    return made


class Cluster:
    """Objects by kind, in place of a cluster's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **objects: list[dict[str, Any]]) -> None:
        self.objects = objects
        monkeypatch.setattr(Namespace, "get", self._get)
        monkeypatch.setattr(Namespace, "find", self._find)

    @property
    def namespace(self) -> Namespace:
        """The namespace of the run."""
        return Namespace(Access("it", None), "run")

    def _get(self, kinds: str, *_: object) -> list[dict[str, Any]]:
        return [each for kind in kinds.split(",") for each in self.objects.get(kind, [])]

    def _find(self, kind: str, name: str) -> dict[str, Any] | None:
        named = (each for each in self.objects.get(f"{kind}s", []) if each["metadata"]["name"] == name)
        return next(named, None)


def test_a_service_leads_to_its_pods_and_their_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """By name at its own port; its pods, one by one, at the port that their containers give that name."""
    backend = find_backend(Cluster(monkeypatch, services=[SERVICE]).namespace, PLACE, "here")
    assert ("shop.lab:80", "app=shop") == (backend.address, backend.pods.selector)
    assert 8080 == backend.find_port(Pod.read(POD))
    headless = changed(changed(SERVICE, "spec.clusterIP", "None"), "spec.ports", [{"port": 80, "targetPort": 8080}])
    backend = find_backend(Cluster(monkeypatch, services=[headless]).namespace, PLACE, "here")
    assert ("shop.lab:8080", 8080) == (backend.address, backend.find_port(Pod.read(POD)))
    # A port's name means something to the containers alone.
    backend = find_backend(
        Cluster(monkeypatch, services=[changed(SERVICE, "spec.clusterIP", "None")]).namespace, PLACE, "here"
    )
    assert "shop.lab:8080" == backend.find_address(Pod.read(POD))


@pytest.mark.parametrize(
    ("service", "message", "hint"),
    [
        (changed(SERVICE, "metadata.name", "store"), "here: no service shop in the namespace run", "there are store"),
        (changed(SERVICE, "spec.ports", [{"port": 8080}]), "here: the Service shop has no port 80", "it has 8080"),
        (changed(SERVICE, "spec.selector", None), "selects no pods", "--target external"),
    ],
)
def test_what_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, service: dict[str, Any], message: str, hint: str
) -> None:
    """With where it stands in the file, and what there is in its place."""
    with pytest.raises(UsageError, match=message) as raised:
        find_backend(Cluster(monkeypatch, services=[service]).namespace, PLACE, "here")
    assert hint in raised.value.hint


APPLICATION = """\
operations:
  get: {rest: {request: GET /, headers: {Authorization: "Bearer ${SHOP_TOKEN}"}}}
variants:
  shop:
    transport: rest
    kubernetes: {service: shop, port: 80, namespace: lab}
    headers: {X-Tenant: "${SHOP_TENANT}"}
"""


def own_services(cluster: Cluster) -> VariantServices:
    """Return the services of an application file."""
    application = Application.model_validate(yaml.safe_load(APPLICATION))
    return VariantServices(cluster.namespace, application, ("shop",), ["SHOP_TENANT"])


def test_secrets_hold_what_requests_name_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other variables stay here."""
    applied: list[dict[str, Any]] = []
    monkeypatch.setattr(Namespace, "apply", lambda _, manifest: applied.append(manifest))
    for name in ("SHOP_TENANT", "SHOP_OTHER"):
        monkeypatch.setenv(name, f"value of {name}")
    services = own_services(Cluster(monkeypatch))
    services.create_secrets()
    (secret,) = applied
    content = {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
    assert {"SHOP_TENANT": "value of SHOP_TENANT"} == content


def a_job(folder: Path, descriptors: bytes) -> Job:
    """Return a job with files of its own."""
    (folder / "application.json").write_text('{"operations": {}}', encoding="utf-8")
    (folder / "contract.binpb").write_bytes(descriptors)
    cell = Cell(transport="rest", operation="get", store=None, codec="json", variant="shop")
    return Job(
        cell, Load(), "shop:80", 1, 1, folder / "out", folder / "log", None,
        application=folder / "application.json", descriptors=folder / "contract.binpb",
    )  # fmt: skip


def test_an_application_goes_to_load_pods_with_their_task(tmp_path: Path) -> None:
    """It arrives as it was; what a ConfigMap can't hold is rejected with a next step."""
    files = Files.of(a_job(tmp_path, b"messages" * 100_000))
    assert files is not None
    (tmp_path / "pod").mkdir()
    application, descriptors = files.write(tmp_path / "pod")
    assert ('{"operations": {}}', b"messages" * 100_000) == (application.read_text(), descriptors.read_bytes())
    incompressible = random.Random(0).randbytes(FILES_CHARACTERS_MAX)  # noqa: S311 - no secret
    with pytest.raises(WirebenchError, match="the limit is"):
        Files.of(a_job(tmp_path, incompressible))
