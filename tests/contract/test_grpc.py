"""What only gRPC has: health, reflection and statuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from wirebench_proto import echo_pb2, users_pb2, users_pb2_grpc
from wirebench_services.client import Client

from tests.support.services import GRPC_KINDS, Service, started
from tests.support.waiting import TIMEOUT_S, wait_until

BODY_BYTES_MAX = 4 * 1024 * 1024

pytestmark = pytest.mark.parametrize("service", GRPC_KINDS, ids=str, indirect=True)


@pytest.fixture
def channel(service: Service) -> Iterator[grpc.Channel]:
    """Return a channel to the service."""
    options = [("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(str(service.address), options=options) as opened:
        yield opened


def read_rejection(channel: grpc.Channel, method: str, request: bytes) -> tuple[grpc.StatusCode, str | None]:
    """Call a method with any bytes and return how it is rejected."""
    call: Callable[..., bytes] = channel.unary_unary(method)
    with pytest.raises(grpc.RpcError) as caught:
        call(request, timeout=TIMEOUT_S)
    return caught.value.code(), caught.value.details()


def test_messages_over_the_limit(channel: grpc.Channel, client: Client) -> None:
    """A message over the limit is rejected, and the service keeps working."""
    request = echo_pb2.EchoRequest(payload=bytes(BODY_BYTES_MAX)).SerializeToString()

    status, _ = read_rejection(channel, "/wirebench.v1.EchoService/Echo", request)

    assert grpc.StatusCode.RESOURCE_EXHAUSTED == status
    assert client.call("users.get", {"id": 1_000_001}).ok


@pytest.mark.parametrize(
    "name", ["", "wirebench.v1.UserService", "wirebench.v1.LedgerService", "wirebench.v1.EchoService"]
)
def test_health(channel: grpc.Channel, name: str) -> None:
    """The service as a whole, and each of its services, say that they serve."""
    stub: Any = health_pb2_grpc.HealthStub(channel)
    response = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=TIMEOUT_S)

    assert health_pb2.HealthCheckResponse.SERVING == response.status


def test_watches_that_open_and_close_at_once_block_nothing(service: Service, tmp_path: Path) -> None:
    """Clients that open and cancel hundreds of watches leave a service that answers, and that stops."""

    def open_and_cancel(target: str) -> None:
        with grpc.insecure_channel(target, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            for _ in range(40):
                stub.Watch(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S).cancel()

    with started(service.kind, tmp_path) as watched, watched.connect() as client:
        with ThreadPoolExecutor(16) as clients:
            list(clients.map(open_and_cancel, [str(watched.address)] * 16))

        assert client.call("users.get", {"id": 1_000_001}).ok
        with grpc.insecure_channel(str(watched.address)) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            assert 1 == next(stub.Watch(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S)).status
        assert 0 == watched.stop()


def reflect(channel: grpc.Channel, request: Any) -> list[Any]:  # noqa: ANN401 - generated without types
    """Ask reflection one question and return its answers."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    return list(stub.ServerReflectionInfo(iter([request]), timeout=TIMEOUT_S))


def test_reflection_lists_the_services(channel: grpc.Channel) -> None:
    """A client without proto files finds out what there is."""
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    (response,) = reflect(channel, request)

    assert {
        "wirebench.v1.UserService",
        "wirebench.v1.EchoService",
        "wirebench.v1.LedgerService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    } <= {service.name for service in response.list_services_response.service}


def test_connections_of_an_age_are_handed_over_without_loss(service: Service, tmp_path: Path) -> None:
    """Its client is told to open another one, and of the calls that it makes meanwhile none fails."""
    flags = ("--max-connection-age-s", "0.2")
    with started(service.kind, tmp_path, *flags) as ageing, grpc.insecure_channel(str(ageing.address)) as channel:
        stub = users_pb2_grpc.UserServiceStub(channel)
        ports: set[tuple[object, ...]] = set()

        def has_reconnected() -> bool:
            stub.GetUser(users_pb2.GetUserRequest(id=1_000_001), timeout=TIMEOUT_S)
            connections = psutil.Process().net_connections()
            ports.update(tuple(each.laddr) for each in connections if tuple(each.raddr)[1:] == (ageing.port,))
            return len(ports) >= 3

        wait_until(has_reconnected, "there have been three connections", lambda: ports)
