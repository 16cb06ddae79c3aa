"""What happens before a run starts anything: checks, and its run.json."""

from __future__ import annotations

import contextlib
import os
import resource
from datetime import UTC, datetime
from pathlib import Path

import psutil

from wirebench.drivers import DRIVERS, Job
from wirebench.drivers.replay import render
from wirebench.errors import UsageError
from wirebench.measure import toxiproxy
from wirebench.model.run_info import RunInfo
from wirebench.plan.plan import Plan
from wirebench.run import environment
from wirebench.run.ids import CREATED_FIRST_ID, IdLayout, lay_out
from wirebench.run.live_metrics import check_receiver
from wirebench.run.own_variants import check_variants
from wirebench.system.processes import ProcessError
from wirebench.targets.target import Target

#: Files that a process has open besides its connections.
_OTHER_FILES = 200
#: The highest limit that Linux allows by default: fs.nr_open.
_FILES_MAX = 1_048_576
_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def prepare(plan: Plan, target: Target) -> IdLayout:
    """Check that all that a plan needs is there, before anything is written; return its ids. Raises WirebenchError."""
    check_variants(plan.scenario)
    # wireload verifies variants and renders requests, whatever drives the load.
    drivers: set[str] = {"wireload", *(cell.driver for cell in plan.cells)}
    for name in sorted(drivers if target.load_pods is None else ()):
        if DRIVERS[name].read_version() is None:
            other = ", or measure without it: `--driver wireload`" if name != "wireload" else ""
            hint = f"run `{DRIVERS[name].setup}`{other}; nothing was started"
            raise UsageError(f"the driver {name} is not at {DRIVERS[name].path}", hint)
    shaped = target.load_pods is None and any(cell.delay_ms is not None for cell in plan.cells)
    if shaped and toxiproxy.read_version() is None:
        raise UsageError(f"toxiproxy, which factors.delay_ms needs, is not at {toxiproxy.PROGRAM}", "run `make setup`")
    if target.load_pods is None:
        check_connections(plan, raise_open_files(), read_ports(), on_loopback=target.on_loopback)
    check_replays(plan)
    if target.prometheus:
        check_receiver(target.prometheus)
    ids = lay_out(plan, restarts_services=target.restarts_services)
    target.prepare(plan.services)
    return ids


def raise_open_files() -> int:
    """Let all programs that are started from now on open as many files as the system lets us; return how many."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _FILES_MAX if most == resource.RLIM_INFINITY else most
    with contextlib.suppress(ValueError, OSError):  # A system may have a lower limit that it doesn't report.
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    return files


def read_ports() -> int:
    """Return how many ports this machine has for connections to one address."""
    low, high = map(int, _PORTS.read_text().split()) if _PORTS.exists() else (1, 65_535)
    return high - low + 1


def check_connections(plan: Plan, files: int, ports: int, *, on_loopback: bool) -> None:
    """Raise UsageError for more users than a process may have connections, or this machine ports to an address.

    The side that closes a connection keeps its port: for a minute, and for a second on loopback (tcp_tw_reuse).
    """
    load, locate = plan.scenario.load, plan.scenario.source.locate
    for cell in map(load.add_connections, plan.cells):
        each = 1 if cell.delay_ms is None else 2  # a proxy between has two for each
        fitting = max(0, files - _OTHER_FILES) // each
        if fitting < cell.concurrency:
            field = ("load", "concurrency_max") if load.swept or load.concurrency_max else ("factors", "concurrency")
            taken = each * cell.concurrency
            raise UsageError(
                f"{locate(field)}: {cell.concurrency:,} users take {taken:,} open files, and a process may have "
                f"{files:,} (ulimit -Hn): {fitting:,} fit",
                "lower it, or raise the limit",
            )
        reopened_per_s = (cell.rate_per_s or 0) if cell.connection == "reopen" else 0
        taken = cell.concurrency + reopened_per_s * (1 if on_loopback else 60)
        if ports < taken:
            raise UsageError(
                f"{locate(('factors', 'rate_per_s' if reopened_per_s else 'concurrency'))}: connections take {taken:,} "
                f"ports at once, and this machine has {ports:,} for an address (net.ipv4.ip_local_port_range)",
                "lower it, keep connections, or widen the range",
            )


def check_replays(plan: Plan) -> None:
    """Raise UsageError for more requests that write than wireload renders for a driver that replays them."""
    application, load = plan.scenario.application, plan.scenario.load
    for cell in dict.fromkeys(plan.cells):
        operation = application.operations.get(cell.operation)
        is_described = not cell.variant or cell.transport == "rest"  # others may have reflection
        if cell.driver != "wireload" and operation and operation.writes and is_described:
            file, path = Path("unused"), application.path
            job = Job(cell, load, "", plan.seed, CREATED_FIRST_ID, file, file, None, application=path)
            try:
                render(job)
            except ProcessError as error:
                where = plan.scenario.source.locate(("factors", "rate_per_s"))
                why, _, _ = error.details.rpartition("json: ")[2].partition(":")
                hint = "lower the rate, load.window_s or the payload, or measure by wireload"
                raise UsageError(f"{where}: {cell.driver}: {why}", hint) from None


def create_info(plan: Plan, target: Target, run_id: str, command: str, *, calibrate: bool = True) -> RunInfo:
    """Return the run.json of a run that is about to start, by a command line. Raises UsageError."""
    description, source, notes = target.describe(), plan.scenario.source, list[str]()
    if plan.left_out:
        notes.append(f"left out, as the target {plan.target} doesn't have them: {', '.join(plan.left_out)}")
    for name in plan.skipped:
        notes.append(f"cross-check by {name} skipped: {name} is not installed; {DRIVERS[name].setup}")
    if any(cell.driver == "ghz" and cell.rate_per_s for cell in plan.cells):
        notes.append("ghz doesn't count how long a request waits until it is sent: its latencies are service times")
    notes += description.notes
    if not description.is_elsewhere:
        notes += environment.find_warnings(target.cores)
    return RunInfo(
        id=run_id,
        scenario=source.path.stem,
        scenario_text=source.text,
        overrides=source.overrides,
        application=str(plan.scenario.application.path) if plan.scenario.variants else None,
        question=plan.scenario.question,
        command=command,
        target=target.name,
        seed=plan.seed,
        blocks=len(plan.blocks),
        cells=len(plan.cells),
        calibrate=calibrate,
        status="running",
        reason="",
        pid=os.getpid(),
        process_began_unix_s=psutil.Process().create_time(),
        started_at=datetime.now(UTC).replace(microsecond=0),
        duration_s=None,
        conformance_requests=0,
        conformance_mismatches=(),
        compare=plan.scenario.compare,
        equivalence_margin=plan.scenario.equivalence_margin,
        equivalence_margin_us=plan.scenario.equivalence_margin_us,
        versions={**environment.read_versions(), **description.versions},
        machine={**environment.read_machine(), **description.machine},
        notes=tuple(notes),
        commit=environment.read_commit(),
    )
