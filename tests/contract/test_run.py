"""`wirebench run` for real: real services, real k6 and ghz, and what happens when something goes wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import certificates
from tests.contract.services import ASYNCIO, started
from wirebench.drivers import DRIVERS
from wirebench.drivers.driver import SETUP
from wirebench.scenario import ServiceSpec
from wirebench.store import Run, load_run
from wirebench.targets import LocalTarget, divide_cores

WIREBENCH = Path(sys.executable).parent / "wirebench"
TINY = """\
question: Does a tiny run hold together?
factors:
  transport: [rest, grpc, socket]
  operation: [users.get, users.create]
  concurrency: 4
  driver: {grpc: [k6, ghz]}
load: {model: closed, warmup_s: 0.3, window_s: 0.8}
blocks: 2
"""
ONE_CELL = "question: How fast is one?\nfactors: {transport: socket}\nload: {warmup_s: 0.1, window_s: 0.5}\nblocks: 1\n"
LONG = TINY.replace("blocks: 2", "blocks: 20")

pytestmark = pytest.mark.skipif(
    any(driver.version() is None for driver in DRIVERS.values() if driver.setup == SETUP),
    reason="k6 and ghz are not built: make setup",
)


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a scenario file."""

    def write(text: str) -> Path:
        path = tmp_path / "tiny.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def wirebench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run([WIREBENCH, *arguments], capture_output=True, text=True, timeout=110, check=False)


