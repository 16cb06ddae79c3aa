"""`wireload schema` and `wireload check` with real gRPC servers: their messages, by server reflection."""

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
from wirebench.system.paths import ROOT, TOOLS

SERVICE = "wirebench.v1.UserService"
APPLICATION = """\
operations:
  get:
    grpc:
      call: wirebench.v1.UserService/GetUser
      message: {idd: 1}
variants:
  own: {transport: grpc, address: "127.0.0.1:1"}
"""


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
def served(
    *, with_reflection: bool = True, certificate: Certificate | None = None, has_key: bool = False
) -> Iterator[str]:
    """Serve reflection, and yield the address."""
    server = grpc.server(futures.ThreadPoolExecutor(2), interceptors=[_Keyed()] if has_key else [])
    if with_reflection:
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
        said = find_error(tmp_path, address, tls=tls)
    assert f"wireload: {address}: server reflection failed: unknown: PERMISSION_DENIED: no key\n" == said


def find_error(folder: Path, address: str, **job: object) -> str:
    """Return the line that says why there is no schema."""
    with pytest.raises(subprocess.CalledProcessError) as error:
        write_schema(folder, reflection=address, **job)
    assert 1 == error.value.stderr.count("\n")
    return str(error.value.stderr)


def test_services_that_cannot_be_asked(tmp_path: Path) -> None:
    """Each in one line: without reflection, without the service, and with nothing that listens."""
    with served(with_reflection=False) as address:
        assert "it serves no reflection; give proto files instead" in find_error(tmp_path, address)
    assert "connection refused" in find_error(tmp_path, address)
    with served() as address:
        said = find_error(tmp_path, address, calls=["wirebench.v1.UsersService/GetUser"])
    assert f"has no service wirebench.v1.UsersService; did you mean {SERVICE}?" in said


def test_an_application_is_checked_against_the_messages(tmp_path: Path) -> None:
    """Those that reflection has given; without them, its messages are not known."""
    file = tmp_path / "a.yaml"
    file.write_text(APPLICATION)
    check: list[str | Path] = [TOOLS / "wireload", "check", file]
    assert 0 == subprocess.run(check, check=False).returncode
    found = subprocess.run(
        [*check, "--descriptors", f"own={ROOT / 'proto/contract.binpb'}"], check=False, capture_output=True, text=True
    )
    message = "wirebench.v1.GetUserRequest has no field idd; did you mean id?"
    assert (1, f"{file}:5: operations.get.grpc.message.idd: {message}\n") == (found.returncode, found.stdout)
