"""A user's REST service that answers after 50 ms: python slow_service.py PORT."""

from __future__ import annotations

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def write_application(path: Path) -> None:
    """Write an application file with the operation `get`."""
    start = f"{sys.executable} {__file__} {{port}}"
    path.write_text(
        "application: slow\noperations: {get: {rest: {request: GET /}}}\n"
        f'variants:\n  slow: {{transport: rest, start: "{start}"}}\n',
        encoding="utf-8",
    )


class Handler(BaseHTTPRequestHandler):
    """Answers GET requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer after 50 ms."""
        time.sleep(0.05)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write no line for each request."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
