"""Metrics: what the admin port says is what was sent, under the same names and labels on every runtime."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from wirebench_services.client import Client, SocketClient
from wirebench_services.client.grpc import GrpcClient

from tests.support.services import (
    PYTHON_KINDS,
    RUNTIME_KINDS,
    Kind,
    Service,
    exchange,
    fresh_ids,
    started,
)
from tests.support.waiting import TIMEOUT_S, wait_until

ADA = {"name": "Ada", "email": "ada@example.com"}
BUCKETS_S = (
    0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, math.inf,
)  # fmt: skip


every_runtime = pytest.mark.parametrize("service", RUNTIME_KINDS, ids=str, indirect=True)


def seconds(service: Service) -> dict[tuple[str, str], float]:
    """Return how long the requests took, by operation and code."""
    samples = service.samples("wirebench_request_duration_seconds_sum")
    return {(labels["operation"], labels["code"]): value for labels, value in samples}


@every_runtime
def test_counts_are_what_was_sent(service: Service, client: Client) -> None:
    """Every request is counted once, by operation and code, with its duration."""
    first_id, second_id = next(fresh_ids), next(fresh_ids)
    requests: list[tuple[str, dict[str, Any], str]] = [
        *[("users.get", {"id": 1_000_001}, "ok")] * 5,
        *[("users.get", {"id": 999_999}, "not_found")] * 3,
        ("users.get", {"id": -1}, "invalid_argument"),
        ("users.create", {"user": {"id": first_id, **ADA}}, "ok"),
        *[("users.create", {"user": {"id": first_id, **ADA}}, "already_exists")] * 2,
        ("users.create", {"user": {"id": 2}}, "invalid_argument"),
        ("users.update", {"id": first_id, "name": "Eve"}, "ok"),
        ("users.list", {"limit": 2}, "ok"),
        ("users.create_batch", {"users": [{"id": second_id, **ADA}]}, "ok"),
        ("users.delete", {"id": second_id}, "ok"),
        ("echo.echo", {"payload": bytes(100_000)}, "ok"),
        ("echo.upper", {"text": "x"}, "ok"),
    ]
    expected = Counter((operation, code) for operation, _, code in requests)
    service.settle()
    before = service.counts()
    before_s = seconds(service)

    assert [code for *_, code in requests] == [client.call(name, fields).code for name, fields, _ in requests]

    wait_until(lambda: (service.counts() - before).total() >= len(requests), "all requests are counted")
    assert expected == service.counts() - before
    now_s = seconds(service)
    assert all(0 < now_s[key] - before_s.get(key, 0) < TIMEOUT_S * count for key, count in expected.items())


@every_runtime
def test_the_metrics_of_the_design(service: Service, client: Client) -> None:
    """Names, labels and buckets are those that dashboards and the harness read."""
    client.call("users.get", {"id": 1_000_001})
    service.settle()

    counted = [labels for labels, _ in service.samples("wirebench_request_duration_seconds_count")]
    assert all({"transport", "operation", "code", "worker"} == labels.keys() for labels in counted)
    assert {service.kind.transport} == {labels["transport"] for labels in counted}
    (worker,) = {labels["worker"] for labels in counted}
    assert worker.isdecimal()
    buckets = service.samples("wirebench_request_duration_seconds_bucket")
    assert BUCKETS_S == tuple(
        float(labels["le"]) for labels, _ in buckets if (labels["operation"], labels["code"]) == ("users.get", "ok")
    )
    ((build, one),) = service.samples("wirebench_build_info")
    assert 1 == one
    expected = (service.kind.transport, service.kind.runtime, service.kind.implementation, "memory")
    assert expected == tuple(build[name] for name in ("transport", "runtime", "implementation", "store"))


def read_cpu_s(service: Service) -> tuple[float, float]:
    """Return the CPU time of the server's processes, as its metrics and as the kernel has it."""
    ((_, served_s),) = service.samples("process_cpu_seconds_total")
    family = psutil.Process(service.process.pid).children(recursive=True)
    return served_s, sum(sum(each.cpu_times()[:4]) for each in family)


@pytest.mark.parametrize("kind", PYTHON_KINDS, ids=str)
def test_two_workers(kind: Kind, tmp_path: Path) -> None:
    """Workers share the port, count for themselves, and nothing is lost or counted twice; nor is CPU time."""

    def converse(_: int) -> int:
        with service.connect() as client:
            return sum(client.call("users.get", {"id": 1_000_001}).ok for _ in range(20))

    sent = 0
    with started(kind, tmp_path, "--workers", 2) as service, ThreadPoolExecutor(16) as pool:
        before_s = read_cpu_s(service)

        def both_have_worked() -> bool:
            nonlocal sent
            sent += sum(pool.map(converse, range(16)))
            return 2 == len(
                {labels["worker"] for labels, _ in service.samples("wirebench_request_duration_seconds_count")}
            )

        wait_until(both_have_worked, "both workers have had requests")
        wait_until(lambda: service.counts().total() >= sent, "all requests are counted")

        assert Counter({("users.get", "ok"): sent}) == service.counts()
        now_s = read_cpu_s(service)
        used_s, expected_s = (now - before for now, before in zip(now_s, before_s, strict=True))
        assert expected_s > 0
        assert used_s == pytest.approx(expected_s, rel=0.1, abs=0.02)  # two ticks
        if kind.transport == "rest":  # others end with a worker
            family = psutil.Process(service.process.pid).children(recursive=True)
            busiest = max(family, key=lambda each: sum(each.cpu_times()[:2]))
            busiest.kill()
            wait_until(lambda: not busiest.is_running(), "a worker is gone")
            assert read_cpu_s(service)[0] >= now_s[0]


@every_runtime
def test_what_is_no_operation(service: Service, client: Client) -> None:
    """No client can invent labels: what names no operation isn't counted."""
    service.settle()
    before = service.counts()

    ask_for_nothing(service, client)

    service.settle()
    assert before == service.counts()


def ask_for_nothing(service: Service, client: Client) -> None:
    """Send a request that names no operation."""
    if isinstance(client, SocketClient):
        exchange(service.address, b"WB1J", b"\0\0\0\x09\0\0\0\x01\x04nope")
    elif isinstance(client, GrpcClient):
        call: Callable[..., bytes] = client.channel.unary_unary("/nope/nope")
        with pytest.raises(grpc.RpcError):
            call(b"", timeout=TIMEOUT_S)
    else:
        service.request("GET", "/nope")
