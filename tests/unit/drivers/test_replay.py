"""Drivers that replay requests: which they can send, what they are told, and what is made of their reports."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import jobs
from tests.support.scenario_text import read
from wirebench.drivers import DRIVERS, Job
from wirebench.drivers.driver import ID_STEP
from wirebench.drivers.locust import Locust
from wirebench.drivers.oha import Oha
from wirebench.drivers.replay import ReplayDriver, render
from wirebench.drivers.wireload import Wireload
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.application import Operation, load_builtin
from wirebench.model.contract import Driver, Transport
from wirebench.plan import driver_support as facts
from wirebench.plan.plan import make_plan
from wirebench.run.preparation import prepare
from wirebench.system.tls import ClientTls
from wirebench.targets.cores import divide_cores
from wirebench.targets.local import LocalTarget

CELL = dataclasses.replace(jobs.CELL, transport="rest", runtime="gunicorn-gthread", driver="oha", codec="json")
JOB = dataclasses.replace(jobs.JOB, cell=CELL, cores=frozenset({1}))
OTHERS: tuple[Driver, ...] = ("oha", "locust")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a job whose files are in a folder."""
    return dataclasses.replace(JOB, output=tmp_path / "calls")


def command(driver: ReplayDriver, job: Job, **factors: object) -> list[str]:
    """Return the command line for a cell that differs from the job's in some factors."""
    cell = dataclasses.replace(job.cell, driver=driver.name, **factors)  # type: ignore[arg-type]
    asked = dataclasses.replace(job, cell=cell)
    return list(map(str, driver.build_arguments(asked, render(asked))))


def value(arguments: Sequence[str], flag: str) -> str:
    """Return what stands after a flag."""
    return arguments[arguments.index(flag) + 1]


@pytest.mark.parametrize(
    ("driver", "transport", "request_", "why"),
    [
        ("k6", "rest", {"request": "GET /a", "expect": {"status": 204}}, ""),
        ("k6", "rest", {"request": "POST /a", "body": {"a": 1}}, ""),
        ("ghz", "grpc", {"call": "a.B/C", "metadata": {"a": "${A}"}}, "environment variables"),
        ("ghz", "grpc", {"call": "a.B/C", "metadata": {"a": "{n}"}}, "the same metadata"),
        ("ghz", "grpc", {"call": "a.B/C", "metadata": {"a": "b"}}, ""),
        ("oha", "rest", {"request": "GET /a", "headers": {"a": "b"}}, ""),
        ("oha", "rest", {"request": "GET /a", "headers": {"a": "{n}"}}, "varies the URL alone"),
        ("oha", "rest", {"request": "POST /a", "body": {"a": 1}}, "varies the URL alone"),
        *(
            (name, "rest", {"request": "GET /a", "expect": {"status": 404}}, "counts status 404 as a failure")
            for name in ("oha", "locust", "k6")
        ),
        ("locust", "rest", {"request": "POST /a", "body": "text", "headers": {"a": "{n}"}}, ""),
        ("wireload", "socket", {"line": "PING"}, ""),
    ],
)
def test_what_a_driver_cannot_send_is_known(
    driver: Driver, transport: Transport, request_: dict[str, object], why: str
) -> None:
    """A plan says so before anything starts."""
    operation = Operation.model_validate({"inputs": {"n": {"counter": 1}}, transport: request_})
    found = facts.explain_unsupported(driver, jobs.cell(transport, driver), [operation])
    assert why in found
    assert (why == "") == (found == "")


@pytest.mark.parametrize(
    ("driver", "name", "rate_per_s", "why"),
    [
        ("k6", "users.create", 100, ""),
        ("k6", "users.create", None, "sent once"),
        ("ghz", "users.create", None, "sent once"),
        ("k6", "users.delete", 100, "has to be created before"),
        ("ghz", "ledger.stream_transactions", None, "one reply each"),
        ("oha", "users.list", 100, ""),
    ],
)
def test_what_cannot_be_replayed_is_known(driver: Driver, name: str, rate_per_s: int | None, why: str) -> None:
    """Requests that write are rendered where it is known how many a load sends."""
    transport: Transport = "grpc" if driver == "ghz" else "rest"
    cell = jobs.cell(transport, driver, operation=name, rate_per_s=rate_per_s)
    found = facts.explain_unsupported(driver, cell, [load_builtin().operations[name]])
    assert why in found
    assert (why == "") == (found == "")


def test_requests_that_write_are_rendered_once_each(job: Job) -> None:
    """As many as an open load sends, with other ids in each part; others are some to choose from."""
    cell = dataclasses.replace(CELL, driver="k6", operation="users.create", rate_per_s=20)
    ids = []
    for number in range(2):
        part = dataclasses.replace(job, cell=cell, id_base=job.id_base + number * ID_STEP)
        requests = render(part)
        assert len(requests) >= 30
        ids += [json.loads(each.body or "")["id"] for each in requests]
    assert len(ids) == len(set(ids))
    assert 1000 == len(render(job))
    assert 1 == len(render(dataclasses.replace(job, cell=dataclasses.replace(CELL, operation="echo.echo"))))


@pytest.mark.parametrize("name", OTHERS)
def test_tls_is_what_the_job_says(name: str, job: Job) -> None:
    """The service is asked by https, and its authority is told."""
    driver = DRIVERS[name]
    assert isinstance(driver, ReplayDriver)
    for tls, expected in ((ClientTls(Path("ca")), ["--cacert", "ca"]), (ClientTls(), [])):
        arguments = command(driver, dataclasses.replace(job, tls=tls))
        places = [place for place, each in enumerate(arguments) if each == "--cacert"]
        assert expected == [arguments[place + more] for place in places for more in (0, 1)]
        written = " ".join((*arguments, *(path.read_text() for path in job.output.parent.glob("urls.txt"))))
        assert "https://127.0.0.1:1" in written
        assert "http://" not in written


