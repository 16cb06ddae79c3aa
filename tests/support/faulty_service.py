"""A user's REST service with one fault: python faulty_service.py PORT FAULT."""

from __future__ import annotations

import functools
import itertools
import json
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

#: What is right until so many requests were answered: those before the load, which verify the service.
SOUND_REQUESTS = 50
_PAUSED = threading.Lock()
RIGHT, WRONG = (200, {"name": "right"}), (200, {"name": "wrong"})


def answer_slowly(_: int) -> tuple[int, object]:
    """Answer after 50 ms."""
    time.sleep(0.05)
    return RIGHT


def answer_ever_slower(number: int) -> tuple[int, object]:
    """Answer each request 0.1 ms later than the one before."""
    time.sleep(0.0001 * number)
    return RIGHT


@functools.cache
def _pause() -> None:
    time.sleep(5)


def answer_after_a_pause(number: int) -> tuple[int, object]:
    """Answer no request for 5 s, once."""
    if number > SOUND_REQUESTS:
        with _PAUSED:
            _pause()
    return RIGHT


def fail_at_times(number: int) -> tuple[int, object]:
    """Fail one request in 20."""
    return (500, {}) if number > SOUND_REQUESTS and number % 20 == 0 else RIGHT


def answer_wrongly(number: int) -> tuple[int, object]:
    """Answer all requests wrongly."""
    return WRONG if number > SOUND_REQUESTS else RIGHT


FAULTS: dict[str, Callable[[int], tuple[int, object]]] = {
    "none": lambda _: RIGHT,
    "slow": answer_slowly,
    "slower": answer_ever_slower,
    "paused": answer_after_a_pause,
    "errors": fail_at_times,
    "wrong": answer_wrongly,
    #: One connection is served until it closes.
    "single": lambda _: RIGHT,
}


def write_application(path: Path, *faults: str) -> None:
    """Write an application file with the operation `get`, and a variant for each of these faults; by default, all."""
    variants = "".join(
        f'  {fault}: {{transport: rest, start: "{sys.executable} {__file__} {{port}} {fault}"}}\n'
        for fault in faults or FAULTS
    )
    operation = "get: {rest: {request: GET /, expect: {json: {name: right}}}}"
    path.write_text(f"application: faulty\noperations: {{{operation}}}\nvariants:\n{variants}", encoding="utf-8")


def serve(port: int, fault: str) -> None:
    """Answer GET requests."""
    numbers = itertools.count(1)
    answer = FAULTS[fault]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            status, reply = answer(next(numbers))
            body = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write no line for each request."""

    server = HTTPServer if fault == "single" else ThreadingHTTPServer
    server(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
