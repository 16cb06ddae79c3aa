"""`wireload schema` with real gRPC servers: their messages, by server reflection."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_reflection.v1alpha import reflection
from wirebench_proto import users_pb2

from tests.support.certificates import Certificate, make
from tests.support.services import GRPC_KINDS, Service
from wirebench.system.paths import TOOLS

SERVICE = "wirebench.v1.UserService"


class _Keyed(grpc.ServerInterceptor):
    """Rejects calls without the key."""

    def intercept_service(self, continuation: Any, details: grpc.HandlerCallDetails) -> Any:  # noqa: ANN401 - grpc's
        """Let those pass that have it, as text and as bytes."""
        if {("x-key", "k"), ("x-key-bin", b"k")} <= set(details.invocation_metadata):
            return continuation(details)

        def abort(_: object, context: grpc.ServicerContext) -> None:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "no key")

        return grpc.stream_stream_rpc_method_handler(abort)


@contextmanager
def served(*, certificate: Certificate | None = None, has_key: bool = False) -> Iterator[str]:
    """Serve reflection, and yield the address."""
    server = grpc.server(futures.ThreadPoolExecutor(2), interceptors=[_Keyed()] if has_key else [])
    reflection.enable_server_reflection([SERVICE, reflection.SERVICE_NAME], server)
    if certificate:
        pair = (certificate.key.read_bytes(), certificate.cert.read_bytes())
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def write_schema(folder: Path, **job: object) -> FileDescriptorSet:
    """Run `wireload schema`. Raises CalledProcessError."""
    output = folder / "out.binpb"
    (folder / "job.json").write_text(json.dumps({**job, "output": str(output)}))
    subprocess.run([TOOLS / "wireload", "schema", folder / "job.json"], check=True, capture_output=True, text=True)
    return FileDescriptorSet.FromString(output.read_bytes())


def find_services(described: FileDescriptorSet) -> list[str]:
    """Return the names of all services in a set."""
    return [f"{file.package}.{service.name}" for file in described.file for service in file.service]


@pytest.mark.parametrize("calls", [[], [f"{SERVICE}/GetUser"]])
def test_a_service_describes_itself(tmp_path: Path, calls: list[str]) -> None:
    """All its services but gRPC's own, or those of calls."""
    with served() as address:
        described = write_schema(tmp_path, reflection=address, calls=calls)
    assert [SERVICE] == find_services(described)
    assert users_pb2.DESCRIPTOR.name == described.file[-1].name


@pytest.mark.parametrize("service", GRPC_KINDS, ids=str, indirect=True)
def test_every_runtime_describes_itself(tmp_path: Path, service: Service) -> None:
    """In Python and in Go, as their libraries of gRPC do it."""
    described = write_schema(tmp_path, reflection=str(service.address))
    names = {"UserService", "LedgerService", "EchoService"}
    assert {f"wirebench.v1.{name}" for name in names} == set(find_services(described))


def test_tls_and_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An authority of one's own, and metadata with the values of variables, which no message shows."""
    monkeypatch.setenv("A_KEY", "k")
    certificate = make(tmp_path, "service")
    tls = {"authority": str(certificate.cert)}
    with served(certificate=certificate, has_key=True) as address:
        described = write_schema(
            tmp_path, reflection=address, tls=tls, metadata={"X-Key": "${A_KEY}", "x-key-bin": "aw=="}
        )
        assert [SERVICE] == find_services(described)
        with pytest.raises(subprocess.CalledProcessError) as error:
            write_schema(tmp_path, reflection=address, tls=tls)
    assert f"wireload: {address}: server reflection failed: unknown: PERMISSION_DENIED: no key\n" == error.value.stderr
