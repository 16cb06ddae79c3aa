"""One call, from the bytes of the request to an outcome: what both runtimes share.

Requests reach this undecoded, so that bytes that are no message get the contract's answer and not
the library's, and sizes are known.
"""

from __future__ import annotations

import time

import grpc

from services.domain.errors import Code, Unimplemented
from services.operations import Operation, Outcome, ProtobufEnvelopeCodec, run, run_async
from services.platform.lifecycle import Worker

#: A code of the contract is named as its gRPC status.
STATUSES = {code: grpc.StatusCode[code.name] for code in Code}

_CODEC = ProtobufEnvelopeCodec()


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


def refuse_unknown(worker: Worker, method: str, begun_s: float) -> Outcome:
    """Count a call of a method that isn't there, and say so."""
    error = Unimplemented(f"Unknown method: {method}.")
    worker.recorder.finished("unknown", error.code, time.perf_counter() - begun_s, 0, 0)
    return Outcome(error.code, error.message)
