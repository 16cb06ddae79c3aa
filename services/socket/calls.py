"""One request, from its bytes to the bytes of its reply, counted."""

from __future__ import annotations

import time

from services.domain.errors import Code, Unimplemented
from services.operations import OPERATIONS, Codec, Operation, Outcome, run, run_async
from services.platform.lifecycle import Worker
from services.socket import lines
from services.socket.frames import FrameError, Request, encode_reply
from services.socket.lines import LineError

_UNKNOWN = "unknown"
_LINE_OPERATION = "echo.upper"


class Calls:
    """Answers what connections of a worker ask; safe from any thread."""

    def __init__(self, worker: Worker) -> None:
        self._application = worker.application
        self._recorder = worker.recorder
        self._operations = {name.encode("ascii"): operation for name, operation in OPERATIONS.items()}

    def answer(self, codec: Codec, request: Request) -> bytes:
        """Carry out a request; return the reply frame."""
        begun_s = self._recorder.started()
        _, _, method, body = request
        operation = self._operations.get(method)
        outcome = run(self._application, operation, codec, body) if operation else _unknown(method)
        return self._finish(begun_s, request, operation, outcome)

    async def answer_async(self, codec: Codec, request: Request) -> bytes:
        """Do the same over an asynchronous store."""
        begun_s = self._recorder.started()
        _, _, method, body = request
        operation = self._operations.get(method)
        outcome = await run_async(self._application, operation, codec, body) if operation else _unknown(method)
        return self._finish(begun_s, request, operation, outcome)

    def _finish(self, begun_s: float, request: Request, operation: Operation | None, outcome: Outcome) -> bytes:
        _, request_id, _, body = request
        code, message, reply_body = outcome
        reply = encode_reply(request_id, code, message, reply_body)
        name = operation.name if operation else _UNKNOWN
        self._recorder.finished(name, code, time.perf_counter() - begun_s, len(body), len(reply_body))
        return reply

    def refuse(self, error: FrameError) -> bytes:
        """Return the reply frame to a frame that can't be followed."""
        begun_s = self._recorder.started()
        self._recorder.finished(_UNKNOWN, error.code, time.perf_counter() - begun_s, 0, 0)
        return encode_reply(error.request_id, error.code, error.message, b"")

    def answer_line(self, text: str) -> bytes:
        """Return the line in upper case."""
        begun_s = self._recorder.started()
        reply = lines.answer(text)
        request_bytes = len(text.encode())
        self._recorder.finished(_LINE_OPERATION, Code.OK, time.perf_counter() - begun_s, request_bytes, len(reply))
        return reply

    def refuse_line(self, error: LineError) -> bytes:
        """Return the line that says what was wrong."""
        begun_s = self._recorder.started()
        reply = lines.encode_error(error.message)
        self._recorder.finished(_LINE_OPERATION, Code.INVALID_ARGUMENT, time.perf_counter() - begun_s, 0, len(reply))
        return reply


def _unknown(method: bytes) -> Outcome:
    error = Unimplemented(f"Unknown method: {method.decode('ascii', 'backslashreplace')}.")
    return Outcome(error.code, error.message)
