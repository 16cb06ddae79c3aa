"""Clients that speak TLS as each transport's usual ones do, for the tests of services that do."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import grpc
from wirebench_proto.users_pb2 import CreateUserRequest, GetUserRequest, User
from wirebench_proto.users_pb2_grpc import UserServiceStub

from tests.support.certificates import Certificate
from tests.support.services import HOST, Service
from tests.support.waiting import TIMEOUT_S
from wirebench.model.address import Address

SEEDED_ID = 1_000_001

#: Of a reply frame, up to its message: length, id, status, flags, message_length.
REPLY = struct.Struct(">IIBBH")


def secured(address: Address, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Return a connection after its handshake."""
    return context.wrap_socket(socket.create_connection(address, TIMEOUT_S), server_hostname=HOST)


class Calls(NamedTuple):
    """What a client asks on one connection; both return the id in the reply."""

    get: Callable[[], int]
    create: Callable[[int], int]


@contextlib.contextmanager
def connected(service: Service, certificate: Certificate) -> Iterator[Calls]:
    """Connect as the transport's clients do."""
    client = {"rest": rest, "grpc": rpc, "socket": framed}[service.kind.transport]
    with client(service.address, certificate) as calls:
        yield calls


@contextlib.contextmanager
def rest(address: Address, certificate: Certificate) -> Iterator[Calls]:
    """Connect with the standard library's HTTPS client."""

    def call(method: str, path: str, body: str | None = None) -> int:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        return int(json.loads(connection.getresponse().read())["data"]["id"])

    context = certificate.trust()
    connection = http.client.HTTPSConnection(*address, timeout=TIMEOUT_S, context=context)
    with contextlib.closing(connection):
        yield Calls(
            lambda: call("GET", f"/api/users/{SEEDED_ID}"), lambda i: call("POST", "/api/users", json.dumps(user(i)))
        )


@contextlib.contextmanager
def rpc(address: Address, certificate: Certificate) -> Iterator[Calls]:
    """Connect with grpcio's channel."""
    trust = grpc.ssl_channel_credentials(certificate.cert.read_bytes())
    with grpc.secure_channel(str(address), trust, [("grpc.enable_http_proxy", 0)]) as channel:
        stub: Any = UserServiceStub(channel)
        yield Calls(
            lambda: int(stub.GetUser(GetUserRequest(id=SEEDED_ID), timeout=TIMEOUT_S).data.id),
            lambda i: int(stub.CreateUser(CreateUserRequest(user=User(**user(i))), timeout=TIMEOUT_S).data.id),
        )


@contextlib.contextmanager
def framed(address: Address, certificate: Certificate) -> Iterator[Calls]:
    """Connect with frames on the standard library's TLS socket."""

    def call(method: bytes, request: dict[str, Any]) -> int:
        connection.sendall(frame(method, request))
        length, _, _, _, message_length = REPLY.unpack(replies.read(REPLY.size))
        return int(json.loads(replies.read(length - REPLY.size + 4)[message_length:])["id"])

    context = certificate.trust()
    with secured(address, context) as connection, connection.makefile("rb") as replies:
        connection.sendall(b"WB1J")
        yield Calls(lambda: call(b"users.get", {"id": SEEDED_ID}), lambda i: call(b"users.create", {"user": user(i)}))


def user(user_id: int) -> dict[str, Any]:
    """Return a user to create."""
    return {"id": user_id, "name": "Ada", "email": "ada@example.com"}


def frame(method: bytes, request: dict[str, Any]) -> bytes:
    """Return a request frame."""
    body = json.dumps(request).encode()
    return struct.pack(">IIB", 5 + len(method) + len(body), 7, len(method)) + method + body
