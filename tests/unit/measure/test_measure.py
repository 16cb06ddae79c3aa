"""Counters, fairness, gates, cores, CPU clocks, and the work that shows how fast a core is."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.histogram_files import make_file
from tests.support.judged_window import CLOSED, FAILING, GOOD, WINDOW_S, JudgedWindow, with_connections, with_requests
from tests.support.simulated_service import make_search
from tests.support.waiting import TIMEOUT_S
from wirebench.measure import counters, reference, usage
from wirebench.measure.counters import (
    compute_fairness,
    count_dropped_packets,
    count_since,
)
from wirebench.measure.gates import GATES
from wirebench.measure.usage import (
    DriverProcess,
    TreeWatch,
    Usage,
    Watch,
    keep_reading,
    read_processes,
)
from wirebench.model.histogram_file import PerSecond, Streams
from wirebench.system import processes
from wirebench.targets.cores import CoreClaim, divide_cores
from wirebench.targets.endpoint import Replica


def test_the_connections_of_an_open_load_take_turns(tmp_path: Path) -> None:
    """Each is opened by its first request: 1,000 requests/s take two seconds to open 2,000, and one is warm-up."""
    assert "warmup" not in list_failed(replace(GOOD, cell={"concurrency": 900}), tmp_path)
    assert "warmup" in list_failed(replace(GOOD, cell={"concurrency": 2000}), tmp_path)
    assert "warmup" not in list_failed(replace(GOOD, cell={"concurrency": 2000, "connection": "reopen"}), tmp_path)


def test_dropped_packets_are_summed_over_cpus(tmp_path: Path) -> None:
    """Its columns differ by version of the kernel; a kernel that tracks no connections has no such file."""
    (tmp_path / "nf_conntrack").write_text(
        "entries found drop early_drop\n000041f2 00 0000000a 01\n000041f2 00 02 01\n"
    )
    assert 12 == count_dropped_packets(tmp_path / "nf_conntrack")
    assert count_dropped_packets(tmp_path / "none") is None


def test_a_queue_of_the_warm_up_may_end_in_a_window_of_a_search(tmp_path: Path) -> None:
    """It is within the objective; one that grows in the window isn't, and an open load has neither."""
    searched = replace(GOOD, record={"search": make_search([])})
    assert "rate_error" in list_failed(replace(GOOD, succeeded=4130), tmp_path)
    assert "rate_error" not in list_failed(replace(searched, succeeded=4130), tmp_path)
    assert "rate_error" in list_failed(replace(searched, succeeded=3900), tmp_path)


def test_only_a_load_that_should_be_steady_is_to_show_no_drift(tmp_path: Path) -> None:
    """A replay changes by its nature; that all of their requests were sent is checked all the same."""
    growing = {"per_second": (PerSecond(operation="users.get", code="ok", counts=(100, 200, 300, 400)),)}
    grown = replace(GOOD, file=growing, seen={"generator_busiest_share": 0.5})
    assert ["drift"] == list_failed(grown, tmp_path)
    changing = replace(grown, cell={"shape": "replay"}, load={"model": "replay"})
    assert [] == list_failed(changing, tmp_path)
    late = replace(changing, succeeded=3920, file={**growing, "dropped_iterations": 20})
    assert ["dropped_iterations", "rate_error"] == list_failed(late, tmp_path)
    full = replace(changing, seen={"generator_busiest_share": 0.95})
    assert ["generator_cpu"] == list_failed(full, tmp_path)


def test_scatter_from_second_to_second_is_no_drift(tmp_path: Path) -> None:
    """Of a service that meets its CPU limit, as measured: its halves are 15 % apart. A trend of as much is drift."""
    scattered = (483, 564, 529, 522, 557, 607, 629, 572, 631, 736, 606, 562)
    for counts, failed in ((scattered, []), (tuple(sorted(scattered)), ["drift"])):
        per_second = (PerSecond(operation="users.get", code="ok", counts=counts),)
        changed = {"window": make_file(window_s=12).window, "per_second": per_second}
        assert failed == list_failed(replace(GOOD, file=changed), tmp_path)


