"""The index: what others ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import func, select

from wirebench.index import folder as folders
from wirebench.index import query, write
from wirebench.index.database import Database
from wirebench.index.folder import Changes, Progress
from wirebench.index.model import Choices, Filters, KnownCell, Page, Result, RunRow
from wirebench.index.tables import blocks, cells, runs
from wirebench.store import Record, RunInfo


@dataclass(frozen=True, slots=True)
class Contents:
    """How much the index holds."""

    runs: int
    cells: int
    records: int


class Index:
    """Finds runs and their figures. Fit for threads; all methods raise IndexUnusableError if the database fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url: str, *, damaged_aside: bool = False) -> Self:
        """Connect to the database of a URL, and bring its tables to this version.

        With `damaged_aside`, a file that is no database any more gets another name, and an empty one takes its place.
        Raises UsageError for a URL that is none, IndexUnusableError.
        """
        return cls(Database(url, damaged_aside=damaged_aside))

    def __enter__(self) -> Self:
        """Use the index, and close it at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._database.close()

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return self._database.name

    @property
    def is_new(self) -> bool:
        """Whether its tables were made when it was opened: it knows of no run then."""
        return self._database.is_new

    @property
    def aside(self) -> Path | None:
        """Where the damaged file is now whose place it has taken, if it has."""
        return self._database.aside

    def is_lost(self) -> bool:
        """Say whether its file was removed, or replaced: it fails until it is opened anew."""
        return self._database.is_lost()

    def results(self, filters: Filters, *, limit: int = 100, cursor: str | None = None) -> Page[Result]:
        """Return a page of cells with their figures: the newest run first; its cells by operation, concurrency, name.

        Raises UsageError for a limit or cursor that is none.
        """
        with self._database.reading() as connection:
            return query.page_of_results(connection, filters, limit, cursor)

    def runs(self, filters: Filters, *, limit: int = 100, cursor: str | None = None) -> Page[RunRow]:
        """Return a page of runs, the newest first. Raises UsageError for a limit or cursor that is none."""
        with self._database.reading() as connection:
            return query.page_of_runs(connection, filters, limit, cursor)

    def cells(self, filters: Filters) -> tuple[KnownCell, ...]:
        """Return the cells that the runs have, each once."""
        with self._database.reading() as connection:
            return tuple(query.cells_of_runs(connection, filters))

    def choices(self) -> Choices:
        """Return what each filter can be set to."""
        with self._database.reading() as connection:
            return query.choices(connection)

    def contents(self) -> Contents:
        """Return how much it holds."""
        with self._database.reading() as connection:
            counts = (connection.scalar(select(func.count()).select_from(table)) for table in (runs, cells, blocks))
            return Contents(*(count or 0 for count in counts))

    def put_run(self, info: RunInfo) -> None:
        """Put what is said of a run, new or changed."""
        with self._database.writing() as connection:
            write.put_run(connection, info)

    def add_record(self, record: Record) -> None:
        """Put a record of a run that was put; it takes the place of one of the same cell and block."""
        with self._database.writing() as connection:
            write.put_records(connection, write.id_of(connection, record.run), [record])

    def remove_run(self, run_id: str) -> None:
        """Remove a run, if it is there, and all that belongs to it."""
        with self._database.writing() as connection:
            write.remove_run(connection, run_id)

    def catch_up(self, folder: Path, on_progress: Progress | None = None) -> Changes:
        """Put what the folder has and the index lacks, a run at a time; nothing is removed.

        Raises UsageError if the folder is none.
        """
        return folders.catch_up(self._database, folder, on_progress)

    def catch_up_run(self, folder: Path) -> None:
        """Put a run as its folder has it. Raises WirebenchError if it can't be read."""
        folders.catch_up_run(self._database, folder)

    def rebuild(self, folder: Path, on_progress: Progress | None = None, *, take_out: bool = True) -> Changes:
        """Make the index anew from the folder: readers see the old one until the new one is whole.

        Raises UsageError if the folder is none, or, unless they are to be taken out, if there are runs of others.
        """
        return folders.rebuild(self._database, folder, on_progress, take_out=take_out)
