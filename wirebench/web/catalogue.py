"""The runs that are served: the index finds them, the results folder holds them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

from starlette.applications import Starlette

from wirebench.errors import WirebenchError
from wirebench.results.index import Filters, Index, IndexUnusableError
from wirebench.results.runs import DamagedRun, Run, is_run_name, load_run
from wirebench.targets.kubernetes.namespace import name_namespace
from wirebench.web.problems import HttpError
from wirebench.web.watch import FolderWatch

#: How long a request waits for an index that is being rebuilt, in seconds.
_WAIT_S_MAX = 5.0


class Catalogue:
    """The runs of one results folder. Fit for threads."""

    def __init__(self, folder: Path, index_url: str) -> None:
        self.folder = folder
        self._url = index_url
        self._lock = threading.Lock()
        self._device = folder.stat().st_dev
        self._index: Index | None = None
        self._watch = FolderWatch(folder, self._open)

    @contextlib.contextmanager
    def index(self) -> Iterator[Index]:
        """Have the index, once it has all that the folder had at the start, or when the index was lost.

        Raises IndexUnusableError; HttpError while it isn't that far, or the folder is lost as well.
        """
        with self._open() as index:
            if not self._watch.has_caught_up(_WAIT_S_MAX):
                raise HttpError(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    f"the index lacks runs: {self._watch.describe_progress()}",
                    "ask again later",
                )
            yield index

    @contextlib.contextmanager
    def _open(self) -> Iterator[Index]:
        """Have the index as it is; it is opened again after it has failed, or was lost."""
        self._check_folder()
        with self._lock:
            if self._index is not None and self._index.is_lost():
                self._index.close()
                self._index = None
                self._watch.restart()
            if self._index is None:
                self._index = Index(self._url)
                if self._index.is_new:
                    self._watch.restart()
            index = self._index
        try:
            yield index
        except IndexUnusableError:
            self._forget(index)
            raise

    def _check_folder(self) -> None:
        """Raise HttpError if the folder isn't there, or if what was mounted there isn't."""
        try:
            is_there = self.folder.stat().st_dev == self._device
        except OSError:
            is_there = False
        if not is_there:
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
        with contextlib.suppress(WirebenchError), self._open() as index:
            return bool(index.runs(Filters(run_id=(run_id,)), limit=1).rows)
        return False

    def list_damaged(self) -> tuple[DamagedRun, ...]:
        return self._watch.damaged

    def check_running(self) -> None:
        """Continue long work, unless the server is being stopped. Raises HttpError."""
        if self._watch.is_stopping:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, "the server is being stopped", "ask again later")

    @contextlib.asynccontextmanager
    async def follow(self, _app: Starlette) -> AsyncIterator[None]:
        """Keep the index up to date with the folder while the application runs; then close it."""
        self._watch.start()
        try:
            yield
        finally:
            self._watch.stop()
            self._forget(self._index)

    def _forget(self, index: Index | None) -> None:
        """Close an index that has failed, unless another thread has done so."""
        with self._lock:
            if index is not None and index is self._index:
                self._index = None
                index.close()
                self._watch.compare_all()


def read_changed_ns(folder: Path) -> int:
    """Return when something was last written to a run, in nanoseconds; 0 for what isn't there."""
    paths = (folder / name for name in ("run.json", "records", "histograms"))
    return max((path.stat().st_mtime_ns for path in paths if path.exists()), default=0)
