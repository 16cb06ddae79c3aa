"""The Prometheus that a run pushes live metrics to."""

from __future__ import annotations

import pytest

from wirebench.errors import WirebenchError
from wirebench.targets.cluster.client import Access, Cluster
from wirebench.targets.deployed import find_prometheus


@pytest.mark.parametrize("ready", [True, False, None])
def test_the_prometheus_of_a_cluster_is_found_when_it_is_ready(
    monkeypatch: pytest.MonkeyPatch, *, ready: bool | None
) -> None:
    """A run measures without one that is ready, and without the right to look for it."""
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-11-23T23:46:40Z"}
    pod = {"metadata": {"name": "p"}, "spec": {}, "status": {"phase": "Running", "conditions": [condition]}}
    service = {"metadata": {"name": "observability-prometheus"}, "spec": {"ports": [{"port": 9090}]}}

    def get(_: Cluster, kind: str, _selector: str) -> list[dict[str, object]]:
        if ready is None:
            raise WirebenchError("services is forbidden", "ask for the right")
        return {"services": [service], "pods": [pod]}[kind]

    monkeypatch.setattr(Cluster, "get", get)
    expected = "http://observability-prometheus.wirebench-observability:9090" if ready else None
    assert expected == find_prometheus(Access("kind", None))