@contextmanager
def running(scenario: Path, out: Path, records: int) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """Start a run, and yield it with all its processes once so many records are on disk; check that none is left."""
    process = subprocess.Popen(
        [WIREBENCH, "run", scenario, "--out", out, "--seed", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    family: list[psutil.Process] = []
    try:
        deadline = time.monotonic() + 60
        while len(list(out.glob("*/records/*.json"))) < records:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.4)  # into the next cell
        family = psutil.Process(process.pid).children(recursive=True)
        yield process, family
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
        _, alive = psutil.wait_procs(family, timeout=20)
        for each in alive:
            each.kill()
        assert [] == [each.cmdline() for each in alive]


@contextmanager
def interruptible_run(scenario: Path, out: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a run to be interrupted; end it if it goes on."""
    arguments = [str(each) for each in (WIREBENCH, "run", scenario, "--out", out)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def only_run(out: Path) -> Run:
    """Return the one run of a results folder."""
    (path,) = out.glob("*/run.json")
    return load_run(path.parent)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Any]]:
    """Run the tiny scenario once; return it as it is on disk, and as it was printed."""
    folder = tmp_path_factory.mktemp("tiny")
    path = folder / "tiny.yaml"
    path.write_text(TINY, encoding="utf-8")
    done = wirebench("run", path, "--out", folder / "results", "--seed", "7", "--json")
    assert 0 == done.returncode, done.stderr
    return only_run(folder / "results"), json.loads(done.stdout)


def test_a_run_is_complete_and_holds_every_cell_of_every_block(tiny: tuple[Run, dict[str, Any]]) -> None:
    """Eight cells in two blocks are sixteen records, with a histogram file each, and a report."""
    run, printed = tiny
    assert "complete" == run.info.status
    assert 16 == len(run.records) == len({record.id for record in run.records}) == len(printed["records"])
    assert all((run.folder / record.histogram_file).is_file() for record in run.records)
    assert (run.folder / "report.html").read_text().startswith("<!doctype html>")
    assert run.info.conformance_requests > 0
    assert () == run.info.conformance_mismatches


def test_driver_and_server_count_the_same_requests(tiny: tuple[Run, dict[str, Any]]) -> None:
    """What every driver sent is what the service's own counters say, to the request."""
    for record in tiny[0].records:
        assert record.server.requests_by_worker is not None
        assert record.requests_total == sum(record.server.requests_by_worker.values()), record.id
        assert record.requests <= record.requests_total


def test_figures_are_plausible(tiny: tuple[Run, dict[str, Any]]) -> None:
    """Rates, latencies, CPU and bytes fit together in every record."""
    for record in tiny[0].records:
        assert {} == record.errors, record.error_texts
        assert record.requests / record.window_s == pytest.approx(record.rate_achieved_per_s)
        assert record.service is not None
        assert record.requests == record.service.count
        assert 0 < record.service.min_ms <= record.service.p50_ms <= record.service.p99_ms <= record.service.max_ms
        # Little's law of a closed load: four requests are on the way, or less where the generator thinks between them.
        assert record.rate_achieved_per_s * record.service.mean_ms / 1000 < 4.4, record.id
        assert record.response is None
        assert record.server.cpu_ms_per_request is not None
        assert 0 < record.server.cpu_ms_per_request < 20
        assert record.server.memory_bytes is not None
        assert record.server.memory_bytes > 10_000_000
        if record.factors["driver"] == "k6":
            assert record.bytes_sent_per_request is not None
            assert record.bytes_received_per_request is not None
            assert 10 < record.bytes_sent_per_request < 1000
            assert 30 < record.bytes_received_per_request < 1000


def test_results_and_report_can_be_had_again(tiny: tuple[Run, dict[str, Any]], tmp_path: Path) -> None:
    """The commands find the run and say the same as when it ended."""
    run, printed = tiny
    shown = wirebench("results", "--run", run.folder, "--json")
    assert printed["comparisons"] == json.loads(shown.stdout)["comparisons"]
    written = wirebench("report", "--run", run.folder, "--to", tmp_path / "again.html")
    assert (0, f"{tmp_path / 'again.html'}\n") == (written.returncode, written.stdout)
    assert run.info.id in wirebench("list", "--out", run.folder.parent).stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_cells_and_leaves_nothing_running(
    scenario: Callable[[str], Path], tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C and `kill` end with status 130; what was finished stays, marked incomplete."""
    out = tmp_path / "results"
    with running(scenario(LONG), out, records=2) as (process, _):
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        assert 130 == process.returncode
    assert "stopping …" in errors
    assert "Traceback" not in errors
    run = only_run(out)
    assert ("incomplete", f"it was interrupted ({number.name})") == (run.info.status, run.info.reason)
    assert len(run.records) >= 2
    assert 0 == wirebench("results", "--run", "last", "--out", out).returncode


def test_a_killed_run_leaves_nothing_running(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Even SIGKILL, which nobody can handle, ends services and driver; the records stay readable."""
    out = tmp_path / "results"
    with running(scenario(LONG), out, records=1) as (process, _):
        process.kill()
    assert ("incomplete", "it was killed") == (only_run(out).info.status, only_run(out).info.reason)


def test_a_service_that_dies_is_named_with_its_last_words(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """One clear line, the service's log, status 1."""
    out = tmp_path / "results"
    with running(scenario(LONG), out, records=1) as (process, family):
        supervisor = next(each for each in family if "wirebench-socket" in " ".join(each.cmdline()))
        supervisor.children()[0].kill()
        _, errors = process.communicate(timeout=60)
        assert 1 == process.returncode
    assert "error: the service socket-asyncio-w1-memory ended with status 1" in errors
    assert "SIGKILL" in errors
    assert "Traceback" not in errors
    assert "incomplete" == only_run(out).info.status


def test_a_driver_that_fails_is_named(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """A driver that is ended from outside is one clear line and status 1."""
    out = tmp_path / "results"
    with running(scenario(LONG), out, records=1) as (process, _):
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            for each in psutil.Process(process.pid).children():
                if each.name() in {"k6", "ghz"}:
                    each.kill()
            time.sleep(0.02)
        _, errors = process.communicate(timeout=60)
        assert 1 == process.returncode
    assert "was ended by SIGKILL" in errors
    assert "Traceback" not in errors


def test_an_external_target_is_loaded_but_not_restarted(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Services that somebody else started are measured by address; what can't be seen there is absent."""
    target = LocalTarget(divide_cores(), lambda name: tmp_path / f"{name}.log")
    services = [ServiceSpec("rest", "uvicorn", 1, None, "memory"), ServiceSpec("socket", "asyncio", 1, None, "memory")]
    try:
        rest, socket = target.start(services).values()
        text = TINY.replace("[rest, grpc, socket]", "[rest, socket]").replace("  driver: {grpc: [k6, ghz]}\n", "")
        addresses = ["--rest", f"http://{rest.address}", "--socket", socket.address]
        runs = []
        # Twice in the same order: the users that the first run has created are no hindrance to the second.
        for out in (tmp_path / "first", tmp_path / "second"):
            done = wirebench("run", scenario(text), "--seed", "1", "--target", "external", *addresses, "--out", out)
            assert 0 == done.returncode, done.stderr
            runs.append(only_run(out))
        target.check()
    finally:
        target.stop()
    for run in runs:
        assert "complete" == run.info.status
        assert 8 == len(run.records)
        assert any("services were not restarted" in note for note in run.info.notes)
        assert any("users that it creates stay" in note for note in run.info.notes)
        for record in run.records:
            assert {} == record.errors
            assert (None, None) == (record.server.cpu_ms_per_request, record.server.requests_by_worker)


def test_what_a_killed_service_leaves_is_ended(tmp_path: Path) -> None:
    """Workers that don't even notice that their supervisor was killed are gone when the target has stopped."""
    target = LocalTarget(divide_cores(), lambda name: tmp_path / f"{name}.log")
    (endpoint,) = target.start([ServiceSpec("rest", "gunicorn-gthread", 2, None, "sqlite")]).values()
    supervisor = psutil.Process(endpoint.replicas[0].root_pid)
    family = supervisor.children(recursive=True)
    for each in family:
        each.suspend()
    supervisor.kill()
    target.stop()
    assert len(family) > 2
    assert [] == [each for each in family if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def test_an_open_load_measures_response_time(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """At a fixed rate every request has both clocks, and waits at least as long as it is served."""
    text = TINY.replace("model: closed", "model: open").replace("  driver: {grpc: [k6, ghz]}\n", "  rate_per_s: 200\n")
    done = wirebench("run", scenario(text), "--blocks", "1", "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    for record in only_run(tmp_path / "results").records:
        assert record.service is not None
        assert record.response is not None
        assert record.service.count == record.response.count
        assert record.response.mean_ms >= record.service.mean_ms * 0.99
        assert 200 == record.rate_asked_per_s
        assert 200 == pytest.approx(record.rate_achieved_per_s, rel=0.25)


OTHERS = [name for name in ("fortio", "locust") if DRIVERS[name].version()]


@pytest.mark.skipif(len(OTHERS) < 2, reason="fortio or locust is not installed: make driver-fortio driver-locust")
def test_other_drivers_send_what_the_services_count(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """They are held against k6 on the same service, which has counted each of their requests and found none wrong."""
    text = """\
question: Do others measure what k6 does?
factors:
  transport: [rest, grpc]
  driver: {rest: [k6, fortio, locust], grpc: [k6, fortio]}
  concurrency: 2
load: {warmup_s: 0.4, window_s: 0.6}
blocks: 1
compare: driver
"""
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert 5 == len(run.records)
    for record in run.records:
        assert {} == record.errors
        assert [] == [gate.name for gate in record.gates if gate.name in {"counts", "conformance"} and not gate.passed]
        assert str(record.factors["driver"]) in run.info.versions
    said = " ".join(done.stdout.split())
    assert 3 == len(re.findall(r"on the same service, (?:fortio|locust) measured .*? of k6", said))


def test_a_replay_sends_every_recorded_request(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """All are due in the window and counted there, to the one; the recording travels with the run."""
    timing = tmp_path / "timing.json"
    timing.write_text(json.dumps([0, *[0.5] * 60, *(0.8 + each / 100 for each in range(40))]), encoding="utf-8")
    text = ONE_CELL.replace("socket", "socket, concurrency: 100").replace("load: {", "load: {model: replay, timing: ")
    text = text.replace("timing: warmup_s: 0.1, window_s: 0.5", "timing: timing.json, speedup: 2, warmup_s: 0.3")
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    (record,) = run.records
    assert 101 == record.requests + record.dropped_iterations
    assert record.response is not None
    assert 101 == sum(each.requests_ok for each in record.over_time) + record.dropped_iterations
    # The burst is due at a quarter of a second, all of it in one slice.
    assert 60 == round(max(each.rate_asked_per_s * (each.end_s - each.start_s) for each in record.over_time))
    assert "drift" not in {gate.name for gate in record.gates}
    assert timing.read_text() == (run.folder / "timing.json").read_text()
    assert [] == list(run.folder.glob("histograms/*arrivals*"))


def test_a_ramp_grows_to_its_rate(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """What is asked for grows from slice to slice; the figure on the whole window is the mean."""
    text = ONE_CELL.replace("socket", "socket, concurrency: 50, rate_per_s: 400")
    text = text.replace("warmup_s: 0.1, window_s: 0.5", "model: ramp, from_rate_per_s: 100, warmup_s: 0.2, window_s: 1")
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    (record,) = only_run(tmp_path / "results").records
    assert 250 == record.rate_asked_per_s == record.requests + record.dropped_iterations
    first, *_, last = (
        sum(each.rate_asked_per_s for each in record.over_time[place : place + 10]) / 10 for place in (0, 40)
    )
    assert (130, 370) == pytest.approx((first, last), rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "nothing.yaml"], "no scenario 'nothing.yaml'"),
        (["run", "quick", "--target", "moon"], "no target 'moon'"),
        (["run", "quick", "--target", "external"], "no address is given"),
        (["run", "quick", "--rest", "http://127.0.0.1:1"], "the local target starts its services itself"),
        (["run", "quick", "--target", "external", "--rest", "nowhere"], "'nowhere' is not an address"),
        (["run", "quick", "--blocks", "0"], "--blocks"),
        (["run", "quick", "--blocks", "many"], "--blocks"),
        (["run"], "missing argument 'scenario'"),
        (["results", "--run", "nothing"], "no run 'nothing'"),
        (["nothing"], "nothing"),
    ],
)
def test_wrong_usage_ends_with_status_2(arguments: list[str], expected: str, tmp_path: Path) -> None:
    """Wrong words are named in one line, and nothing is started or written."""
    done = subprocess.run([WIREBENCH, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert 2 == done.returncode
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert [] == list(tmp_path.iterdir())


def test_nothing_answers_at_an_external_address(tmp_path: Path) -> None:
    """An address where nobody listens is one clear line."""
    addresses = ["--rest", "127.0.0.1:1", "--grpc", "127.0.0.1:1", "--socket", "127.0.0.1:1"]
    done = wirebench("run", "quick", "--target", "external", *addresses, "--out", tmp_path / "results")
    assert 1 == done.returncode
    assert "nothing answers at 127.0.0.1:1 for rest" in done.stderr
    assert not (tmp_path / "results").exists()


def test_figures_that_cannot_be_printed_cost_no_report(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Nobody reads, or the disk is full: the report is written all the same, and one line says what was lost."""
    text = "question: Is it written?\nfactors: {transport: socket}\nload: {warmup_s: 0.1, window_s: 0.5}\nblocks: 1\n"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [WIREBENCH, "run", scenario(text), "--out", tmp_path / "results"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=110,
        )  # fmt: skip
    assert 1 == done.returncode
    assert "can't print the figures: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert (only_run(tmp_path / "results").folder / "report.html").is_file()


def test_a_report_that_cannot_be_written_costs_no_figure(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """The figures are printed before, the error says how to have the report written, and nothing half is left."""
    out = tmp_path / "results"
    # A folder of that name is in the way of the report, whoever writes it.
    script = "until run=$(ls -d results/*/) && mkdir $run/report.html; do sleep 0.05; done"
    with subprocess.Popen(["timeout", "60", "bash", "-c", script], cwd=tmp_path, stderr=subprocess.DEVNULL):
        done = wirebench("run", scenario(ONE_CELL), "--out", out)
    assert 1 == done.returncode
    assert "How fast is one?" in done.stdout
    assert "wirebench report --run" in done.stderr
    assert "Traceback" not in done.stderr
    run = only_run(out)
    assert ("complete", 1) == (run.info.status, len(run.records))
    assert [] == list(run.folder.glob("*.tmp"))


def test_an_interrupted_report_can_be_had_later(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Ctrl-C after the last cell ends with status 130, and the next step is said: nothing has to be measured again."""
    out = tmp_path / "results"
    with interruptible_run(scenario(ONE_CELL), out) as process:
        assert process.stdout is not None
        while "How fast is one?" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert 130 == process.returncode
    assert f"wirebench report --run {only_run(out).folder}" in errors
    assert "Traceback" not in errors
    assert 0 == wirebench("report", "--out", out).returncode


def test_a_run_that_is_interrupted_before_its_first_cell_leaves_nothing(
    scenario: Callable[[str], Path], tmp_path: Path
) -> None:
    """A folder without a record would only be in the way of the last run that measured something."""
    out = tmp_path / "results"
    with interruptible_run(scenario(ONE_CELL), out) as process:
        assert process.stderr is not None
        while "starting services" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert 130 == process.returncode
    assert "nothing had been measured" in errors
    assert [] == list(out.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_ctrl_c_is_understood_while_modules_are_loaded(tmp_path: Path) -> None:
    """Even a command that has hardly begun ends with status 130 and one word."""
    with subprocess.Popen([WIREBENCH, "list"], stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        status = Path(f"/proc/{process.pid}/status")
        deadline = time.monotonic() + 30
        # Python itself handles SIGINT alone: when SIGTERM is handled too, wirebench's first lines have run.
        while not int(re.findall(r"SigCgt:\s*(\w+)", status.read_text())[0], 16) >> (signal.SIGTERM - 1) & 1:
            assert process.poll() is None
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (130, "interrupted\n") == (process.returncode, errors)


def test_a_results_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    """No room or no right to write is said before services start."""
    (tmp_path / "file").write_text("")
    done = wirebench("run", "quick", "--out", tmp_path / "file")
    assert 1 == done.returncode
    assert "can't write" in done.stderr


def test_doctor_says_what_is_there() -> None:
    """A machine that can run the tests is fit; the drivers' versions are shown."""
    done = wirebench("doctor")
    assert 0 == done.returncode, done.stdout
    assert "k6 1." in done.stdout
    assert "ghz 0." in done.stdout
    assert "toxiproxy 2." in done.stdout


def test_verify_compares_all_transports() -> None:
    """The quick scenario's services answer the same random requests alike."""
    done = wirebench("verify")
    assert 0 == done.returncode, done.stderr
    assert "requests were answered alike by rest-gunicorn-gthread" in done.stdout


def test_help_names_every_command() -> None:
    """`--help` helps."""
    shown = wirebench("--help").stdout
    for command in ("run", "list", "results", "report", "verify", "doctor", "client"):
        assert command in shown


def test_tls_on_all_transports(tmp_path: Path, scenario: Callable[[str], Path]) -> None:
    """All agree on the same and say so, nothing fails, and the keys are gone."""
    path = scenario(
        "question: What do handshakes cost?\n"
        "factors: {transport: [rest, grpc, socket], tls: mutual, connection: [keep, reopen]}\n"
        "load: {warmup_s: 0.2, window_s: 0.5}\nblocks: 1\ncompare: connection\n"
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [WIREBENCH, "run", path, "--out", tmp_path / "out"],
        capture_output=True, text=True, timeout=110, check=False, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip

    assert 0 == done.returncode, done.stderr
    (folder,) = (tmp_path / "out").iterdir()
    records = load_run(folder).records
    assert [{}] * 6 == [record.errors for record in records]
    agreed = {(each.version, each.cipher_suite, each.key_exchange, each.resumed) for r in records for each in r.tls}
    assert 1 == len(agreed), agreed
    assert ("TLS 1.3", "X25519", False) == tuple(next(iter(agreed))[place] for place in (0, 2, 3))
    assert "All connections with TLS agreed on TLS 1.3" in done.stdout
    assert [] == list(temporary.iterdir())
    for file in filter(Path.is_file, folder.rglob("*")):
        assert b"PRIVATE KEY" not in file.read_bytes()


def test_tls_that_can_not_be_had_ends_a_run_before_it_begins(tmp_path: Path, scenario: Callable[[str], Path]) -> None:
    """Plain text where TLS is spoken, and the other way round: one line, and what to do."""
    certificate = certificates.make(tmp_path, "service")
    path = scenario(ONE_CELL)
    with started(ASYNCIO, tmp_path, *certificate.flags) as secure, started(ASYNCIO, tmp_path) as plain:
        for address, files, said in (
            (secure.address, (), "speaks TLS, and this was plain text"),
            (f"tls://{secure.address}", (), "its certificate is not to be trusted"),
            (f"tls://{plain.address}", ("--cacert", certificate.cert), "doesn't speak TLS"),
        ):
            done = wirebench("run", path, "--target", "external", "--socket", str(address), *files, "--out", tmp_path)
            assert 1 == done.returncode
            assert said in done.stderr
            assert "next: " in done.stderr
        good = wirebench("verify", path, "--socket", f"tls://{secure.address}", "--cacert", certificate.cert)
        assert 0 == good.returncode, good.stderr
