"""Drivers send the headers, metadata and texts of a user's own application, and show no value of a variable."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from http.server import ThreadingHTTPServer
from pathlib import Path

import grpc
import pytest
from wirebench_proto import echo_pb2, echo_pb2_grpc

from tests.support import report_run
from tests.support.http_servers import QuietHandler, serving
from wirebench.drivers import DRIVERS, Job
from wirebench.model.application import Application
from wirebench.model.cell import Cell
from wirebench.model.contract import Driver, Transport
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.scenario import Load
from wirebench.system.paths import CONTRACT
from wirebench.system.processes import Child

pytestmark = pytest.mark.skipif(
    any(DRIVERS[name].read_version() is None for name in ("wireload", "k6", "ghz")),
    reason="drivers are missing: make setup-cross-check",
)

#: What a driver wrote, and its arguments.
Driven = tuple[HistogramFile, str]
SECRET = "s3cret of the tests"  # noqa: S105 - looked for in files
#: Its operation has the name of one of the built-in application's, and other requests.
APPLICATION = Application.model_validate(
    {
        "operations": {
            "echo.upper": {
                "inputs": {"n": {"range": [10, 99]}},
                "rest": {
                    "request": "POST /own?n={n}",
                    "headers": {"Authorization": "Bearer ${OWN_TOKEN}", "X-N": "<{n}>", "User-Agent": "own"},
                    "body": "text {n}",
                    "expect": {"status": 202, "contains": "text {n}"},
                },
                "grpc": {
                    "call": "wirebench.v1.EchoService/Upper",
                    "metadata": {"authorization": "Bearer ${OWN_TOKEN}", "x-n": "<{n}>", "trace-bin": "AP8="},
                    "message": {"text": "text {n}"},
                    "expect": {"data.text": "TEXT {n}"},
                },
            },
        }
    }
)
#: Other drivers send JSON without headers.
ITEMS = Application.model_validate(
    {
        "operations": {
            "echo.upper": {
                "inputs": {"n": {"range": [10, 99]}},
                "rest": {"request": "GET /items/{n}", "expect": {"json": {"n": "{n}"}}},
            },
        }
    }
)
#: ghz has neither secrets nor metadata that differs from call to call.
PLAIN = Application.model_validate(
    {
        "operations": {
            "echo.upper": {
                "grpc": {
                    "call": "wirebench.v1.EchoService/Upper",
                    "metadata": {"authorization": f"Bearer {SECRET}", "x-n": "<11>", "Trace-Bin": "AP8"},
                    "message": {"text": "text 11"},
                },
            },
        }
    }
)


@dataclasses.dataclass
class Seen:
    """What a service was sent."""

    address: str
    requests: int = 0
    wrong: list[str] = dataclasses.field(default_factory=list)

    def check(self, found: Mapping[str, object], expected: Mapping[str, object]) -> None:
        """Count a request, and note it if it isn't as expected."""
        self.requests += 1
        if found != expected:
            self.wrong.append(f"{found} and not {expected}")


@pytest.fixture
def rest() -> Iterator[Seen]:
    """Start a REST service that answers with a request's body, or with the item that it names."""
    seen = Seen("")

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            number = body.decode().removeprefix("text ")
            names = ("Authorization", "X-N", "User-Agent", "Content-Type")
            expected = (f"Bearer {SECRET}", f"<{number}>", "own", "text/plain; charset=utf-8")
            found = {"path": self.path, **{name: ",".join(self.headers.get_all(name, [])) for name in names}}
            seen.check(found, {"path": f"/own?n={number}", **dict(zip(names, expected, strict=True))})
            self.answer(202, body)

        def do_GET(self) -> None:
            number = self.path.removeprefix("/items/")
            seen.check({"is number": number.isdigit()}, {"is number": True})
            self.answer(200, json.dumps({"n": int(number)}).encode())

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as seen.address:
        yield seen


