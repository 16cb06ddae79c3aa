"""Calls to the built-in application, by the client that comes with its services."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from wirebench_services.client import CLIENTS, Client, ClientError

from wirebench.errors import WirebenchError
from wirebench.model.address import parse_address
from wirebench.model.contract import Codec
from wirebench.system.tls import ClientTls, make_context, split_address


@contextlib.contextmanager
def connect(
    transport: str, address: str, codec: Codec = "json", tls: ClientTls | None = None, timeout_s: float = 5.0
) -> Iterator[Client]:
    """Yield a client of the service at `host:port`, with a scheme or without.

    Raises UsageError for an invalid address; what the client raises in the `with` block becomes a WirebenchError.
    """
    bare, trusted = split_address(address, tls)
    where, context = parse_address(bare), make_context(trusted) if trusted else None
    try:
        with CLIENTS[transport](where, timeout_s, codec, context) as client:
            yield client
    except ClientError as error:
        raise WirebenchError(error.message, error.hint) from None
