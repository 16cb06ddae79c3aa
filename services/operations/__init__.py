"""The operations as data: what each takes, calls and gives, in JSON and in protobuf.

A transport only finds the operation and carries bytes to it: `run` or `run_async` does the rest,
so that all transports answer alike.
"""

from __future__ import annotations

from services.operations import echo, ledger, users
from services.operations.codec import (
    Codec,
    JsonCodec,
    JsonEnvelopeCodec,
    ProtobufCodec,
    ProtobufEnvelopeCodec,
)
from services.operations.operation import Operation, Outcome, run, run_async
from services.operations.stream import Feed, Stream, open_stream

__all__ = [
    "OPERATIONS",
    "STREAMS",
    "Codec",
    "Feed",
    "JsonCodec",
    "JsonEnvelopeCodec",
    "Operation",
    "Outcome",
    "ProtobufCodec",
    "ProtobufEnvelopeCodec",
    "Stream",
    "open_stream",
    "run",
    "run_async",
]

OPERATIONS: dict[str, Operation] = {
    operation.name: operation for operation in (*users.OPERATIONS, *ledger.OPERATIONS, *echo.OPERATIONS)
}
#: Those whose reply is a stream: `open_stream` begins them.
STREAMS: dict[str, Operation] = {operation.name: operation for operation in ledger.STREAMS}
