"""Clients of the contract: one file a transport, and the same words for all of them."""

from __future__ import annotations

from wirebench.drivers.clients.client import Client, ClientError, ItemStream, Reply
from wirebench.drivers.clients.grpc import GrpcClient
from wirebench.drivers.clients.rest import RestClient
from wirebench.drivers.clients.socket import SocketClient
from wirebench.model.address import parse_address
from wirebench.model.contract import Codec
from wirebench.system.tls import ClientTls, choose_tls, split_scheme

__all__ = ["Client", "ClientError", "GrpcClient", "ItemStream", "Reply", "RestClient", "SocketClient", "connect"]


def connect(
    transport: str, address: str, timeout_s: float = 5.0, codec: Codec = "json", tls: ClientTls | None = None
) -> Client:
    """Connect to a service: `host:port`, with `http://`, `https://` or `tls://` before it or without; IPv6 in brackets.

    `timeout_s` bounds connecting, and then each wait for the server. `codec` is that of REST or the socket. `tls` is
    what there is for TLS; None is plain text, unless the address asks for it. Raises ClientError, and UsageError for
    unusable files.
    """
    scheme, bare = split_scheme(address)
    where, tls = parse_address(bare), choose_tls(scheme, tls)
    if transport == "rest":
        return RestClient(where, timeout_s, codec, tls)
    if transport == "grpc":
        return GrpcClient(where, timeout_s, tls)
    if transport == "socket":
        return SocketClient(where, timeout_s, codec, tls)
    raise ClientError(f"no transport {transport!r}", "rest, grpc and socket are the transports")
