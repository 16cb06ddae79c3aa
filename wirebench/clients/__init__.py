"""Clients of the contract: one file a transport, and the same words for all of them."""

from __future__ import annotations

from wirebench.clients.address import parse_address
from wirebench.clients.client import Client, ClientError, Reply
from wirebench.clients.grpc import GrpcClient
from wirebench.clients.rest import RestClient
from wirebench.clients.socket import SocketClient
from wirebench.scenario.contract import Codec

__all__ = ["Client", "ClientError", "GrpcClient", "Reply", "RestClient", "SocketClient", "connect"]


def connect(transport: str, address: str, timeout_s: float = 5.0, codec: Codec = "json") -> Client:
    """Connect to a service: `host:port`, for REST also `http://host:port`; IPv6 hosts in brackets.

    `timeout_s` bounds the connecting, and then each wait for the server. `codec` is the socket's. Raises ClientError.
    """
    where = parse_address(address, url=transport == "rest")
    if transport == "rest":
        return RestClient(where, timeout_s)
    if transport == "grpc":
        return GrpcClient(where, timeout_s)
    if transport == "socket":
        return SocketClient(where, timeout_s, codec)
    raise ClientError(f"no transport {transport!r}", "rest, grpc and socket are the transports")
