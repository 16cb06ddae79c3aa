"""The runs that are served: the index finds them, the results folder holds them."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette

from wirebench.index import Index, IndexUnusableError
from wirebench.store import DamagedRun, Run, load_run
from wirebench.web.problems import HttpError
from wirebench.web.watch import Watch

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class Catalogue:
    """The runs of one results folder. Fit for threads."""

    def __init__(self, folder: Path, index_url: str) -> None:
        self.folder = folder
        self._url = index_url
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._watch = Watch(folder, self.index)

    @contextlib.contextmanager
    def index(self) -> Iterator[Index]:
        """Have the index, which is opened anew after it has failed. Raises IndexUnusableError."""
        with self._lock:
            if self._index is None:
                self._index = Index.open(self._url)
            index = self._index
        try:
            yield index
        except IndexUnusableError:
            self._forget(index)
            raise

    def run(self, run_id: str) -> Run:
        """Return the run of that name. Raises HttpError if there is none, WirebenchError if it can't be read."""
        return load_run(self.run_folder(run_id))

    def run_folder(self, run_id: str) -> Path:
        """Return the folder of the run of that name: one that lies in the results folder. Raises HttpError."""
        folder = self.folder / run_id
        if not (_RUN_ID.fullmatch(run_id) and (folder / "run.json").is_file()):
            raise HttpError(HTTPStatus.NOT_FOUND, "there is no such run", "/ and /api/v1/runs list the runs")
        return folder

    def damaged(self) -> tuple[DamagedRun, ...]:
        """Return the runs in the folder that can't be read."""
        return self._watch.damaged

    def go_on(self) -> None:
        """Let what takes long go on, unless the server is being stopped. Raises HttpError."""
        if self._watch.is_stopping:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, "the server is being stopped", "ask again later")

    @contextlib.asynccontextmanager
    async def followed(self, _app: Starlette) -> AsyncIterator[None]:
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
                self._watch.begin_anew()
