"""Results served over HTTP, and a client that asks for them."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson

from tests.support.waiting import TIMEOUT_S, wait_until
from wirebench.store.database import find_database_url
from wirebench.store.store import Store
from wirebench.web.app import make_app
from wirebench.web.server import PageServer, format_url, listen


@dataclass(frozen=True)
class Answer:
    """What the server answered."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - as it was read
        """The body, which is JSON."""
        return orjson.loads(self._unpack())

    @property
    def text(self) -> str:
        """The body, which is text."""
        return self._unpack().decode()

    def _unpack(self) -> bytes:
        return gzip.decompress(self.body) if self.headers["content-encoding"] == "gzip" else self.body


@dataclass(frozen=True)
class Site:
    """A server that runs."""

    url: str

    def ask(self, path: str, query: Any = (), method: str = "GET", **headers: str) -> Answer:  # noqa: ANN401 - pairs or a mapping
        """Send a request, and return its answer."""
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=TIMEOUT_S)
        with contextlib.closing(connection):
            target = f"{path}?{urlencode(query, doseq=True)}" if query else path
            connection.request(method, target, headers={name.replace("_", "-"): text for name, text in headers.items()})
            reply = connection.getresponse()
            return Answer(reply.status, reply.headers, reply.read())

    def get(self, path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        """Return what the API answers, which must be what was asked for."""
        answer = self.ask(f"/api/v1{path}", query)
        assert HTTPStatus.OK == answer.status, answer.body
        return answer.json

    def until(self, path: str, total: int, **query: object) -> Any:  # noqa: ANN401 - JSON
        """Ask until so many rows match."""
        return wait_until(
            lambda: (found := self.get(path, **query))["total"] == total and found,
            f"there are {total} rows",
            lambda: self.get(path, **query)["total"],
        )


@contextlib.contextmanager
def served(folder: Path, index_url: str = "", *, runs: int = 0) -> Iterator[Site]:
    """Serve a folder of runs, as `wirebench serve` does, in a thread, once so many are in the index."""
    with listen("127.0.0.1", 0) as listener:
        index_url = index_url or find_database_url(folder)
        server = PageServer(make_app(Store(folder, index_url)))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            site = Site(format_url(listener))
            if runs:
                site.until("/runs", runs)
            yield site
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Site]]:
    """Run the command until it says where it is."""
    command = [sys.executable, "-m", "wirebench.cli", "serve", "--port", "0", "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith(f"results of {folder}/ at http://127.0.0.1:"), line
            yield process, Site(line.split()[4])
        finally:
            process.kill()
