"""One call, from the bytes of the request to an outcome: what both runtimes share.

Requests reach this undecoded, so that bytes that are no message get the contract's answer and not
the library's, and sizes are known.
"""

from __future__ import annotations

import time

import grpc

from services.domain.errors import Code, Unimplemented
from services.operations import Operation, Outcome, ProtobufEnvelopeCodec, run
from services.platform.lifecycle import Worker

#: A code of the contract is named as its gRPC status.
STATUSES = {code: grpc.StatusCode[code.name] for code in Code}

_CODEC = ProtobufEnvelopeCodec()


def answer(worker: Worker, operation: Operation, request: bytes, begun_s: float) -> Outcome:
    """Carry out a call that has begun, and count it."""
    outcome = run(worker.application, operation, _CODEC, request)
    worker.recorder.finished(
        operation.name, outcome.code, time.perf_counter() - begun_s, len(request), len(outcome.body)
    )
    return outcome


def refuse_unknown(worker: Worker, method: str, begun_s: float) -> Outcome:
    """Count a call of a method that isn't there, and say so."""
    error = Unimplemented(f"Unknown method: {method}.")
    worker.recorder.finished("unknown", error.code, time.perf_counter() - begun_s, 0, 0)
    return Outcome(error.code, error.message)
