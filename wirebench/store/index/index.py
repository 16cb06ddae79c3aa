"""The index: what others ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DataError, IntegrityError

from wirebench.errors import WirebenchError
from wirebench.store.index import query, write
from wirebench.store.index.database import Database
from wirebench.store.index.tables import blocks, cells, runs
from wirebench.store.query import Filters
from wirebench.store.rows import Choices, Result, ResultPage, RunRow
from wirebench.store.runs import DamagedRun, is_run_name, load_info, load_records, record_paths, run_folders


@dataclass(slots=True)
class Changes:
    """What was put into the index: runs and their records; `damaged` were passed over."""

    runs: int = 0
    records: int = 0
    damaged: tuple[DamagedRun, ...] = ()

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

    def catch_up(self, folder: Path) -> Changes:
        """Put what the folder has and the index lacks, a run at a time; nothing is removed.

        Raises UsageError if the folder isn't one.
        """
        folders = run_folders(folder)
        with self.reading() as connection:
            held = _read_held(connection)
        changes = Changes()
        for path in folders:
            if _is_different(path, held):
                with self.writing() as connection:
                    changes.add_run(connection, path)
        if changes.runs:
            with self.writing() as connection:
                write.analyse(connection)
        return changes

    def catch_up_run(self, folder: Path) -> None:
        """Put a run as its folder has it. Raises WirebenchError if it can't be read."""
        with self.writing() as connection:
            _put_run(connection, folder)


def _put_run(connection: Connection, folder: Path) -> int:
    """Put a run and all its records; read under the write lock, so that an older state never replaces a newer one."""
    info = load_info(folder)
    if info.id != folder.name:
        raise WirebenchError(f"it is the run {info.id}, in a folder of another name", "name the folder as the run")
    if not is_run_name(info.id):
        raise WirebenchError("run.json: id: no run has such a name", "move the folder away")
    return write.write_run(connection, info, load_records(folder))


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
