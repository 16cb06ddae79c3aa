"""The index: what others ask of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.exc import DataError, IntegrityError

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.labels import pluralise
from wirebench.model.record import Record
from wirebench.model.run_info import RunInfo
from wirebench.results.index import query, write
from wirebench.results.index.database import Database
from wirebench.results.index.model import Choices, Result, ResultPage, RunRow
from wirebench.results.index.tables import TABLES, blocks, cells, runs
from wirebench.results.query import Filters
from wirebench.results.runs import DamagedRun, is_run_name, load_info, load_records, record_paths, run_folders

#: Hears how many of the folder's runs have been looked at, of how many, and how many records were written.
Progress = Callable[[int, int, int], None]


@dataclass(slots=True)
class Changes:
    """What was put into the index: runs and their records; `damaged` were passed over.

    `elsewhere` are the runs that the index had and the folder hasn't: a rebuild removes them.
    """

    runs: int = 0
    records: int = 0
    damaged: tuple[DamagedRun, ...] = ()
    elsewhere: tuple[str, ...] = ()

    @classmethod
    def begin(cls, folders: Iterable[Path], had: Iterable[str]) -> Self:
        """Begin to take the folders of runs into an index that had these runs."""
        return cls(elsewhere=tuple(sorted({*had} - {folder.name for folder in folders})))

    def add_run(self, connection: Connection, folder: Path) -> None:
        """Put the run of a folder into the index, or remember why it can't be."""
        try:
            with connection.begin_nested():
                self.records += _put_run(connection, folder)
            self.runs += 1
        except WirebenchError as error:
            self.damaged += (DamagedRun(folder, error.message.replace(f"{folder}/", "")),)
        except (DataError, IntegrityError, OverflowError) as error:
            cause = str(getattr(error, "orig", None) or error).partition("\n")[0]
            self.damaged += (DamagedRun(folder, f"the index can't store its values: {cause}"),)


@dataclass(frozen=True, slots=True)
class Contents:
    """How much the index holds."""

    runs: int
    cells: int
    records: int


class Index(Database):
    """Finds runs and their figures. Fit for threads; all methods raise IndexUnusableError if the database fails."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def results(self, filters: Filters, *, limit: int = 100, cursor: str | None = None) -> ResultPage[Result]:
        """Return a page of cells with their figures: the newest run first; its cells by operation, concurrency, name.

        Raises UsageError for an invalid limit or cursor.
        """
        with self.reading() as connection:
            return query.select_results(connection, filters, limit, cursor)

    def runs(self, filters: Filters, *, limit: int = 100, cursor: str | None = None) -> ResultPage[RunRow]:
        """Return a page of runs, the newest first. Raises UsageError for an invalid limit or cursor."""
        with self.reading() as connection:
            return query.select_runs(connection, filters, limit, cursor)

    def choices(self) -> Choices:
        with self.reading() as connection:
            return query.select_choices(connection)

    def contents(self) -> Contents:
        with self.reading() as connection:
            counts = (connection.scalar(select(func.count()).select_from(table)) for table in (runs, cells, blocks))
            return Contents(*(count or 0 for count in counts))

    def put_run(self, info: RunInfo) -> None:
        with self.writing() as connection:
            write.write_run(connection, info)

    def add_record(self, record: Record) -> None:
        """Put a record of a run that was put; it takes the place of one of the same cell and block."""
        with self.writing() as connection:
            write.write_records(connection, write.find_id(connection, record.run), [record])

    def remove_run(self, run_id: str) -> None:
        with self.writing() as connection:
            write.remove_run(connection, run_id)

    def catch_up(self, folder: Path, on_progress: Progress | None = None) -> Changes:
        """Put what the folder has and the index lacks, a run at a time; nothing is removed.

        Raises UsageError if the folder isn't one.
        """
        folders = run_folders(folder)
        with self.reading() as connection:
            held = _read_held(connection)
        changes = Changes.begin(folders, held)
        for done, path in enumerate(folders, 1):
            if _is_different(path, held):
                with self.writing() as connection:
                    changes.add_run(connection, path)
            if on_progress:
                on_progress(done, len(folders), changes.records)
        if changes.runs:
            with self.writing() as connection:
                write.analyse(connection)
        return changes

    def catch_up_run(self, folder: Path) -> None:
        """Put a run as its folder has it. Raises WirebenchError if it can't be read."""
        with self.writing() as connection:
            _put_run(connection, folder)

    def rebuild(self, folder: Path, on_progress: Progress | None = None, *, take_out: bool = True) -> Changes:
        """Rebuild the index from the folder; until it is complete, and if it fails, readers see the old one.

        Raises UsageError if the folder isn't one, or if others' runs would be removed without `take_out`.
        """
        folders = run_folders(folder)
        with self.writing() as connection:
            changes = Changes.begin(folders, connection.scalars(select(runs.c.run_id)))
            if changes.elsewhere and not take_out:
                those = pluralise(len(changes.elsewhere), "run")
                raise UsageError(
                    f"{self.name} has {those} that {folder}/ hasn't: another folder's, perhaps",
                    "`wirebench index` adds what is missing; --rebuild --take-out removes those runs",
                )
            for table in reversed(TABLES):
                connection.execute(delete(table))
            for done, path in enumerate(folders, 1):
                changes.add_run(connection, path)
                if on_progress:
                    on_progress(done, len(folders), changes.records)
            write.analyse(connection)
        return changes


def _put_run(connection: Connection, folder: Path) -> int:
    """Put a run and all its records; read under the write lock, so that an older state never replaces a newer one."""
    info = load_info(folder)
    if info.id != folder.name:
        raise WirebenchError(f"it is the run {info.id}, in a folder of another name", "name the folder as the run")
    if not is_run_name(info.id):
        raise WirebenchError("run.json: id: no run has such a name", "move the folder away")
    return write.write_records(connection, write.write_run(connection, info), load_records(folder))


def _read_held(connection: Connection) -> dict[str, tuple[dict[str, object], int]]:
    """Return the row of each run in the index, as `run_row` makes it, and how many of its records are there."""
    records = (
        select(cells.c.run, func.count().label("records"))
        .join_from(cells, blocks, blocks.c.cell_id == cells.c.id)
        .group_by(cells.c.run)
        .subquery()
    )
    rows = connection.execute(
        select(runs, func.coalesce(records.c.records, 0)).outerjoin(records, records.c.run == runs.c.id)
    )
    names = {*runs.c.keys()} - {"id"}
    return {row.run_id: ({name: getattr(row, name) for name in names}, row[-1]) for row in rows}


def _is_different(folder: Path, held: dict[str, tuple[dict[str, object], int]]) -> bool:
    """Say whether the index lacks something of a run, as far as can be told without reading its records."""
    try:
        row = write.make_run_row(load_info(folder))
    except WirebenchError:
        return True  # to be named
    return held.get(folder.name) != (row, sum(1 for _ in record_paths(folder)))
