"""From the folder of the runs to the index: what it lacks, or all of it anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.exc import DataError, IntegrityError

from wirebench.errors import UsageError, WirebenchError
from wirebench.index.database import Database
from wirebench.index.rows import run_row
from wirebench.index.tables import TABLES, blocks, cells, runs
from wirebench.index.write import analyse, put_records, put_run
from wirebench.stats.names import counted
from wirebench.store import DamagedRun, RunInfo, is_run_name
from wirebench.store.results import load_info, load_records, record_paths, run_folders

#: Hears how many of the folder's runs have been looked at, of how many, and how many records were written.
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True)
class Changes:
    """What was put into the index: runs and their records; `damaged` were passed over.

    `elsewhere` are the runs that the index had and the folder hasn't: a rebuild takes them out.
    """

    runs: int
    records: int
    damaged: tuple[DamagedRun, ...]
    elsewhere: tuple[str, ...]


def catch_up(database: Database, folder: Path, on_progress: Progress | None = None) -> Changes:
    """Put what the folder has and the index lacks, a run at a time; nothing is removed.

    Raises UsageError if the folder is none, IndexUnusableError.
    """
    folders = run_folders(folder)
    with database.reading() as connection:
        held = _held(connection)
    taken = _Taken(folders, held)
    for done, path in enumerate(folders, 1):
        if _differs(path, held):
            with database.writing() as connection:
                taken.take(connection, path)
        if on_progress:
            on_progress(done, len(folders), taken.records)
    if taken.changes.runs:
        with database.writing() as connection:
            analyse(connection)
    return taken.changes


def catch_up_run(database: Database, folder: Path) -> None:
    """Put a run as its folder has it. Raises WirebenchError if it can't be read, IndexUnusableError."""
    with database.writing() as connection:
        _put(connection, folder)


def rebuild(database: Database, folder: Path, on_progress: Progress | None = None, *, take_out: bool = True) -> Changes:
    """Make the index anew from the folder; until it is whole, and if it gets no further, readers see the old one.

    Raises UsageError if the folder is none, or, unless they are to be taken out, if the index has runs that the folder
    hasn't; IndexUnusableError.
    """
    folders = run_folders(folder)
    with database.writing() as connection:
        taken = _Taken(folders, connection.scalars(select(runs.c.run_id)))
        if taken.changes.elsewhere and not take_out:
            those = counted(len(taken.changes.elsewhere), "run")
            raise UsageError(
                f"{database.name} has {those} that {folder}/ hasn't: another folder's, perhaps",
                "`wirebench index` puts in what it lacks; --rebuild --take-out takes those out",
            )
        for table in reversed(TABLES):
            connection.execute(delete(table))
        for done, path in enumerate(folders, 1):
            taken.take(connection, path)
            if on_progress:
                on_progress(done, len(folders), taken.records)
        analyse(connection)
    return taken.changes


class _Taken:
    """Counts what is taken from the folders of runs into an index that had these runs."""

    def __init__(self, folders: Iterable[Path], had: Iterable[str]) -> None:
        self.records = 0
        self._runs = 0
        self._damaged: list[DamagedRun] = []
        self._elsewhere = tuple(sorted(set(had) - {folder.name for folder in folders}))

    @property
    def changes(self) -> Changes:
        """What has changed so far."""
        return Changes(self._runs, self.records, tuple(self._damaged), self._elsewhere)

    def take(self, connection: Connection, folder: Path) -> None:
        """Put a run, or pass it over if it is damaged."""
        try:
            with connection.begin_nested():
                self.records += _put(connection, folder)
            self._runs += 1
        except WirebenchError as error:
            self._damaged.append(DamagedRun(folder, error.message.replace(f"{folder}/", "")))
        except (DataError, IntegrityError, OverflowError) as error:
            cause = str(getattr(error, "orig", None) or error).partition("\n")[0]
            self._damaged.append(DamagedRun(folder, f"the index has no room for its values: {cause}"))


def _put(connection: Connection, folder: Path) -> int:
    """Put a run and all its records; read while nobody else writes, so that nothing older takes a newer's place."""
    info = _info(folder)
    return put_records(connection, put_run(connection, info), load_records(folder))


def _info(folder: Path) -> RunInfo:
    info = load_info(folder)
    if info.id != folder.name:
        raise WirebenchError(f"it is the run {info.id}, in a folder of another name", "name the folder as the run")
    if not is_run_name(info.id):
        raise WirebenchError("run.json: id: no run has such a name", "move the folder away")
    return info


def _held(connection: Connection) -> dict[str, tuple[dict[str, object], int]]:
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
    return {row.run_id: (_without_id(row._asdict()), row[-1]) for row in rows}


def _without_id(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name in runs.c and name != "id"}


def _differs(folder: Path, held: dict[str, tuple[dict[str, object], int]]) -> bool:
    """Say whether the index lacks something of a run, as far as can be told without reading its records."""
    try:
        row = run_row(load_info(folder))
    except WirebenchError:
        return True  # to be named
    return held.get(folder.name) != (row, sum(1 for _ in record_paths(folder)))