def counting(monkeypatch: pytest.MonkeyPatch, *readings: int) -> list[int]:
    """Have a service count so many requests, one reading after the other; return the list of those that are left."""
    left = list(readings)
    monkeypatch.setattr(counters, "read_counts", lambda _url: {"7": left.pop(0) if len(left) > 1 else left[0]})
    monkeypatch.setattr(counters, "_STILL_S", 0.0)
    monkeypatch.setattr(counters, "_COUNTED_POLL_S", 0.0)
    return left


@pytest.mark.parametrize(("sent", "expected"), [(4, 5), (6, 6)])
def test_a_request_is_waited_for_whose_reply_came_before_its_count(
    monkeypatch: pytest.MonkeyPatch, sent: int, expected: int
) -> None:
    """Counts are read until they are as many as were sent, or for some seconds if they don't become so many."""
    counting(monkeypatch, 12, 13, 15, 16)
    monkeypatch.setattr(counters, "_COUNTED_TIMEOUT_S", 0.2)
    replica = Replica("a", "http://127.0.0.1:1")
    assert {"a": {"7": expected}} == count_since([replica], {"a": {"7": 10}}, sent)
    assert {"a": {"7": 6}} == count_since([replica], {"a": {"7": 10}}, 7)


def test_calls_that_were_not_made_in_time_fail_their_gate(tmp_path: Path) -> None:
    """All of them have to be made; none is a warm-up, and a connection that has made its own may rest."""
    load = {"model": "calls", "calls": 250, "warmup_calls": 50}
    assert "connections" not in replace(CLOSED, load=load, latency_ms=1.0).judge(tmp_path)
    made = replace(CLOSED, load=load, latency_ms=5000.0)
    assert [] == list_failed(made, tmp_path)
    lost = replace(with_requests(made, a=2400, b=2397), file={"requests_total": {"ok": 4797}})
    assert ["calls"] == list_failed(lost, tmp_path)


def list_failed(window: JudgedWindow, folder: Path) -> list[str]:
    """Return the gates that it fails."""
    return [name for name, gate in window.judge(folder).items() if not gate.passed]


@pytest.mark.parametrize(
    ("counts", "sharers", "expected"),
    [([5, 5], 2, 1.0), ([10, 0], 2, 0.5), ([10], 2, 0.5), ([4, 4, 4], 4, 0.75), ([0, 0], 2, None), ([], 2, None)],
)
def test_jains_index(counts: list[int], sharers: int, expected: float | None) -> None:
    """Even shares give 1, one of n having all gives 1/n, nothing gives nothing; who isn't counted has nothing."""
    assert expected == compute_fairness(counts, sharers)


def test_a_good_window_passes_every_gate(tmp_path: Path) -> None:
    """No gate fails without cause."""
    gates = GOOD.judge(tmp_path)
    assert [] == [gate.name for gate in gates.values() if not gate.passed]
    assert 15 == len(gates)


@pytest.mark.parametrize(("gate", "window"), FAILING)
def test_each_gate_fails_for_its_cause(tmp_path: Path, gate: str, window: JudgedWindow) -> None:
    """What makes a measurement unfit is found by its gate, which says what to do."""
    failed = {name: each for name, each in window.judge(tmp_path).items() if not each.passed}
    assert gate in failed
    assert failed[gate].advice


@pytest.mark.parametrize(
    ("concurrency", "in_flight", "cores_busy"),
    [(1, 0.7, 0.78), (2, 1.62, 0.87), (16, 15.2, 1.0), (16, 12.8, 9.6), (2000, 1900.0, 1.0)],
)
def test_a_closed_load_on_all_connections_passes(
    tmp_path: Path, concurrency: int, in_flight: float, cores_busy: float
) -> None:
    """What a generator does between two requests is no fault, on one core or on many."""
    assert [] == list_failed(with_connections(concurrency, in_flight, cores_busy), tmp_path)


