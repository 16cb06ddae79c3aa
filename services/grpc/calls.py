"""One call, from the bytes of the request to an outcome: what both runtimes share.

Requests reach this undecoded, so that bytes that are no message get the contract's answer and not
the library's, and sizes are known.
"""

from __future__ import annotations

import time
from functools import partial

import grpc

from services.domain.errors import Code, Unimplemented
from services.operations import (
    Operation,
    Outcome,
    ProtobufCodec,
    ProtobufEnvelopeCodec,
    Stream,
    open_stream,
    run,
    run_async,
)
from services.platform.lifecycle import Worker

#: A code of the contract is named as its gRPC status.
STATUSES = {code: grpc.StatusCode[code.name] for code in Code}

_CODEC = ProtobufEnvelopeCodec()
#: What a stream comes to is said by its status, and not by each of its messages.
_STREAM_CODEC = ProtobufCodec()


def answer(worker: Worker, operation: Operation, request: bytes, begun_s: float) -> Outcome:
    """Carry out a call that has begun, and count it."""
    return _counted(worker, operation, request, begun_s, run(worker.application, operation, _CODEC, request))


async def answer_async(worker: Worker, operation: Operation, request: bytes, begun_s: float) -> Outcome:
    """Do the same over an asynchronous store."""
    outcome = await run_async(worker.application, operation, _CODEC, request)
    return _counted(worker, operation, request, begun_s, outcome)


def _counted(worker: Worker, operation: Operation, request: bytes, begun_s: float, outcome: Outcome) -> Outcome:
    worker.recorder.finished(
        operation.name, outcome.code, time.perf_counter() - begun_s, len(request), len(outcome.body)
    )
    return outcome


def begin(worker: Worker, operation: Operation, request: bytes, begun_s: float) -> Stream | Outcome:
    """Open a call's stream, or refuse the call and count it."""
    opened = open_stream(worker.application, operation, _STREAM_CODEC, request)
    if isinstance(opened, Outcome):
        return _counted(worker, operation, request, begun_s, opened)
    return Stream(operation, opened, partial(_STREAM_CODEC.encode, operation), time.monotonic())


def refuse_unknown(worker: Worker, method: str, begun_s: float) -> Outcome:
    """Count a call of a method that isn't there, and say so."""
    error = Unimplemented(f"Unknown method: {method}.")
    worker.recorder.finished("unknown", error.code, time.perf_counter() - begun_s, 0, 0)
    return Outcome(error.code, error.message)
