"""Writing and reading the folder of a run.

results/20261121T101500Z-quick/
    run.json  records/*.json  histograms/*.json  logs/*.log  report.html  timing.json (of a replay)
    application.json  contract-VARIANT.binpb (both only of runs with variants)
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import psutil
from pydantic import BaseModel, ValidationError

from wirebench.errors import UsageError, WirebenchError, pluralise
from wirebench.model.record import Record
from wirebench.model.run_info import Run, RunInfo
from wirebench.model.validation_messages import describe_first
from wirebench.system.files import make_write_error, read_limited, write_atomic
from wirebench.system.paths import DEFAULT_FOLDER, LAST

_LOG = logging.getLogger(__name__)
#: How far two readings of when a process began lie apart at most, in seconds: the clock may be set meanwhile.
_BEGAN_TOLERANCE_S = 60.0
#: Of run.json and of a record.
FILE_BYTES_MAX = 2_000_000
_LAST_BUT = re.compile(rf"{LAST}(?:~([0-9]{{1,9}}))?")

#: How long a scenario's name may be, in characters: its runs' names are those of folders, and of files beside them.
SCENARIO_NAME_MAX = 180
_RUN_NAME = re.compile(rf"[0-9]{{8}}T[0-9]{{6}}Z-[A-Za-z0-9._-]{{1,{SCENARIO_NAME_MAX}}}")

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class DamagedRun:
    """A folder that is a run's and can't be read, and why."""

    folder: Path
    reason: str


class RunWriter:
    """Writes a run while it is running; what was written stays readable whatever happens next."""

    def __init__(self, folder: Path, info: RunInfo, *, found: Run | None = None, begins: bool = True) -> None:
        """Take the folder of runs, and resume the run that was `found`, or begin one unless that is to come.

        Raises WirebenchError, and UsageError if the run has changed since.
        """
        self.folder = folder / info.id
        self.info = info
        self._has_begun = False
        if found:
            self._take_over(found)
        elif self.folder.exists():
            raise WirebenchError(f"another run of this second is named {info.id}", "run it again")
        elif begins:
            self.begin()

    def begin(self) -> None:
        """Make the run's folder, where services may have logged, and say there that the run has begun."""
        try:
            for name in ("records", "histograms", "logs"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise make_write_error(self.folder, error) from error
        self._has_begun = True
        self._write_info()

    def _take_over(self, found: Run) -> None:
        """Resume a run; of two processes that try the same, one has its lock, which stays until it ends."""
        taken = UsageError(f"run {self.info.id} has been resumed meanwhile", "wait until that process has ended")
        try:
            fcntl.flock(os.open(self.folder, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise taken from None
        if load_info(self.folder) != found.info:
            raise taken
        self._has_begun = True
        self._write_info()
        try:
            self._remove_what_has_no_record(found.records)
        except OSError as error:
            raise make_write_error(self.folder, error) from error

    def _remove_what_has_no_record(self, records: Iterable[Record]) -> None:
        """Remove what drivers have left of a window that was not finished: some fail if it exists."""
        kept = {self.histogram_path(record.id) for record in records}
        for path in (self.folder / "histograms").iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path not in kept:
                path.unlink()

    def histogram_path(self, record_id: str) -> Path:
        return self.folder / "histograms" / f"{record_id}.json"

    def log_path(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def add(self, record: Record) -> None:
        """Put a record on disk, whole or not at all, with the latencies of its cell up to now."""
        from wirebench.store.histograms import merge_latencies

        if before := load_records(self.folder, record.cell):
            record = record.model_copy(update={"merged": merge_latencies(self.folder, (*before, record))})
        write_atomic(self.folder / "records" / f"{record.id}.json", record.model_dump_json(indent=1))

    def keep(self, path: Path, name: str) -> None:
        """Put a copy of a file that the run depends on into its folder, under this name. Raises WirebenchError."""
        try:
            shutil.copyfile(path, self.folder / name)
        except OSError as error:
            raise make_write_error(self.folder / name, error) from error

    def write(self, name: str, text: str) -> None:
        """Put a text into the run's folder, under this name. Raises WirebenchError."""
        write_atomic(self.folder / name, text)

    def discard_if_empty(self, *, logs_count: bool) -> None:
        """Remove the folder if nothing was measured, and, if that counts, no process has said anything.

        A resumed run was there before, and stays.
        """
        has_logs = logs_count and any(log.stat().st_size for log in (self.folder / "logs").glob("*"))
        if not (has_logs or self.info.resumed_at or any(record_paths(self.folder))):
            shutil.rmtree(self.folder, ignore_errors=True)

    def update(self, **changes: Any) -> None:  # noqa: ANN401 - fields of RunInfo
        self.info = self.info.model_copy(update=changes)
        self._write_info()

    def note(self, text: str) -> None:
        """Add a caveat, unless the run has it already."""
        if text not in self.info.notes:
            self.update(notes=(*self.info.notes, text))

    def _write_info(self) -> None:
        if self._has_begun:
            write_atomic(self.folder / "run.json", self.info.model_dump_json(indent=1))


def make_run_id(scenario: str, now: datetime | None = None) -> str:
    """Return a new run's name: when it started, and what it asks. Raises UsageError for a scenario that gives none."""
    name = f"{(now or datetime.now(UTC)).strftime('%Y%m%dT%H%M%SZ')}-{scenario}"
    if not is_run_name(name):
        hint = f"name its file with letters (a to z), digits, and . _ - alone, {SCENARIO_NAME_MAX} of them at most"
        raise UsageError(f"a scenario of the name {scenario[:SCENARIO_NAME_MAX]!r} gives its runs no name", hint)
    return name


def is_run_name(text: str) -> bool:
    """Say whether a run can have that name: one that needs no quotes in paths, addresses, commands and lists."""
    return _RUN_NAME.fullmatch(text) is not None


def load_run(folder: Path) -> Run:
    """Read a run. Raises WirebenchError that names the file if one can't be read."""
    return Run(folder, load_info(folder), load_records(folder))


def load_info(folder: Path) -> RunInfo:
    """Read what is said of a run. Raises WirebenchError that names the file if it can't be read.

    A run that says that it is running, and whose process isn't on this machine, was killed.
    """
    info = _read(folder / "run.json", RunInfo)
    if info.status != "running" or _is_alive(info):
        return info
    return info.model_copy(update={"status": "incomplete", "reason": "it was killed"})


def load_records(folder: Path, cell: str = "") -> tuple[Record, ...]:
    """Read the records of a run, or of a cell. Raises WirebenchError that names the file if one can't be read."""
    paths = (path for path in record_paths(folder) if not cell or path.stem.partition("-")[2] == cell)
    records = (_read(path, Record) for path in paths)
    return tuple(sorted(records, key=lambda record: (record.block, record.order)))


def record_paths(folder: Path) -> Iterator[Path]:
    return (folder / "records").glob("*.json")


def read_changed_ns(folder: Path) -> int:
    """Return when something was last written to a run, in nanoseconds; 0 for what isn't there."""
    paths = (folder / name for name in ("run.json", "records", "histograms"))
    return max((path.stat().st_mtime_ns for path in paths if path.exists()), default=0)


def find_run(name: str, folder: Path = DEFAULT_FOLDER, *, prefers_complete: bool = True) -> Run:
    """Read the run of that name, the only one whose name begins so, the one in that folder, or one of the `last`.

    Those are counted by runs that can be read, where it `prefers_complete` by complete ones first: `last~1` is the one
    before; of the others it warns.
    Raises UsageError if there is no such run, WirebenchError if the one that is named can't be read.
    """
    folders = run_folders(folder)
    if asked := _LAST_BUT.fullmatch(name):
        newest_first = folders[::-1]
        if prefers_complete:
            newest_first.sort(key=_is_incomplete)
        return _find_last(newest_first, int(asked[1] or 0), folder)
    for path in (folder / name, Path(name)):
        if (path / "run.json").is_file():
            return load_run(path)
    alike = [path for path in folders if path.name.startswith(name)] if name else []
    if len(alike) == 1:
        return load_run(alike[0])
    if alike:
        raise UsageError(f"{len(alike)} runs in {folder}/ begin with {name!r}", "write more of the name")
    raise UsageError(f"no run {name!r} in {folder}/", "`wirebench list` shows the runs")


def _is_incomplete(folder: Path) -> bool:
    try:
        return load_info(folder).status != "complete"
    except WirebenchError:
        return False


def _find_last(folders: Sequence[Path], newer: int, folder: Path) -> Run:
    """Read the newest run but so many newer ones."""
    whole = 0
    for path in folders:
        try:
            found = load_run(path)
        except WirebenchError as error:
            reason = error.message.replace(f"{path}/", "")
            _LOG.warning("skipped %s, which can't be read: %s", path, reason)
            continue
        if whole == newer:
            return found
        whole += 1
    if whole:
        raise UsageError(f"{LAST}~{newer}: {folder}/ has {pluralise(whole, 'run')}", "`wirebench list` shows the runs")
    raise UsageError(f"no {'readable ' if folders else ''}runs in {folder}/", "`wirebench run` makes one")


def check_folder(folder: Path) -> None:
    """Raise UsageError unless runs can be written to a folder, which needn't be there yet."""
    there = next(each for each in (folder, *folder.absolute().parents) if os.path.lexists(each))
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise UsageError(f"--out {folder}: {there} is no folder that can be written to", "name another folder")


def run_folders(folder: Path) -> list[Path]:
    """Return the folders of the runs, oldest first. Raises UsageError."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder}: not a folder", "name the folder that the runs are in")
    return sorted(path.parent for path in folder.glob("*/run.json"))


def _read(path: Path, model: type[_Model]) -> _Model:
    try:
        hint = "is the folder that of a run?"
        return model.model_validate_json(read_limited(path, FILE_BYTES_MAX, hint, f"none of ours is as long: {hint}"))
    except UsageError as error:
        raise WirebenchError(error.message, error.hint) from None
    except ValidationError as error:
        hint = "it was written by another version, or damaged: move the folder away, or choose another run"
        raise WirebenchError(f"{path}: {describe_first(error)}", hint) from None


def _is_alive(info: RunInfo) -> bool:
    """Whether the run's process is there, and not another one of its number: a later one, or another machine's."""
    try:
        began_unix_s = psutil.Process(info.pid).create_time()
    except (psutil.NoSuchProcess, OverflowError, ValueError):  # gone, or a number that no process has
        return False
    except psutil.AccessDenied:
        return True
    said = info.process_began_unix_s
    return said is None or abs(began_unix_s - said) < _BEGAN_TOLERANCE_S