def test_a_stream_that_the_end_cut_may_not_have_reached_the_service(tmp_path: Path) -> None:
    """4,801 were sent: without it 4,800. Others are missing."""
    streams = Streams(items_total=4000, items_per_second=(1000,) * WINDOW_S, cancelled=1)
    for counted, is_all in ((4801, True), (4800, True), (4799, False)):
        gates = replace(with_requests(GOOD, a=2400, b=counted - 2400), file={"streams": streams}).judge(tmp_path)
        assert is_all == gates["counts"].passed


def test_every_gate_fails_somewhere() -> None:
    """A new gate needs a test that makes it fail."""
    elsewhere = {"calls", "first_items", "rate_limit"}  # in a test of their own, and in test_streams.py
    assert {rule.name for rule in GATES} == {name for name, _ in FAILING} | elsewhere


def test_what_was_not_seen_has_no_gate(tmp_path: Path) -> None:
    """An external server's counters can't pass or fail."""
    seen = dict.fromkeys(("generator_cpu_s", "generator_share", "pinned"))
    unseen = replace(GOOD, requests=None, spare_cores=None, seen=seen, record={})
    without = {"counts", "replica_balance", "shared_host", "generator_cpu", "ceiling"}
    assert without.isdisjoint(unseen.judge(tmp_path))


@pytest.mark.parametrize(
    ("available", "server", "generator"),
    [({0, 1}, {0}, {1}), ({0, 1, 2, 3}, {0, 1}, {2, 3}), ({3, 5, 9}, {3}, {5, 9}), ({2}, {2}, {2})],
)
def test_cores_are_divided(available: set[int], server: set[int], generator: set[int]) -> None:
    """Server and generator get cores of their own, and share only where there is one."""
    cores = divide_cores(frozenset(available))
    assert (server, generator) == (set(cores.server), set(cores.generator))
    assert (len(available) == 1) == cores.shared


def test_a_watch_tells_only_what_it_watched() -> None:
    """CPU time of a moment before reading began is not made up, nor that of a process that isn't there."""
    own, nothing = Watch(lambda: read_processes([os.getpid()]), 0.01), Watch(lambda: read_processes([]), 0.01)
    with keep_reading([own, nothing]):
        time.sleep(0.1)
    now_ns = time.time_ns()
    assert own.between(now_ns - 10**10, now_ns) is None
    assert own.between(now_ns - 5 * 10**7, now_ns - 4 * 10**7) is not None
    assert nothing.between(now_ns - 5 * 10**7, now_ns - 4 * 10**7) is None


def test_a_generator_is_watched_from_its_start_to_its_end(tmp_path: Path) -> None:
    """It may run for less time than passes between two readings."""
    generator = DriverProcess()
    watch = Watch(generator.read_usage, 3600)
    with keep_reading([watch]):
        start_ns = time.time_ns()
        child = processes.start("burner", [sys.executable, "-c", "sum(range(1_000_000))"], tmp_path / "log")
        generator.watch(child)
        assert 0 == child.wait(TIMEOUT_S)
        end_ns = time.time_ns()
    used = watch.between(start_ns, end_ns)
    assert used
    assert used.cpu_s
    assert 0.005 < used.cpu_s < 10


#: A service of two processes, which starts a third when it is told to.
PARENT = """
import subprocess, sys
child = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
children = [subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE)]
children[-1].stdout.readline()
print(flush=True)
for line in sys.stdin:
    children.append(subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    children[-1].stdout.readline()
    print(flush=True)
"""


