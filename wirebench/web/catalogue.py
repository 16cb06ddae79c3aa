"""The runs that are served: the index finds them, the results folder holds them."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

from wirebench.errors import WirebenchError
from wirebench.model.run_info import Run
from wirebench.store.index import Filters, Index
from wirebench.store.runs import DamagedRun, is_run_name, load_run
from wirebench.targets.cluster.namespace import name_namespace
from wirebench.web.problems import HttpError

#: How often all runs are compared although nothing has changed: a killed run writes nothing more.
_COMPARE_S = 60.0

#: When each run was last changed: its run.json and its folder of records.
_State = dict[str, tuple[int, int]]


class Catalogue:
    """The runs of one results folder. Fit for threads."""

    def __init__(self, folder: Path, index_url: str) -> None:
        self.folder = folder
        #: Runs that could not be read when the index was last updated.
        self.damaged: tuple[DamagedRun, ...] = ()
        self._url = index_url
        self._lock = threading.Lock()
        self._known: _State = {}
        self._compared_s = -math.inf

    @contextlib.contextmanager
    def index(self) -> Iterator[Index]:
        """Have the index, with all that the folder has. Raises IndexUnusableError; HttpError without the folder."""
        self._check_folder()
        with Index(self._url) as index:
            self._catch_up(index)
            yield index

    def _catch_up(self, index: Index) -> None:
        with self._lock:
            state, now_s = self._read_state(), time.monotonic()
            if index.is_new or state != self._known or now_s > self._compared_s + _COMPARE_S:
                self.damaged = index.catch_up(self.folder).damaged
                self._known, self._compared_s = state, now_s

    def _read_state(self) -> _State:
        """Look at every run, without reading any."""
        state = {}
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # not a run, or not yet
                    info, records = (Path(entry.path, name).stat() for name in ("run.json", "records"))
                    state[entry.name] = (info.st_mtime_ns, records.st_mtime_ns)
        return state

    def _check_folder(self) -> None:
        if not self.folder.is_dir():
            raise HttpError(
                HTTPStatus.SERVICE_UNAVAILABLE, "the folder of the runs is gone", "put it back, or serve another: --out"
            )

    def run(self, run_id: str) -> Run:
        """Return the run of that name. Raises HttpError if there is none, WirebenchError if it can't be read."""
        return load_run(self.run_folder(run_id))

    def run_folder(self, run_id: str) -> Path:
        """Return the folder of the run of that name. Raises HttpError if it isn't here; the index may have the run."""
        self._check_folder()
        if folder := self.find_folder(run_id):
            return folder
        if is_run_name(run_id) and self._has_indexed(run_id):
            query = urlencode({"run_id": run_id})
            hint = f"the index still has its figures: /?{query} and /api/v1/results?{query}"
            raise HttpError(HTTPStatus.NOT_FOUND, "the folder of this run was removed, or is elsewhere", hint)
        raise HttpError(HTTPStatus.NOT_FOUND, "there is no such run", "/ and /api/v1/runs list the runs")

    def find_folder(self, run_id: str) -> Path | None:
        """Return the folder of the run of that name, one that lies in the results folder; None if it isn't there."""
        folder = self.folder / run_id
        return folder if is_run_name(run_id) and (folder / "run.json").is_file() else None

    def find_run_of_namespace(self, namespace: str) -> str | None:
        """Return the name of the run whose live metrics have this namespace; None if there is none."""
        if not namespace.startswith("wirebench-"):
            return None
        self._check_folder()
        names = (each.name for each in self.folder.iterdir())
        return next((name for name in names if is_run_name(name) and name_namespace(name) == namespace), None)

    def _has_indexed(self, run_id: str) -> bool:
        """Say whether the index has a run; not while it can't be used: what is known of one run needs no index."""
        with contextlib.suppress(WirebenchError), Index(self._url) as index:
            return bool(index.runs(Filters(run_id=(run_id,)), limit=1).rows)
        return False


def read_changed_ns(folder: Path) -> int:
    """Return when something was last written to a run, in nanoseconds; 0 for what isn't there."""
    paths = (folder / name for name in ("run.json", "records", "histograms"))
    return max((path.stat().st_mtime_ns for path in paths if path.exists()), default=0)
