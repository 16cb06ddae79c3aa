"""Why not one request of a load succeeded, in the words of a client of ours."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_prometheus import answering
from tests.support.histogram_files import make_file
from tests.support.report_run import cell
from wirebench.drivers import Job
from wirebench.measure.observe import explain_failure
from wirebench.model.contract import Transport
from wirebench.model.histogram_file import ErrorText, HistogramFile
from wirebench.model.scenario import Load
from wirebench.system.tls import ClientTls

TRANSPORTS: tuple[Transport, ...] = ("rest", "grpc", "socket")

LOAD = Load(model="closed", warmup_s=0.5, window_s=1.0)


@pytest.fixture
def deserted() -> Iterator[str]:
    """Return an address that is taken, and where nothing listens."""
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def file(*errors: ErrorText, **requests_total: int) -> HistogramFile:
    """Return what a driver measured."""
    return make_file(requests_total=requests_total, errors=errors)


FAILED = file(
    ErrorText(code="unavailable", message="EOF", count=9), ErrorText(code="other", message="?", count=1), unavailable=10
)


def job(transport: Transport, address: str, *replicas: str, tls: ClientTls | None = None) -> Job:
    """Return a load on a service at an address."""
    output, log = Path("out.json"), Path("out.log")
    return Job(cell(transport), LOAD, address, 1, 30_000_000, output, log, None, replicas=replicas, tls=tls)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_first_error_says_why(transport: Transport, deserted: str) -> None:
    """What our client found is added to the most frequent error, with the next step; the others stay as they are."""
    first, second = explain_failure(FAILED, job(transport, deserted)).errors

    assert f"EOF (nothing listens at {deserted}: start the service, or correct the address)" == first.message
    assert ("unavailable", 9) == (first.code, first.count)
    assert FAILED.errors[1] == second


def test_a_replica_is_asked_where_the_client_balances(deserted: str) -> None:
    """The name of a service in a cluster need not be known here; its replicas' addresses are."""
    explained = explain_failure(FAILED, job("rest", "nowhere.invalid:1", deserted))
    assert f"nothing listens at {deserted}" in explained.errors[0].message


def test_files_that_can_not_be_used_any_more_are_said(deserted: str, tmp_path: Path) -> None:
    """Certificates that were good when the run began may have gone: the run continues, and its error says so."""
    missing = ClientTls(tmp_path / "missing.crt")
    explained = explain_failure(FAILED, job("rest", deserted, tls=missing))
    assert f"can't read {missing.authority}: No such file or directory" in explained.errors[0].message


@pytest.mark.parametrize("measured", [file(), file(FAILED.errors[0], ok=1, unavailable=9)], ids=["nothing", "some"])
def test_no_service_is_asked_where_a_request_succeeded_or_none_was_sent(measured: HistogramFile, deserted: str) -> None:
    """Then the driver's own errors say what there is to say."""
    assert measured == explain_failure(measured, job("rest", deserted))


def test_a_service_that_answers_us_explains_nothing() -> None:
    """Where our client gets its reply, the driver's words stay alone."""
    body = b'{"success": true, "data": {"id": 1000001}, "message": ""}'
    with answering(lambda handler, *_: handler.answer(200, body, {"Content-Type": "application/json"})) as url:
        assert FAILED == explain_failure(FAILED, job("rest", url.removeprefix("http://")))
