"""The gRPC service's tables and options."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pool
from wirebench_proto import echo_pb2, ledger_pb2, users_pb2

from services.domain.errors import Code
from services.grpc import reflection
from services.grpc.calls import STATUSES
from services.grpc.main import DEFAULTS
from services.grpc.rpcs import RpcService
from services.grpc.server import SERVICES, options
from services.operations import OPERATIONS, STREAMS
from services.platform import settings as settings_module
from services.platform.limits import CONNECTIONS_MAX

DESCRIPTORS = {
    descriptor.full_name: descriptor
    for file in (users_pb2.DESCRIPTOR, ledger_pb2.DESCRIPTOR, echo_pb2.DESCRIPTOR)
    for descriptor in file.services_by_name.values()
}


def test_every_operation_is_one_rpc() -> None:
    """The tables leave no operation out and name none twice."""
    assert sorted(OPERATIONS | STREAMS) == sorted(name for service in SERVICES for name in service.methods.values())


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_the_tables_are_the_proto_files(service: RpcService) -> None:
    """Each method of the proto file is there, with the operation that takes and gives its messages."""
    expected = {method.name: (method.input_type, method.output_type) for method in DESCRIPTORS[service.name].methods}
    found = {
        method: (operation.request.DESCRIPTOR, operation.response.DESCRIPTOR)
        for method, operation in service.operations().items()
    }
    assert expected == found


def test_every_code_is_the_status_of_its_name() -> None:
    """Codes need no table: their names are those of gRPC."""
    assert {code: code.name for code in Code} == {code: status.name for code, status in STATUSES.items()}


@pytest.mark.parametrize(
    "symbol",
    ["wirebench.v1.UserService", "wirebench.v1.UserService.GetUser", "wirebench.v1.User", "wirebench.v1.User.id"],
)
def test_reflection_finds_the_file_of_any_symbol(symbol: str) -> None:
    """Methods too, which protobuf's own pool doesn't find by that call."""
    expected = descriptor_pool.Default().FindFileContainingSymbol("wirebench.v1.User").name
    assert expected == reflection._Pool().FindFileContainingSymbol(symbol).name


@pytest.mark.parametrize("symbol", ["wirebench.v1.Nobody", "wirebench.v1.UserService.Fly", ""])
def test_reflection_knows_what_is_not_there(symbol: str) -> None:
    """A KeyError is what makes NOT_FOUND of it."""
    with pytest.raises(KeyError):
        reflection._Pool().FindFileContainingSymbol(symbol)


def test_limits_come_from_the_settings() -> None:
    """Sizes in bytes, durations in milliseconds."""
    arguments = ["--body-bytes-max=2048", "--read-timeout-s=1.5", "--idle-timeout-s=30"]
    found = dict(options(settings_module.parse(DEFAULTS, arguments, {})))
    assert 2048 == found["grpc.max_receive_message_length"]
    assert 1500 == found["grpc.server_handshake_timeout_ms"]
    assert 30_000 == found["grpc.max_connection_idle_ms"]


def test_calls_that_wait_are_not_cancelled() -> None:
    """As many as there may be connections can wait for their turn; gRPC's own limit is 1,000."""
    found = dict(options(settings_module.parse(DEFAULTS, [], {})))
    assert CONNECTIONS_MAX == found["grpc.server.max_pending_requests"]
    assert CONNECTIONS_MAX == found["grpc.server.max_pending_requests_hard_limit"]