@pytest.fixture
def echo() -> Iterator[Seen]:
    """Start a gRPC service that answers with its text in upper case."""
    seen = Seen("")

    class Servicer(echo_pb2_grpc.EchoServiceServicer):
        def Upper(self, request: echo_pb2.UpperRequest, context: grpc.ServicerContext) -> echo_pb2.UpperResponse:  # noqa: N802 - gRPC's
            metadata = dict(context.invocation_metadata())
            expected: dict[str, object] = {
                "authorization": f"Bearer {SECRET}",
                "x-n": f"<{request.text.removeprefix('text ')}>",
                "trace-bin": b"\x00\xff",
            }
            seen.check({name: metadata.get(name) for name in expected}, expected)
            return echo_pb2.UpperResponse(success=True, data=echo_pb2.Text(text=request.text.upper()))

    server = grpc.server(futures.ThreadPoolExecutor(4))
    echo_pb2_grpc.add_EchoServiceServicer_to_server(Servicer(), server)  # type: ignore[abstract] # no other method is called
    seen.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield seen
    server.stop(None).wait()


def cell(transport: Transport, driver: Driver) -> Cell:
    """Return a small cell."""
    return report_run.cell(transport, driver=driver, operation="echo.upper", concurrency=2)


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Application, Cell, Seen], Driven]:
    """Return a function that sends a load."""

    def drive(application: Application, cell: Cell, seen: Seen) -> Driven:
        monkeypatch.chdir(tmp_path)  # As relative as a run's folder may be.
        requests, descriptors = Path("application.json"), Path("contract.binpb")
        shutil.copy(CONTRACT, descriptors)
        requests.write_text(application.model_dump_json(exclude_unset=True, by_alias=True), encoding="utf-8")
        job = Job(
            cell=cell,
            load=Load(model="closed", warmup_s=0.2, window_s=0.5),
            address=seen.address,
            seed=1,
            id_base=30_000_000,
            output=tmp_path / "out.json",
            log=tmp_path / "out.log",
            cores=None,
            application=application,
            requests=requests,
            descriptors=descriptors,
        )
        arguments = ""

        def watch(child: Child) -> None:
            nonlocal arguments
            arguments += str(child.process.args)

        (file,) = DRIVERS[cell.driver].run(job, watch)
        return file, arguments

    return drive


@pytest.fixture
def send(drive: Callable[[Application, Cell, Seen], Driven]) -> Callable[[Application, Cell, Seen], str]:
    """Return a function that sends a load, checks that all of it was right, and returns the driver's arguments."""

    def send(application: Application, cell: Cell, seen: Seen) -> str:
        file, arguments = drive(application, cell, seen)
        assert {"ok"} == set(file.requests_total), file.errors
        assert [] == seen.wrong[:3]
        assert seen.requests >= file.requests_total["ok"] > 0
        assert 0 == file.mismatches
        return arguments

    return send


@pytest.mark.parametrize("transport", ["rest", "grpc"])
def test_headers_metadata_and_texts_are_sent(
    transport: Transport,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Each request has what the application says; the value of a variable stands in no argument and no file."""
    monkeypatch.setenv("OWN_TOKEN", SECRET)
    seen, send = request.getfixturevalue({"rest": "rest", "grpc": "echo"}[transport]), request.getfixturevalue("send")
    arguments = send(APPLICATION, cell(transport, "wireload"), seen)
    assert "wireload" in arguments
    assert SECRET not in arguments
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_ghz_sends_metadata(echo: Seen, send: Callable[[Application, Cell, Seen], str]) -> None:
    """The call, the messages and the metadata are those of the application."""
    assert "--call" in send(PLAIN, cell("grpc", "ghz"), echo)


@pytest.mark.parametrize("driver", ["wireload", "k6", "oha", "locust"])
def test_every_driver_of_rest_reads_items(
    driver: Driver, rest: Seen, send: Callable[[Application, Cell, Seen], str]
) -> None:
    """What is JSON and without headers, each of them can send."""
    if DRIVERS[driver].read_version() is None:
        pytest.skip(f"{driver} is not installed: {DRIVERS[driver].setup}")
    send(ITEMS, cell("rest", driver), rest)
