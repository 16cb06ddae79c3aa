"""drivers/python/grpc_client.py: what it rejects, and what is made of what it writes."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc
import pytest
from wirebench_proto import users_pb2

from tests.support import jobs
from tests.support.waiting import TIMEOUT_S, run_program
from wirebench.drivers import DRIVERS
from wirebench.drivers.per_request import Part, PerRequestDriver, classify_grpcio, fold, read_columns
from wirebench.errors import WirebenchError
from wirebench.model.contract import Driver
from wirebench.model.histogram_file import DriverVersion, merge
from wirebench.system.paths import CONTRACT, GRPC_CLIENT
from wirebench.system.processes import list_flags

MS = 1_000_000
START_NS = 10**18
VERSION = DriverVersion(name="grpcio", version="1")


@pytest.fixture(scope="module")
def grpc_client() -> ModuleType:
    """Return the client, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("grpc_client", GRPC_CLIENT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_client(folder: Path, requests: object, descriptors: Path = CONTRACT) -> subprocess.CompletedProcess[str]:
    """Run the client against an address where nothing listens."""
    file = folder / "requests.json"
    file.write_text(json.dumps(requests), encoding="utf-8")
    files = {"--descriptors": descriptors, "--requests": file, "--calls": folder / "calls.json"}
    load = list_flags({"--address": "127.0.0.1:1", "--duration-s": 0.1, **files})
    return run_program([sys.executable, GRPC_CLIENT, *load])


@pytest.mark.parametrize(
    ("call", "message", "expected"),
    [
        ("wirebench.v1.UserService/GetUser", {"id": 1}, "can't connect to 127.0.0.1:1"),
        ("wirebench.v1.UserService/Nothing", {"id": 1}, "wirebench.v1.UserService.Nothing"),
        ("wirebench.v1.UserService/GetUser", {"name": 1}, 'no field named "name"'),
    ],
)
def test_a_load_that_cannot_begin_fails_and_says_why(
    tmp_path: Path, call: str, message: dict[str, object], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No service, a call that isn't in the descriptors, a field that its message doesn't have."""
    monkeypatch.setenv("GRPC_VERBOSITY", "NONE")
    done = run_client(tmp_path, [[call, message, {}]])
    assert 1 == done.returncode
    assert expected in done.stderr
    assert not (tmp_path / "calls.json").exists()


@pytest.mark.parametrize("call", ["wirebench.v1.UserService/GetUser", "wirebench.v1.LedgerService/StreamTransactions"])
def test_an_interrupt_ends_the_load(tmp_path: Path, call: str) -> None:
    """Ctrl-C comes while its users send requests, or read a stream without an end."""
    asked = threading.Event()

    def get(_request: bytes, _context: grpc.ServicerContext) -> bytes:
        asked.set()
        return b""

    def stream(_request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        asked.set()
        while context.is_active():
            yield b""
            time.sleep(0.01)

    service, _, method = call.partition("/")
    handler: Any = grpc.unary_unary_rpc_method_handler(get)
    if method == "StreamTransactions":
        handler = grpc.unary_stream_rpc_method_handler(stream)
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    (tmp_path / "requests.json").write_text(json.dumps([[call, {}, {}]]), encoding="utf-8")
    files = {"--descriptors": CONTRACT, "--requests": tmp_path / "requests.json", "--calls": tmp_path / "calls.json"}
    load = list_flags({"--address": address, "--users": 2, "--duration-s": 600, **files})
    with subprocess.Popen([sys.executable, GRPC_CLIENT, *load], stderr=subprocess.PIPE) as client:
        try:
            assert asked.wait(TIMEOUT_S)
            client.send_signal(signal.SIGINT)
            _, errors = client.communicate(timeout=20)
        finally:
            client.kill()
            server.stop(None).wait()
    assert (130, b"") == (client.returncode, errors)


@pytest.mark.parametrize(
    ("expected", "is_right"),
    [
        ({"data.id": 7}, True),
        ({"data.id": "7"}, True),
        ({"data.id": "8"}, False),
        ({"data.name": ""}, True),
        ({"data.tags.1": "b"}, True),
        ({"data.tags.2": "b"}, False),
        ({"data.tags": ["a", "b"]}, True),
        ({"data.tags": ["a"]}, False),
        ({"data.none": 1}, False),
        ({"data.id.none": 1}, False),
    ],
)
def test_a_reply_is_checked_as_json(expected: dict[str, object], grpc_client: ModuleType, *, is_right: bool) -> None:
    """What is empty is there, a number may be a text, and what is missing is wrong."""
    reply = users_pb2.GetUserResponse(data={"id": 7, "tags": ["a", "b"]})
    assert is_right == grpc_client.answers(reply, expected)


def test_descriptors_that_are_none_are_rejected(tmp_path: Path) -> None:
    """A file that is no descriptor set ends the client before it connects."""
    (tmp_path / "bad.binpb").write_text("no descriptors", encoding="utf-8")
    done = run_client(tmp_path, [["a.B/C", {}, {}]], tmp_path / "bad.binpb")
    assert 1 == done.returncode
    assert "DecodeError" in done.stderr


def write_streams(path: Path) -> None:
    """Write two streams as the client does: one ended, one had no item, and the last was cancelled."""
    columns = {
        "ends_unix_ns": [START_NS + 130 * MS],
        "latencies_ns": [130 * MS],
        "outcome": [0],
        "outcomes": ["OK"],
        "streams": {
            "sent_unix_ns": [START_NS, START_NS + 10 * MS, START_NS + 140 * MS],
            "items": [2, 0, 1],
            "arrivals_unix_ns": [START_NS + 50 * MS, START_NS + 120 * MS, START_NS + 170 * MS],
        },
        "mismatches": 0,
        "cancelled": 1,
    }
    path.write_text(json.dumps(columns), encoding="utf-8")


def test_items_are_timed_from_the_request_or_from_the_item_before(tmp_path: Path) -> None:
    """First items of a window wait since their stream was asked for, the others since the one before."""
    write_streams(tmp_path / "calls.json")
    file = fold(read_columns(tmp_path / "calls.json", classify_grpcio, streams=True), "s", 0.1, 1.0, VERSION)
    waits = {each.clock: each.count for each in file.series}
    assert {"service": 1, "first_item": 1, "gap": 1} == waits
    assert pytest.approx(0.1, rel=0.01) == file.items_sum_s  # 30 ms to a first item, and a gap of 70 ms
    assert file.streams is not None
    assert (3, 1) == (file.streams.items_total, file.streams.cancelled)
    assert 2 == file.sent


def test_parts_of_a_stream_follow_each_other(tmp_path: Path) -> None:
    """Items of each second come one part after the other, and not on top of each other."""
    write_streams(tmp_path / "calls.json")
    part = fold(read_columns(tmp_path / "calls.json", classify_grpcio, streams=True), "s", 0.0, 1.0, VERSION)
    merged = merge([part, part]).streams
    assert merged is not None
    assert (3, 3) == merged.items_per_second


def test_a_load_without_the_items_is_an_error(tmp_path: Path) -> None:
    """A stream's times must be there; one line names the file."""
    (tmp_path / "calls.json").write_text('{"ends_unix_ns": [], "latencies_ns": []}', encoding="utf-8")
    with pytest.raises(WirebenchError, match="can't read what the load was"):
        read_columns(tmp_path / "calls.json", classify_grpcio, streams=True)


@pytest.mark.parametrize("name", ["grpcio", "locust"])
def test_streams_ask_for_the_items_of_their_cell(name: Driver, tmp_path: Path) -> None:
    """The message has the scenario's number of items and rate."""
    driver = DRIVERS[name]
    assert isinstance(driver, PerRequestDriver)
    streams = dataclasses.replace(
        jobs.CELL, driver=name, operation="ledger.stream_transactions", stream_items=7, stream_rate_limit_per_s=50
    )
    driver.build_arguments(dataclasses.replace(jobs.JOB, cell=streams), Part(0, 0.5, 1.0, tmp_path))
    (request,) = json.loads((tmp_path / "requests.json").read_text(encoding="utf-8"))
    assert ["wirebench.v1.LedgerService/StreamTransactions", {"limit": 7, "rate_limit": 50}, {}] == request
