"""Services that answer any request, and keep what they were sent."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import NamedTuple

import grpc

from tests.support.http_servers import QuietHandler, serving


class Received(NamedTuple):
    """A request: method or nothing, path or call, and headers or metadata by their names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Recorder:
    """Where such a service is, and what it was sent."""

    address: str
    received: list[Received] = field(default_factory=list)


@contextlib.contextmanager
def record_rest(answer: Callable[[Received], bytes] = lambda _: b"{}") -> Iterator[Recorder]:
    """Start a REST service that answers with these bytes."""
    received: list[Received] = []

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def keep(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.append(Received(self.command, self.path, headers, body))
            self.answer(200, answer(received[-1]))

        do_GET = do_POST = do_PUT = do_PATCH = keep  # noqa: N815 - names of http.server

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield Recorder(address, received)


@contextlib.contextmanager
def record_grpc(reply: Callable[[bytes], bytes] = lambda request: request) -> Iterator[Recorder]:
    """Start a gRPC service that has any method, and answers with what it was sent, or with another reply."""
    received: list[Received] = []

    class Methods(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
            def answer(request: bytes, _: grpc.ServicerContext) -> bytes:
                metadata = {name: str(value) for name, value in details.invocation_metadata}
                received.append(Received("", details.method, metadata, request))
                return reply(request)

            return grpc.unary_unary_rpc_method_handler(answer)

    server = grpc.server(futures.ThreadPoolExecutor(4), [Methods()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield Recorder(f"127.0.0.1:{port}", received)
    finally:
        server.stop(None).wait()