def test_a_driver_that_is_not_installed_is_an_error_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next step is the make target that installs it."""
    monkeypatch.setattr(Oha, "read_version", lambda _: None)
    plan = make_plan(read(tmp_path, "question: x\nfactors: {transport: rest, driver: oha}\n"), 1)
    with pytest.raises(UsageError, match="the driver oha is not at") as error:
        prepare(plan, LocalTarget(divide_cores(), lambda name: tmp_path / name))
    hint = "run `make driver-oha`, or measure without it: `--driver wireload`; nothing was started"
    assert hint == error.value.hint


def test_wireload_renders_what_another_driver_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run by another driver alone needs it too."""
    monkeypatch.setattr(Oha, "read_version", lambda _: "1")
    monkeypatch.setattr(Wireload, "read_version", lambda _: None)
    plan = make_plan(read(tmp_path, "question: x\nfactors: {transport: rest, driver: oha}\n"), 1)
    with pytest.raises(UsageError, match="the driver wireload is not at"):
        prepare(plan, LocalTarget(divide_cores(), lambda name: tmp_path / name))


def test_locust_reports_statuses_and_what_was_raised(job: Job) -> None:
    """Outcomes are in the words of histogram files."""
    job.output.write_text(
        json.dumps([[1, 1, 201, ""], [2, 1, 503, ""], [3, 1, 0, "OSError: no"], [4, 1, 0, "TimeoutError: timed out"]])
    )
    calls = Locust().read(job).calls
    assert [1, 2, 3, 4] == [call.end_unix_ns for call in calls]
    expected = ["ok", "unavailable: HTTP 503", "unavailable: OSError: no", "deadline_exceeded: TimeoutError: timed out"]
    assert expected == [": ".join(filter(None, (call.code, call.error))) for call in calls]


def write_oha(job: Job, rows: Sequence[tuple[float, float | None, float, int]], errors: dict[str, int]) -> None:
    """Write what oha writes: seconds since its start, and counts of errors."""
    urls = job.output.with_name("urls.txt")
    urls.touch()
    os.utime(urls, ns=(10**18, 10**18))
    with contextlib.closing(sqlite3.connect(job.output.with_name("calls.sqlite"))) as database, database:
        database.execute("CREATE TABLE oha (start REAL, start_latency_correction REAL, end REAL, status INTEGER)")
        database.executemany("INSERT INTO oha VALUES (?, ?, ?, ?)", rows)
    job.output.write_text(json.dumps({"errorDistribution": errors}))


def test_oha_reports_every_call_that_got_a_reply(job: Job) -> None:
    """Times count from its start. Requests without a reply have no time: they count at the start of the window."""
    write_oha(job, [(0.1, None, 0.3, 200), (0.4, None, 0.45, 404)], {"timeout": 2, "connection closed": 1})
    first, second, *failed = Oha().read(job).calls
    assert (10**18 + 300_000_000, 200_000_000, "ok", None) == (
        first.end_unix_ns,
        first.latency_ns,
        first.code,
        first.response_ns,
    )
    assert (10**18 + 450_000_000, 50_000_000, "not_found", "HTTP 404") == second[:4]
    assert ["deadline_exceeded", "deadline_exceeded", "unavailable"] == [call.code for call in failed]
    assert {(10**18 + 600_000_000, 0)} == {(call.end_unix_ns, call.latency_ns) for call in failed}


def test_oha_without_replies_is_an_error(job: Job) -> None:
    """The message has the errors."""
    write_oha(job, [], {"connection refused": 7})
    with pytest.raises(WirebenchError, match=r"no call that was answered: connection refused \(7×\)"):
        Oha().read(job)


def test_oha_measures_a_rate_from_when_a_request_was_due(job: Job) -> None:
    """Response time holds the wait to be sent; what was due and never sent was dropped."""
    write_oha(job, [(0.1, 0.0, 0.3, 200), (0.4, 0.4, 0.45, 200)], {})
    calls, dropped = Oha().read(dataclasses.replace(job, cell=dataclasses.replace(CELL, rate_per_s=4)))
    assert [300_000_000, 50_000_000] == [call.response_ns for call in calls]
    assert 4 == dropped  # of the six that were due in a second and a half
    arguments = command(Oha(), job, rate_per_s=4)
    assert "4" == value(arguments, "-q")
    assert "--latency-correction" in arguments


def test_oha_without_a_result_is_an_error(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what could not be read."""
    monkeypatch.setattr(Oha, "carry_out", lambda *_: None)
    with pytest.raises(WirebenchError, match="can't read what oha reported"):
        Oha().run(job, lambda _: None)


def test_oha_follows_no_redirects_and_uses_the_cores_that_it_has(job: Job) -> None:
    """A redirect is the reply, as for other drivers; its own default is the machine's cores."""
    arguments = command(Oha(), job)
    assert ("0", "1") == (value(arguments, "-r"), value(arguments, "--worker-threads"))


def test_locust_waits_for_its_users(job: Job) -> None:
    """All are spawned at once, and the run continues until after the window, in whole seconds."""
    arguments = command(Locust(), job)
    assert value(arguments, "--users") == value(arguments, "--spawn-rate")
    assert "3s" == value(arguments, "--run-time")
    assert "0" == value(arguments, "--exit-code-on-error")
