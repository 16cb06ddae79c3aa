"""gunicorn without its command line: its master keeps the workers, each with a Flask application."""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Callable, Iterable

from gunicorn import glogging
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.workers.base import Worker as GunicornWorker

from services.platform import addresses, signals
from services.platform.lifecycle import Site, Worker, explain_end
from services.platform.limits import CONNECTIONS_MAX
from services.rest.api import Api
from services.rest.flask_app import create_app
from services.rest.wire import HEAD_BYTES_MAX

log = logging.getLogger(__name__)

#: gunicorn's own limit on the number of headers; the head's size limits them first.
_HEADERS_MAX = 32_768


def run_master(site: Site, worker_class: type[GunicornWorker]) -> None:
    """Keep the workers until SIGTERM, then let them finish what is in flight; ends the process."""
    _Arbiter(Application(site, worker_class)).run()


class Application(BaseApplication):
    """What gunicorn is configured with, and what it calls."""

    def __init__(self, site: Site, worker_class: type[GunicornWorker]) -> None:
        self.settings = site.settings
        self._site = site
        self._worker_class = worker_class
        self._worker: Worker | None = None
        super().__init__()

    def load_config(self) -> None:
        """Set what differs from gunicorn's defaults."""
        settings = self.settings
        options = {
            "bind": addresses.text(settings.host, settings.port),
            "backlog": addresses.BACKLOG,
            "reuse_port": True,
            "workers": settings.workers,
            "threads": settings.threads,
            "worker_class": self._worker_class,
            # gunicorn's 1000 would leave further clients without an answer, and nobody would know.
            "worker_connections": CONNECTIONS_MAX,
            # Of the head, only its size as a whole is limited, as in the other runtimes: 0 is no limit.
            "limit_request_line": 0,
            "limit_request_fields": _HEADERS_MAX,
            "limit_request_field_size": HEAD_BYTES_MAX,
            "logger_class": _Logger,
            # gunicorn counts in whole seconds.
            "keepalive": math.ceil(settings.idle_timeout_s),
            "graceful_timeout": max(1, math.ceil(settings.drain_timeout_s)),
            # A worker may be busy for long with one slow client, and is not to be killed for that.
            "timeout": 0,
            "worker_tmp_dir": str(self._site.folder),
            "control_socket_disable": True,
            "post_fork": self._make_worker,
            "post_worker_init": self._say_ready,
            "worker_exit": self._close_worker,
            # gunicorn's own would log each request.
            "pre_request": lambda _worker, _request: None,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Callable[..., Iterable[bytes]]:
        """Return the application of the worker that asks for it."""
        if self._worker is None:
            raise RuntimeError("there is no worker yet")
        return create_app(Api(self._worker))

    def stop_streams(self) -> None:
        """Have what goes on for long end soon."""
        if self._worker is not None:
            self._worker.stopping.set()

    def _make_worker(self, _arbiter: Arbiter, worker: GunicornWorker) -> None:
        signals.begin_anew()
        for listener in worker.sockets:
            addresses.limit_unsent(listener)
        self._worker = self._site.make_worker(_index(worker))

    def _say_ready(self, _worker: GunicornWorker) -> None:
        if self._worker is not None:
            self._worker.ready()

    def _close_worker(self, _arbiter: Arbiter, _worker: GunicornWorker) -> None:
        # gunicorn's master calls this too, for a worker that it finds gone.
        if self._worker is not None:
            self._worker.close()


class _Arbiter(Arbiter):
    """gunicorn's master, which ends with the first worker that isn't supposed to end.

    gunicorn would replace the worker; what it held in memory would be gone, and nobody told.
    """

    _is_stopping = False

    def spawn_worker(self) -> int:
        with signals.held_back():
            pid: int = super().spawn_worker()
            return pid

    def stop(self, graceful: bool = True) -> None:  # noqa: FBT001, FBT002 - gunicorn's signature
        self._is_stopping = True
        super().stop(graceful)

    def reap_workers(self) -> None:
        """Bury workers that have ended; called whenever one may have."""
        while self.WORKERS:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            worker: GunicornWorker = self.WORKERS.pop(pid)
            worker.tmp.close()
            if not self._is_stopping:
                log.error("worker %d %s", _index(worker), explain_end(os.waitstatus_to_exitcode(status)))
                self.stop()
                sys.exit(1)


def _index(worker: GunicornWorker) -> int:
    # The first worker's age is 1, and there are no others than the first ones.
    return int(worker.age) - 1


class _Logger(glogging.Logger):
    """Leaves warnings and errors to the service's own log."""

    def setup(self, cfg: Config) -> None:  # noqa: ARG002 - gunicorn's signature
        self.error_log.setLevel(logging.WARNING)
        self.error_log.propagate = True
