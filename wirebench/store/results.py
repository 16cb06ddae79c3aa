"""Writing and reading the folder of a run.

results/20261121T101500Z-quick/
    run.json  records/*.json  histograms/*.json  logs/*.log  report.html
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.record import Record
from wirebench.store.run_info import RunInfo

DEFAULT_FOLDER = Path("results")

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it stands on disk; `records` in the order of their measuring."""

    folder: Path
    info: RunInfo
    records: tuple[Record, ...]


class RunWriter:
    """Writes a run while it goes; what was written stays readable whatever happens next."""

    def __init__(self, folder: Path, info: RunInfo) -> None:
        """Make the run's folder and say there that the run has begun."""
        self.folder = folder / info.id
        self.info = info
        try:
            self.folder.mkdir(parents=True)  # not one that is there: another run may have begun in this second
            for name in ("records", "histograms", "logs"):
                (self.folder / name).mkdir()
        except OSError as error:
            raise _cannot_write(self.folder, error) from error
        self._write_info()

    def histogram_path(self, record_id: str) -> Path:
        """Where the driver's histogram file of a record goes."""
        return self.folder / "histograms" / f"{record_id}.json"

    def log_path(self, name: str) -> Path:
        """Where a process logs to."""
        return self.folder / "logs" / f"{name}.log"

    def add(self, record: Record) -> None:
        """Put a record on disk, whole or not at all."""
        _write(self.folder / "records" / f"{record.id}.json", record.model_dump_json(indent=1))

    def update(self, **changes: Any) -> None:  # noqa: ANN401 - fields of RunInfo
        """Change what is said of the run."""
        self.info = self.info.model_copy(update=changes)
        self._write_info()

    def _write_info(self) -> None:
        _write(self.folder / "run.json", self.info.model_dump_json(indent=1))


def run_id(scenario: str, now: datetime | None = None) -> str:
    """Return a new run's name: when it started, and what it asks."""
    return f"{(now or datetime.now(UTC)).strftime('%Y%m%dT%H%M%SZ')}-{scenario}"


def load_run(folder: Path) -> Run:
    """Read a run. Raises WirebenchError that names the file if one can't be read."""
    info = _read(folder / "run.json", RunInfo)
    if info.status == "running" and not _is_alive(info.pid):
        info = info.model_copy(update={"status": "incomplete", "reason": "it was killed"})
    records = [_read(path, Record) for path in (folder / "records").glob("*.json")]
    return Run(folder, info, tuple(sorted(records, key=lambda record: (record.block, record.order))))


def list_runs(folder: Path = DEFAULT_FOLDER) -> Iterator[Run]:
    """Yield the runs of a results folder, oldest first."""
    for path in sorted(folder.glob("*/run.json")):
        yield load_run(path.parent)


def find_run(name: str, folder: Path = DEFAULT_FOLDER) -> Run:
    """Read the run of that name, the `last` one, or the one in that folder. Raises UsageError if there is none."""
    if name == "last":
        paths = sorted(folder.glob("*/run.json"))
        if not paths:
            raise UsageError(f"no runs in {folder}/", "`make bench` makes one")
        return load_run(paths[-1].parent)
    for path in (folder / name, Path(name)):
        if (path / "run.json").is_file():
            return load_run(path)
    raise UsageError(f"no run {name!r} in {folder}/", "`wirebench list` shows the runs")


def _read(path: Path, model: type[_Model]) -> _Model:
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise WirebenchError(f"can't read {path}: {error.strerror}", "is the folder that of a run?") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        hint = "it was written by another version, or damaged; move the folder away"
        raise WirebenchError(f"{path}: {field}: {first['msg']}", hint) from None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write(path: Path, text: str) -> None:
    temporary = path.with_suffix(".tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> WirebenchError:
    return WirebenchError(f"can't write {path}: {error.strerror}", "make room, or choose another --out")