def test_a_tree_of_processes_is_watched_whole() -> None:
    """CPU time and memory are those of all processes; if one more has started meanwhile, neither is known."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin
        assert parent.stdout
        parent.stdout.readline()
        steady, changed = TreeWatch([parent.pid]), TreeWatch([parent.pid])
        with keep_reading([changed]):
            with keep_reading([steady]):
                start_ns = time.time_ns() + 10**7
                time.sleep(0.1)
                end_ns = time.time_ns()
            parent.stdin.write(b"\n")
            parent.stdin.flush()
            parent.stdout.readline()
        parent.stdin.close()
    assert changed.between(start_ns, end_ns) is None
    used = steady.between(start_ns, end_ns)
    assert used is not None
    assert used.cpu_s is not None
    assert 0 <= used.cpu_s < 0.1
    assert 2_000_000 < (used.memory_bytes or 0) < 200_000_000


def watch_readings(*readings: Usage) -> Watch:
    """Return a watch that has read these."""
    left = list(readings)
    watch = Watch(lambda: left.pop(0) if left else None)
    for _ in readings:
        watch.add()
    return watch


def test_usage_at_the_edges_of_a_window_is_interpolated() -> None:
    """Between two readings CPU time grows evenly; memory is that of the later one."""
    watch = watch_readings(Usage(0, 1.0, 0, 50), Usage(100, 2.0, 10, 60), Usage(200, 2.0, 20, 70))
    assert Usage(150, 0.5, 10.0, 70) == watch.between(50, 150)
    assert watch.between(50, 201) is None


@pytest.mark.parametrize(
    ("before_s", "after_s", "expected"), [(98.0, 2.0, None), (2.0, 3.5, 1.5), (0.1 + 0.2, 0.3, 0.0), (None, 1.0, None)]
)
def test_a_counter_that_begins_again_tells_nothing(
    before_s: float | None, after_s: float, expected: float | None
) -> None:
    """A service that was restarted counts its CPU time from 0; readings alike to a rounding error are no such thing."""
    used = watch_readings(Usage(1, before_s), Usage(2, after_s)).between(1, 2)
    assert used is not None
    assert expected == used.cpu_s


#: Of no machine: a real run may be measuring beside the tests.
CORE = 4_000_017


def test_a_run_waits_for_another_on_the_same_core() -> None:
    """It says that it waits, and continues when the other releases the core; other cores need no waiting."""
    first, second, said = CoreClaim({CORE}, pytest.fail), queue.SimpleQueue[CoreClaim](), queue.SimpleQueue[str]()
    CoreClaim({CORE + 1}, pytest.fail).release()
    waiting = threading.Thread(target=lambda: second.put(CoreClaim({CORE, CORE + 1}, said.put)), daemon=True)
    waiting.start()
    assert f"waiting for another run that measures on core {CORE}" == said.get(timeout=TIMEOUT_S)
    assert second.empty()
    first.release()
    second.get(timeout=TIMEOUT_S).release()


PROCESS_METRICS = """\
# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total{worker="1",name="a } b"} 1.5
process_cpu_seconds_total{worker="2"} 2.25 1700000000000
process_cpu_seconds_total_created 9
process_resident_memory_bytes{worker="1"} 1e+06
process_resident_memory_bytes{worker="2"} 3e+06
"""


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (PROCESS_METRICS, (3.75, 4_000_000)),
        ("process_cpu_seconds_total 0.5\n", (0.5, None)),
        ("process_resident_memory_bytes 5\n", None),
        ("process_cpu_seconds_total many\n", None),
    ],
)
def test_samples_of_all_processes_are_summed(
    monkeypatch: pytest.MonkeyPatch, page: str, expected: tuple[float, int | None] | None
) -> None:
    """A service may have several, each with labels of its own; without CPU time, nothing is known."""
    monkeypatch.setattr(usage, "fetch_text", lambda _: page)
    found = usage.read_process_metrics("http://127.0.0.1:1/metrics")
    assert expected == (found and (found.cpu_s, found.memory_bytes))


def test_the_reference_work_is_done_on_the_core_and_binds_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else of wirebench moves to another core."""
    own = os.sched_getaffinity(0)
    core, used = max(own), set[frozenset[int]]()
    monkeypatch.setattr(reference, "_work", lambda: used.add(frozenset(os.sched_getaffinity(0))))
    reference.measure_reference_us(core)
    assert used == {frozenset({core})}
    assert os.sched_getaffinity(0) == own
