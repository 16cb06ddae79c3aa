"""The runs of a folder: read from there, and found by the tables of the index."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import select

from wirebench.analysis.results import Result, RunRow
from wirebench.errors import WirebenchError
from wirebench.model.run_info import Run
from wirebench.store import select as selects
from wirebench.store.database import Database, IndexUnusableError
from wirebench.store.query import Filters
from wirebench.store.runs import DamagedRun, is_run_name, load_info, load_run, read_changed_ns, run_folders
from wirebench.store.select import Choices, ResultPage
from wirebench.store.tables import put_run, remove_run, runs


class FolderMissingError(WirebenchError):
    """The folder of the runs isn't there."""


class RunMissingError(WirebenchError):
    """No run has that name."""


class Store:
    """The runs of a results folder, and the tables that find them. Fit for threads.

    The folder is the source of truth. The tables are a cache of it, which `update` fills when asked: they need a
    database of their own. All methods that read them raise IndexUnusableError if the database fails.
    """

    def __init__(self, folder: Path, url: str) -> None:
        """Open a store, and make its tables if they aren't there. Raises UsageError, IndexUnusableError."""
        self.folder = folder
        self._database = Database(url)
        self._database.prepare()
        self._lock = threading.Lock()
        #: Runs that can't be read, with when their folders were last written.
        self._damaged: dict[str, tuple[int, DamagedRun]] = {}

    @property
    def damaged(self) -> tuple[DamagedRun, ...]:
        """The runs that could not be read at the last update."""
        return tuple(damaged for _, damaged in self._damaged.values())

    def update(self) -> int:
        """Bring the tables up to what the folder has, and return how many runs were put; damaged ones are passed over.

        Raises FolderMissingError: what is empty in the place of a mounted folder must not empty the tables.
        """
        self._check_folder()
        with self._lock:
            self._database.prepare()
            with self._database.reading() as connection:
                rows = connection.execute(select(runs.c.run_id, runs.c.changed_ns, runs.c.status)).all()
            held = {row.run_id: (row.changed_ns, row.status) for row in rows}
            folders = {folder.name: folder for folder in run_folders(self.folder)}
            self._damaged = {name: found for name, found in self._damaged.items() if name in folders}
            for name in held.keys() - folders.keys():
                with self._database.writing() as connection:
                    remove_run(connection, name)
            return sum(self._put(folder) for folder in folders.values() if self._is_new(folder, held))

    def _is_new(self, folder: Path, held: Mapping[str, tuple[int, str]]) -> bool:
        """Say whether a run isn't in the tables as it is now: a killed one has written nothing more, and has ended."""
        changed_ns, status = held.get(folder.name, (None, ""))
        if damaged := self._damaged.get(folder.name):
            changed_ns = damaged[0]
        return changed_ns != read_changed_ns(folder) or (status == "running" and load_info(folder).status != status)

    def _put(self, folder: Path) -> bool:
        """Put a run into the tables, or remember why it can't be."""
        changed_ns = read_changed_ns(folder)
        self._damaged.pop(folder.name, None)
        try:
            with self._database.writing() as connection:
                put_run(connection, folder)
        except IndexUnusableError:
            raise
        except WirebenchError as error:
            self._damaged[folder.name] = changed_ns, DamagedRun(folder, error.message.replace(f"{folder}/", ""))
            return False
        return True

    def results(self, filters: Filters, *, limit: int = 100, cursor: str | None = None) -> ResultPage[Result]:
        """Return a page of cells with their figures, those of the newest run first.

        Raises UsageError for an invalid limit or cursor.
        """
        with self._database.reading() as connection:
            return selects.select_results(connection, filters, limit, cursor)

    def runs(self, filters: Filters, *, limit: int = 100, cursor: str | None = None) -> ResultPage[RunRow]:
        """Return a page of runs, the newest first. Raises UsageError for an invalid limit or cursor."""
        with self._database.reading() as connection:
            return selects.select_runs(connection, filters, limit, cursor)

    def choices(self) -> Choices:
        with self._database.reading() as connection:
            return selects.select_choices(connection)

    def load(self, run_id: str) -> Run:
        """Read the run of that name from its folder. Raises WirebenchError."""
        return load_run(self.find_folder(run_id))

    def find_folder(self, run_id: str) -> Path:
        """Return the folder of the run of that name, which lies in that of the runs. Raises WirebenchError."""
        self._check_folder()
        folder = self.folder / run_id
        if is_run_name(run_id) and (folder / "run.json").is_file():
            return folder
        raise RunMissingError("there is no such run", "/ and /api/v1/runs list the runs")

    def _check_folder(self) -> None:
        if not self.folder.is_dir():
            raise FolderMissingError("the folder of the runs is gone", "put it back, or serve another: --out")
