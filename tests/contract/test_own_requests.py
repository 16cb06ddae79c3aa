"""What each driver sends is what the application says, byte for byte; and no value of a variable is shown."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import report_run
from tests.support.recorders import Received, Recorder, record_grpc, record_rest
from tests.support.runs import only_run, wirebench
from wirebench.drivers import DRIVERS, Job
from wirebench.model.contract import Driver, Transport
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.scenario import Load
from wirebench.system.paths import CONTRACT
from wirebench.system.processes import Child

SECRET = "s3cret of the tests"  # noqa: S105 - looked for in files
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
WITH_SECRET = {
    "operations": {
        "note": {
            "rest": {"request": "GET /", "headers": {"Authorization": "Bearer ${OWN_TOKEN}"}},
            "grpc": {
                "call": "wirebench.v1.EchoService/Upper",
                "metadata": {"authorization": "Bearer ${OWN_TOKEN}", "trace-bin": "AP8="},
                "message": {"text": "a"},
            },
        }
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


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[HistogramFile, str]]:
    """Return a function that sends a load, and returns what was measured and the driver's arguments."""

    def drive(
        application: object, operation: str, transport: Transport, driver: Driver, address: str
    ) -> tuple[HistogramFile, str]:
        monkeypatch.chdir(tmp_path)  # As relative as a run's folder may be.
        file, descriptors = Path("application.json"), Path("contract.binpb")
        shutil.copy(CONTRACT, descriptors)
        file.write_text(json.dumps(application), encoding="utf-8")
        job = Job(
            cell=report_run.cell(transport, driver=driver, operation=operation, concurrency=2),
            load=Load(model="closed", warmup_s=0.2, window_s=0.5),
            address=address,
            seed=1,
            id_base=30_000_000,
            output=tmp_path / "out.json",
            log=tmp_path / "out.log",
            cores=None,
            application=file,
            descriptors=descriptors,
        )
        arguments = ""

        def watch(child: Child) -> None:
            nonlocal arguments
            arguments += str(child.process.args)

        measured = DRIVERS[driver].run(job, watch)
        return measured, arguments

    return drive


#: Headers that a driver sends beside those that it was given or in another form, apart from its name.
OWN_HEADERS: dict[str, set[str]] = {"k6": set(), "oha": set(), "locust": {"accept-encoding"}, "ghz": set()}


@pytest.mark.parametrize("operation", ["item", "find", "note"])
@pytest.mark.parametrize(
    ("transport", "driver"), [("rest", "k6"), ("rest", "oha"), ("rest", "locust"), ("grpc", "ghz")]
)
def test_drivers_send_the_same_requests(
    transport: Transport,
    driver: Driver,
    operation: str,
    recorder: Recorder,
    drive: Callable[..., tuple[HistogramFile, str]],
) -> None:
    """Method, path and body are those that wireload sends; only these headers differ."""
    if DRIVERS[driver].read_version() is None:
        pytest.skip(f"{driver} is not installed: {DRIVERS[driver].setup}")
    if driver == "oha" and operation != "item":
        pytest.skip("oha varies the URL alone")
    sent = []
    for each in ("wireload", driver):
        recorder.received.clear()
        measured, _ = drive(APPLICATION, operation, transport, each, recorder.address)
        assert {"ok"} == set(measured.requests_total), measured.errors
        headers = {pair for request in recorder.received for pair in request.headers.items()}
        sent.append(({(request.method, request.path, request.body) for request in recorder.received}, headers))
    (ours, our_headers), (theirs, their_headers) = sent
    assert 2 <= len(ours) <= 3
    # Locust takes most of a second to start, and may not have come to all of them.
    assert theirs <= ours if driver == "locust" else theirs == ours
    assert theirs
    assert {name for name, _ in our_headers ^ their_headers} - {"user-agent"} == OWN_HEADERS[driver]


@pytest.mark.parametrize("transport", ["rest", "grpc"])
def test_values_of_variables_are_sent_and_shown_nowhere(
    transport: Transport,
    recorder: Recorder,
    drive: Callable[..., tuple[HistogramFile, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A value stands in no argument and no file."""
    monkeypatch.setenv("OWN_TOKEN", SECRET)
    _, arguments = drive(WITH_SECRET, "note", transport, "wireload", recorder.address)
    headers = recorder.received[0].headers
    assert f"Bearer {SECRET}" == headers["authorization"]
    assert transport == "rest" or str(b"\x00\xff") == headers["trace-bin"]
    assert SECRET not in arguments
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


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
