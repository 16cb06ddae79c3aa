"""The gRPC client: grpcio and the generated stubs, one channel with one connection."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Generator
from typing import Any

import grpc
from wirebench_proto.echo_pb2_grpc import EchoServiceStub
from wirebench_proto.ledger_pb2_grpc import LedgerServiceStub
from wirebench_proto.users_pb2_grpc import UserServiceStub

from wirebench_services import format_address
from wirebench_services.client.client import REPLY_BYTES_MAX, Client, Reply
from wirebench_services.contract import AnyMessage, Data, Operation, read_data

_STUBS: dict[str, Any] = {
    "UserService": UserServiceStub, "LedgerService": LedgerServiceStub, "EchoService": EchoServiceStub,
}  # fmt: skip
_OPTIONS = [
    ("grpc.enable_http_proxy", 0),
    # A connection of our own: channels to one address would share one otherwise.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", REPLY_BYTES_MAX),
]
#: Statuses that grpc makes up itself when there is no answer of the service.
_NO_ANSWER = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN, grpc.StatusCode.CANCELLED}


class GrpcClient(Client):
    """Speaks gRPC; `channel` is for calls of any other method."""

    transport = "grpc"

    @functools.cached_property
    def channel(self) -> grpc.Channel:
        target = format_address(*self.address)
        if self.tls is None:
            return grpc.insecure_channel(target, _OPTIONS)
        trusted = "".join(map(ssl.DER_cert_to_PEM_cert, self.tls.get_ca_certs(binary_form=True)))
        return grpc.secure_channel(target, grpc.ssl_channel_credentials(trusted.encode()), _OPTIONS)

    def _find_method(self, operation: Operation) -> Any:  # noqa: ANN401 - of any operation
        return getattr(_STUBS[operation.service](self.channel), operation.rpc)

    def _call(self, operation: Operation, request: AnyMessage) -> Reply:
        try:
            response = self._find_method(operation)(request)
        except grpc.RpcError as error:
            return self._read_error(error)
        return Reply("ok", response.message, read_data(response))

    def _stream(self, operation: Operation, request: AnyMessage) -> Generator[Data]:
        call = self._find_method(operation)(request)
        try:
            for response in call:
                yield read_data(response)
            yield Reply("ok", "")
        except grpc.RpcError as error:
            yield self._read_error(error)
        finally:
            call.cancel()  # unless it is over

    def _read_error(self, error: grpc.RpcError) -> Reply:
        status, details = error.code(), error.details() or ""
        if status in _NO_ANSWER:
            if "failed to connect" in details:
                self.dial().close()  # says why
            raise ValueError(details)
        return Reply(status.name.lower(), details)

    def _abort(self) -> None:
        self.close()

    def close(self) -> None:
        if channel := self.__dict__.pop("channel", None):
            channel.close()
