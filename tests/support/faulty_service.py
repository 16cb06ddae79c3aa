"""A user's REST service with one fault: python faulty_service.py PORT FAULT."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

#: What is right until so many requests were answered: those before the load, which verify the service.
SOUND_REQUESTS = 50
RIGHT, WRONG = (200, {"name": "right"}), (200, {"name": "wrong"})


def answer_slowly(_: int) -> tuple[int, object]:
    """Answer after 50 ms."""
    time.sleep(0.05)
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
    "errors": fail_at_times,
    "wrong": answer_wrongly,
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

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
