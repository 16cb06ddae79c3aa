"""What each driver sends is what the application says, byte for byte, and only what is verified is measured."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.jobs import JOB, cell
from tests.support.recorders import Received, Recorder, record_grpc, record_rest
from tests.support.runs import only_run, wirebench
from wirebench.drivers import DRIVERS
from wirebench.model.contract import Driver, Transport
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.scenario import Load
from wirebench.system.paths import CONTRACT

#: Each has few different requests, so that every driver sends all of them in half a second.
APPLICATION = {
    "operations": {
        "item": {
            "inputs": {"n": {"list": [7, 20, 300]}, "q": {"value": "a b/é"}},
            "rest": {"request": "GET /items/{n}?q={q}", "expect": {"json": {"n": "{n}"}}},
            "grpc": {"call": "wirebench.v1.EchoService/Upper", "message": {"text": "{n} {q}"}},
        },
        "find": {
            "inputs": {"n": {"list": [7, 20, 300]}},
            "rest": {"request": "POST /find", "body": {"n": "{n}", "tags": ["a", "é"], "none": None}},
            "grpc": {"call": "wirebench.v1.UserService/ListUsers", "message": {"limit": "{n}", "after_id": 5}},
        },
        "note": {
            "inputs": {"n": {"list": ["AAAA", "BBBB"]}},
            "rest": {
                "request": "PUT /notes",
                "headers": {"X-N": "<{n}>", "User-Agent": "own"},
                "body": "é {n}\nline 2\u0085",
            },
            "grpc": {
                "call": "wirebench.v1.EchoService/Echo",
                "metadata": {"x-kind": "a"},
                "message": {"payload": "{n}"},
            },
        },
    }
}


def answer(request: Received) -> bytes:
    """Answer with the number of an item, as it is expected."""
    number = request.path.removeprefix("/items/").partition("?")[0]
    return json.dumps({"n": int(number) if number.isdigit() else 0}).encode()


@pytest.fixture
def recorder(transport: Transport) -> Iterator[Recorder]:
    """Start a service of a test's transport."""
    with record_rest(answer) if transport == "rest" else record_grpc(lambda _: b"") as started:
        yield started


def drive(folder: Path, transport: Transport, driver: Driver, operation: str, address: str) -> HistogramFile:
    """Send an operation's load from this folder, and return what was measured."""
    file, descriptors = Path("application.json"), Path("contract.binpb")  # As relative as a run's folder may be.
    shutil.copy(CONTRACT, descriptors)
    file.write_text(json.dumps(APPLICATION), encoding="utf-8")
    of, load = cell(transport, driver, operation=operation, concurrency=2), Load(warmup_s=0.2, window_s=0.5)
    job = replace(JOB, cell=of, load=load, address=address, output=folder / "out.json", log=folder / "out.log")
    return DRIVERS[driver].run(replace(job, application=file, descriptors=descriptors), lambda _: None)


#: Headers that a driver sends beside those that it was given or in another form, apart from its name.
OWN_HEADERS: dict[str, set[str]] = {"k6": set(), "oha": set(), "locust": {"accept-encoding"}, "ghz": set()}


@pytest.mark.parametrize("operation", ["item", "find", "note"])
@pytest.mark.parametrize(
    ("transport", "driver"), [("rest", "k6"), ("rest", "oha"), ("rest", "locust"), ("grpc", "ghz")]
)
def test_drivers_send_the_same_requests(  # noqa: PLR0913, PLR0917 - fixtures
    transport: Transport,
    driver: Driver,
    operation: str,
    recorder: Recorder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Method, path and body are those that wireload sends; only these headers differ."""
    if DRIVERS[driver].read_version() is None:
        pytest.skip(f"{driver} is not installed: {DRIVERS[driver].setup}")
    if driver == "oha" and operation != "item":
        pytest.skip("oha varies the URL alone")
    monkeypatch.chdir(tmp_path)
    sent = []
    for each in ("wireload", driver):
        recorder.received.clear()
        measured = drive(tmp_path, transport, each, operation, recorder.address)
        assert {"ok"} == set(measured.requests_total), measured.errors
        headers = {pair for request in recorder.received for pair in request.headers.items()}
        sent.append(({(request.method, request.path, request.body) for request in recorder.received}, headers))
    (ours, our_headers), (theirs, their_headers) = sent
    assert 2 <= len(ours) <= 3
    # Locust takes most of a second to start, and may not have come to all of them.
    assert theirs <= ours if driver == "locust" else theirs == ours
    assert theirs
    assert {name for name, _ in our_headers ^ their_headers} - {"user-agent"} == OWN_HEADERS[driver]


def test_requests_are_verified_before_anything_is_written(tmp_path: Path) -> None:
    """Replies that differ leave no folder; where none comes in the window, a gate fails, and the command."""
    number = itertools.count()

    def answer_slowly(request: Received) -> bytes:
        time.sleep(0 if next(number) < 30 else 3)  # after verification
        return request.path.encode()

    options = ("--duration", "1s", "--blocks", "1", "--concurrency", "1", "--out", tmp_path / "results")
    with record_rest(answer_slowly) as service:
        one, other = (f"GET http://{service.address}/{path}" for path in "ab")
        failed = wirebench("run", "--rest", one, "--rest", other, *options)
        assert (1, False) == (failed.returncode, (tmp_path / "results").exists())
        assert "--ignore-bodies" in failed.stderr
        done = wirebench("run", "--rest", one, *options)
    assert 1 == done.returncode
    assert "error: nothing was measured" in done.stderr
    (record,) = only_run(tmp_path / "results").records
    assert "replies" in {gate.name for gate in record.gates if not gate.passed}
