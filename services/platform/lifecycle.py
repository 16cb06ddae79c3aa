"""The life of a service: a supervisor that keeps worker processes, and stops them in order.

    supervisor ─┬─ admin server (/livez, /readyz, /metrics)
                └─ worker 0 … n-1, or a runtime's own master that keeps the workers

The admin server lives in the supervisor, so that a busy worker can't keep a probe or a scrape waiting.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path

from services.domain import stores
from services.domain.application import Application
from services.domain.stores.store import Store
from services.platform import addresses, limits, signals
from services.platform import settings as settings_module
from services.platform.admin import AdminServer
from services.platform.cgroup import Cgroup
from services.platform.metrics import Recorder
from services.platform.settings import CGROUP, Defaults, Settings

log = logging.getLogger(__name__)

_KILL_GRACE_S = 2.0


class ServiceError(Exception):
    """A service that can't go on; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker process gets."""

    index: int
    settings: Settings
    application: Application
    store: Store
    recorder: Recorder
    #: To be called once the worker accepts connections.
    ready: Callable[[], None]
    #: Set by the runtime when it is told to stop: what goes on for long looks at it. Nobody may wait for it, because
    #: signal handlers set it, and would wait for those who wait.
    stopping: threading.Event = dataclasses.field(default_factory=threading.Event)

    def close(self) -> None:
        """Hand over the last metrics and close the store."""
        self.recorder.close()
        self.store.close()


@dataclass(frozen=True, slots=True)
class Site:
    """Where the processes of one service meet: a temporary folder, gone when the service is."""

    settings: Settings
    folder: Path
    supervisor_pid: int

    @property
    def metrics_folder(self) -> Path:
        """Where prometheus-client keeps the workers' values."""
        return self.folder / "metrics"

    def make_worker(self, index: int, *, asynchronous: bool = False) -> Worker:
        """Build what a worker needs, inside its process."""
        store = stores.open_store(self.settings.store, self.folder, self.settings.threads if asynchronous else None)
        recorder = Recorder(self.settings.transport, index)
        # The seeded records live as long as the process: out of the collector's sight, they don't
        # lengthen its pauses.
        gc.collect()
        gc.freeze()
        ready = self._ready_file(index).touch
        return Worker(index, self.settings, Application.over(store), store, recorder, ready)

    def ready_workers(self) -> int:
        """Return how many workers have said that they accept connections."""
        return sum(1 for _ in self.folder.glob("ready-*"))

    def stop(self) -> None:
        """Say that the supervisor stops the workers: it needs the folder until they have ended, and then removes it."""
        with contextlib.suppress(OSError):  # a full disk must not keep workers from draining
            self._stop_file.touch()

    def leave(self, workers: Iterable[int]) -> None:
        """Note that workers have ended; if the supervisor hasn't stopped them, the last one removes the folder."""
        for index in workers:
            self._ready_file(index).unlink(missing_ok=True)
        # To ask whether the supervisor is gone would not do: its other threads may outlive the one that forked us.
        if not self._stop_file.exists() and not self.ready_workers():
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _stop_file(self) -> Path:
        return self.folder / "stop"

    def _ready_file(self, index: int) -> Path:
        return self.folder / f"ready-{index}"


@dataclass(frozen=True, slots=True)
class Runtime:
    """A server stack. `run` blocks in a process of its own until SIGTERM, and drains before it returns.

    With `run_master` one process gets the site and keeps all workers itself (gunicorn does);
    otherwise there is one process a worker.
    """

    name: str
    run: Callable[[Worker], None] | None = None
    run_master: Callable[[Site], None] | None = None
    #: Whether it awaits an asynchronous store in its loop, and has no threads that could call one that blocks.
    asynchronous: bool = False


def main(defaults: Defaults, runtimes: Mapping[str, Callable[[], Runtime]], arguments: Sequence[str]) -> int:
    """Run a service until it is told to stop; return the exit status.

    `runtimes` maps a name to a function that imports the runtime: a process loads only what it runs.
    """
    settings = settings_module.parse(defaults, arguments)
    logging.basicConfig(level=logging.INFO, format=f"{settings.program}: %(message)s", stream=sys.stderr)
    limits.allow_open_files()
    try:
        _Supervisor(settings, runtimes[settings.runtime]).run()
    except ServiceError as error:
        log.error("%s", error)  # noqa: TRY400 - the operator needs the line, not the trace
        return 1
    return 0


