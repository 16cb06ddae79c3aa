"""`wirebench load`: what it plans, and what it reads out of the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from wirebench.cli.run_options import parse_duration_s
from wirebench.errors import UsageError
from wirebench.model.cell import ServiceSpec
from wirebench.plan.overrides import Override
from wirebench.plan.plain_load import adopt_service, plan_load
from wirebench.targets.deployed import read_service


def test_a_duration_is_written_as_load_tools_take_it() -> None:
    """Minutes and seconds, or seconds alone; what is no duration is told how long it may be."""
    texts = {"30s": 30, "30": 30, "1m": 60, "1m30s": 90, "2.5s": 2.5, "30m": 1800}
    assert texts == {text: parse_duration_s(text) for text in texts}
    for text in ("", "s", "m", "0s", "-5s", "5x", "1h", "31m", "5m5", "nan", "1e9s"):
        with pytest.raises(UsageError, match="isn't between 1 s and 30 min"):
            parse_duration_s(text)


def ask(**levels: object) -> list[Override]:
    """Return what options ask for."""
    return [Override(f"--{name} {value}", ("factors", name), value) for name, value in levels.items()]


def test_a_load_is_planned_as_a_scenario_is() -> None:
    """A steady rate is kept by ghz, which no scenario takes; where the load runs is open unless it is asked for."""
    plan = plan_load("grpc", ask(payload=7, operation="users.list", rate_per_s=9), "kubernetes")
    (cell,) = plan.cells
    assert ("ghz", "open", 9, 7, None) == (
        cell.driver, plan.scenario.load.model, cell.rate_per_s, cell.payload, cell.placement
    )  # fmt: skip
    assert ((cell,),) == tuple(tuple(each.cell for each in block) for block in plan.blocks)
    assert "rate_per_s: 9" in plan.scenario.source.text
    plan = plan_load("rest", ask(placement="same-node"), "kubernetes")
    (cell,) = plan.cells
    assert ("k6", "closed", None, "same-node") == (
        cell.driver, plan.scenario.load.model, cell.rate_per_s, cell.placement
    )  # fmt: skip


def test_what_writes_is_loaded_on_fresh_services_alone() -> None:
    """Services in a cluster stay, and have the records of other loads."""
    options = ask(operation="users.create")
    assert "users.create" == plan_load("socket", options, "local").cells[0].operation
    with pytest.raises(UsageError, match="no operation of a load"):
        plan_load("socket", options, "kubernetes")


def test_a_deployed_service_is_measured_as_it_is() -> None:
    """Runtime, workers, store, replicas and the limit are those that the chart has found the container."""
    expected = ServiceSpec(
        transport="grpc",
        runtime="sync",
        workers=4,
        threads=10,
        store="postgres",
        replicas=2,
        cpu_limit_millicores=250,
    )
    assert expected == read_service("grpc", a_deployment())
    plan = adopt_service(plan_load("grpc", (), "kubernetes"), expected)
    assert [expected] == [cell.service for cell in plan.cells]
    assert {expected} == {each.cell.service for block in plan.blocks for each in block}


def a_deployment() -> dict[str, Any]:
    """Return a Deployment of our chart with two replicas, as the API server tells it."""
    settings = {"RUNTIME": "sync", "WORKERS": "4", "THREADS": "10", "STORE": "postgres"}
    container = {
        "name": "grpc",
        "command": ["wirebench-grpc"],
        "env": [{"name": f"WIREBENCH_{name}", "value": value} for name, value in settings.items()],
        "resources": {"limits": {"cpu": "250m", "memory": "512Mi"}},
    }
    return {
        "metadata": {"generation": 3},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
        "status": {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2},
    }
