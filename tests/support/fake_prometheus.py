"""What answers in place of a Prometheus: as a test likes, or with a load on two transports."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.support.http_servers import QuietHandler, serving

Reply = Callable[[QuietHandler, str, dict[str, str]], None]


@contextlib.contextmanager
def answering(reply: Reply) -> Iterator[str]:
    """Run something at a port that answers in its own way; yield its URL."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            with contextlib.suppress(OSError):
                reply(self, address.path, {name: value[0] for name, value in parse_qs(address.query).items()})

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield f"http://{address}"