class _Supervisor:
    def __init__(self, settings: Settings, load_runtime: Callable[[], Runtime]) -> None:
        self._settings = settings
        self._load_runtime = load_runtime
        self._processes: list[ForkProcess] = []
        self._store_is_there: Callable[[], bool]

    def run(self) -> None:
        with (
            signals.stop_signals() as stop,
            _reserved_port(self._settings) as settings,
            _temporary_folder(settings) as folder,
            stores.watched(settings.store) as self._store_is_there,
        ):
            self._settings = settings
            site = Site(settings, folder, os.getpid())
            admin = self._prepare(site)
            self._settings = dataclasses.replace(settings, admin_port=admin.port)
            try:
                self._start_workers(site, admin)
                admin.start()
                self._watch(site, stop)
                self._drain(site, admin, stop)
            finally:
                self._end_workers()
                admin.close()

    def _prepare(self, site: Site) -> AdminServer:
        site.metrics_folder.mkdir()
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(site.metrics_folder)
        if self._settings.resources_from == CGROUP and Cgroup().cpu_seconds() is None:
            raise ServiceError("no cgroup tells the CPU time here; use --resources-from process-tree")
        try:
            stores.prepare(self._settings.store, site.folder)
        except Exception as error:
            # Of several lines, libpq's first one says what is wrong.
            reason = str(error).partition("\n")[0]
            raise ServiceError(f"can't prepare the store {self._settings.store}: {reason}") from error
        try:
            return AdminServer(self._settings, self._is_live, lambda: self._is_ready(site))
        except OSError as error:
            raise ServiceError(_explain_bind(self._settings.host, self._settings.admin_port, error)) from error

    def _start_workers(self, site: Site, admin: AdminServer) -> None:
        runtime = self._load_runtime()
        context = multiprocessing.get_context("fork")
        for index in range(1 if runtime.run_master else self._settings.workers):
            name = f"{runtime.name}'s master" if runtime.run_master else f"worker {index}"
            process = context.Process(target=_run_worker, args=(runtime, site, index, admin), name=name)
            with signals.held_back():
                process.start()
            self._processes.append(process)

    def _watch(self, site: Site, stop: socket.socket) -> None:
        announced = False
        while True:
            pause_s = None if announced else 0.01
            happened = wait([stop, *(process.sentinel for process in self._processes)], timeout=pause_s)
            if stop in happened:
                stop.recv(1)  # a second signal is to be noticed too
                return
            if happened:
                raise ServiceError(_explain_death(next(each for each in self._processes if each.sentinel in happened)))
            if not announced and self._is_ready(site):
                announced = True
                log.info("%s", _announcement(self._settings))

    def _drain(self, site: Site, admin: AdminServer, stop: socket.socket) -> None:
        admin.draining = True
        log.info("stopping: no longer ready, finishing what is in flight")
        wait([stop], timeout=self._settings.drain_pause_s)
        site.stop()
        for process in self._processes:
            process.terminate()
        deadline = time.monotonic() + self._settings.drain_timeout_s + _KILL_GRACE_S
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))

    def _end_workers(self) -> None:
        """End what is left of the workers, whatever happened before."""
        left = [process for process in self._processes if process.is_alive()]
        for process in left:
            process.terminate()
        deadline = time.monotonic() + _KILL_GRACE_S
        for process in left:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                # The worker leads a process group of its own, with everything that it started.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid or 0, signal.SIGKILL)
                process.join()

    def _is_live(self) -> bool:
        return all(process.is_alive() for process in self._processes)

    def _is_ready(self, site: Site) -> bool:
        return self._is_live() and site.ready_workers() == self._settings.workers and self._store_is_there()


def _run_worker(runtime: Runtime, site: Site, index: int, admin: AdminServer) -> None:
    # Ctrl-C in a terminal reaches the supervisor's group only: it alone decides how workers stop.
    os.setpgrp()
    signals.begin_anew()
    signals.die_with_parent(site.supervisor_pid)
    admin.close_socket()
    if runtime.run_master:
        try:
            runtime.run_master(site)
        finally:
            site.leave(range(site.settings.workers))
    elif runtime.run:
        worker = site.make_worker(index, asynchronous=runtime.asynchronous)
        runtime.run(worker)
        worker.close()
        site.leave((index,))


@contextlib.contextmanager
def _temporary_folder(settings: Settings) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=f"{settings.program}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _reserved_port(settings: Settings) -> Iterator[Settings]:
    """Hold the port while workers bind it, and yield where that is: host as a number, and a free port for 0.

    A first bind that isn't shared finds out whether somebody else listens there: else two services of one user would
    both take connections, and nobody would know which.
    """
    try:
        with addresses.bind(settings.host, settings.port, shared=False) as probe:
            host, port = addresses.numeric(probe)
        holder = addresses.bind(host, port, shared=True)
    except OSError as error:
        raise ServiceError(_explain_bind(settings.host, settings.port, error)) from error
    with holder:
        yield dataclasses.replace(settings, host=host, port=port)


def _announcement(settings: Settings) -> str:
    workers = f"{settings.workers} worker{'s' if settings.workers > 1 else ''}"
    service, admin = (addresses.text(settings.host, port) for port in (settings.port, settings.admin_port))
    kept = f"store {settings.store}{f', {settings.tls}' if settings.tls else ''}"
    return f"listening on {service} ({settings.runtime}, {workers}, {kept}); admin on {admin}"


def explain_end(code: int) -> str:
    """Return how a process has ended, by its exit status, which is negative for a signal."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def _explain_death(process: ForkProcess) -> str:
    process.join()  # the system closes a sentinel a moment before it hands out the status
    return f"{process.name} {explain_end(process.exitcode or 0)}; the service stops"


def _explain_bind(host: str, port: int, error: OSError) -> str:
    address = addresses.text(host, port)
    return f"can't listen on {address}: {error.strerror or error}; choose another with --host, --port, --admin-port"
