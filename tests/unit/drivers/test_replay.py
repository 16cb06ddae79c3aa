"""Drivers that replay requests: which they can send, what they are told, and what is made of their reports."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import jobs
from tests.support.scenario_text import read
from wirebench.drivers import DRIVERS
from wirebench.drivers.locust import Locust
from wirebench.drivers.oha import Oha
from wirebench.drivers.replay import Part, ReplayDriver
from wirebench.drivers.wireload import Wireload
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.application import Operation, load_builtin
from wirebench.model.contract import Driver, Transport
from wirebench.plan import driver_support as facts
from wirebench.plan.plan import make_plan
from wirebench.run.preparation import prepare
from wirebench.system.tls import ClientTls
from wirebench.targets import LocalTarget, divide_cores

CELL = dataclasses.replace(jobs.CELL, transport="rest", runtime="gunicorn-gthread", driver="oha", codec="json")
JOB = dataclasses.replace(jobs.JOB, cell=CELL, cores=frozenset({1}))
OTHERS: tuple[Driver, ...] = ("oha", "locust")


@pytest.fixture
def part(tmp_path: Path) -> Part:
    """Return the only part of a job."""
    return Part(0, 0.5, 1.0, tmp_path, started_unix_ns=10**18)


def command(driver: ReplayDriver, part: Part, **factors: object) -> list[str]:
    """Return the command line for a cell that differs from ours in some factors."""
    cell = dataclasses.replace(CELL, driver=driver.name, **factors)  # type: ignore[arg-type]
    return list(map(str, driver.build_arguments(dataclasses.replace(JOB, cell=cell), part)))


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


def test_requests_that_write_are_rendered_once_each(tmp_path: Path) -> None:
    """As many as an open load sends, with other ids in each part; others are some to choose from."""
    output = tmp_path / "out.json"
    cell = dataclasses.replace(CELL, driver="k6", operation="users.create", rate_per_s=20)
    job = dataclasses.replace(JOB, cell=cell, output=output)
    ids = []
    for number in range(2):
        requests = Part(number, 0.5, 1.0, tmp_path).render(job)
        assert len(requests) >= 30
        ids += [json.loads(each.body or "")["id"] for each in requests]
    assert len(ids) == len(set(ids))
    reading = dataclasses.replace(job, cell=CELL)
    assert 1000 == len(Part(0, 0.5, 1.0, tmp_path).render(reading))
    constant = dataclasses.replace(job, cell=dataclasses.replace(CELL, operation="echo.echo"))
    assert 1 == len(Part(0, 0.5, 1.0, tmp_path).render(constant))


@pytest.mark.parametrize("name", OTHERS)
def test_tls_is_what_the_job_says(name: str, part: Part) -> None:
    """The service is asked by https, and its authority is told."""
    driver = DRIVERS[name]
    assert isinstance(driver, ReplayDriver)
    for tls, expected in ((ClientTls(Path("ca")), ["--cacert", "ca"]), (ClientTls(), [])):
        arguments = list(map(str, driver.build_arguments(dataclasses.replace(JOB, tls=tls), part)))
        places = [place for place, each in enumerate(arguments) if each == "--cacert"]
        assert expected == [arguments[place + more] for place in places for more in (0, 1)]
        written = " ".join((*arguments, *(path.read_text() for path in part.folder.glob("urls.txt"))))
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


def test_locust_reports_statuses_and_what_was_raised(part: Part) -> None:
    """Outcomes are in the words of histogram files."""
    part.output.write_text(
        json.dumps([[1, 1, 201, ""], [2, 1, 503, ""], [3, 1, 0, "OSError: no"], [4, 1, 0, "TimeoutError: timed out"]])
    )
    calls = Locust().read(JOB, part).calls
    assert [1, 2, 3, 4] == [call.end_unix_ns for call in calls]
    expected = ["ok", "unavailable: HTTP 503", "unavailable: OSError: no", "deadline_exceeded: TimeoutError: timed out"]
    assert expected == [": ".join(filter(None, (call.code, call.error))) for call in calls]


def write_oha(part: Part, rows: Sequence[tuple[float, float | None, float, int]], errors: dict[str, int]) -> None:
    """Write what oha writes: seconds since its start, and counts of errors."""
    with contextlib.closing(sqlite3.connect(part.folder / "calls.sqlite")) as database, database:
        database.execute("CREATE TABLE oha (start REAL, start_latency_correction REAL, end REAL, status INTEGER)")
        database.executemany("INSERT INTO oha VALUES (?, ?, ?, ?)", rows)
    part.output.write_text(json.dumps({"errorDistribution": errors}))


def test_oha_reports_every_call_that_got_a_reply(part: Part) -> None:
    """Times count from its start. Requests without a reply have no time: they count at the start of the window."""
    write_oha(part, [(0.1, None, 0.3, 200), (0.4, None, 0.45, 404)], {"timeout": 2, "connection closed": 1})
    first, second, *failed = Oha().read(JOB, part).calls
    assert (10**18 + 300_000_000, 200_000_000, "ok", None) == (
        first.end_unix_ns,
        first.latency_ns,
        first.code,
        first.response_ns,
    )
    assert (10**18 + 450_000_000, 50_000_000, "not_found", "HTTP 404") == second[:4]
    assert ["deadline_exceeded", "deadline_exceeded", "unavailable"] == [call.code for call in failed]
    assert {(10**18 + 600_000_000, 0)} == {(call.end_unix_ns, call.latency_ns) for call in failed}


def test_oha_without_replies_is_an_error(part: Part) -> None:
    """The message has the errors."""
    write_oha(part, [], {"connection refused": 7})
    with pytest.raises(WirebenchError, match=r"no call that was answered: connection refused \(7×\)"):
        Oha().read(JOB, part)


def test_oha_measures_a_rate_from_when_a_request_was_due(part: Part) -> None:
    """Response time holds the wait to be sent; what was due and never sent was dropped."""
    write_oha(part, [(0.1, 0.0, 0.3, 200), (0.4, 0.4, 0.45, 200)], {})
    job = dataclasses.replace(JOB, cell=dataclasses.replace(CELL, rate_per_s=4))
    calls, dropped = Oha().read(job, part)
    assert [300_000_000, 50_000_000] == [call.response_ns for call in calls]
    assert 4 == dropped  # of the six that were due in a second and a half
    arguments = command(Oha(), part, rate_per_s=4)
    assert "4" == value(arguments, "-q")
    assert "--latency-correction" in arguments


def test_oha_without_a_result_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what could not be read."""
    monkeypatch.setattr(Oha, "carry_out", lambda *_: None)
    with pytest.raises(WirebenchError, match="can't read what oha reported"):
        Oha().run(dataclasses.replace(JOB, output=tmp_path / "out.json"), lambda _: None)


def test_oha_follows_no_redirects_and_uses_the_cores_that_it_has(part: Part) -> None:
    """A redirect is the reply, as for other drivers; its own default is the machine's cores."""
    arguments = command(Oha(), part)
    assert ("0", "1") == (value(arguments, "-r"), value(arguments, "--worker-threads"))


def test_locust_waits_for_its_users(part: Part) -> None:
    """All are spawned at once, and the run continues until after the window, in whole seconds."""
    arguments = command(Locust(), part)
    assert value(arguments, "--users") == value(arguments, "--spawn-rate")
    assert "3s" == value(arguments, "--run-time")
    assert "0" == value(arguments, "--exit-code-on-error")
