"""The index follows a run: what is on disk is put into it, and whatever fails there harms nothing here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self

from wirebench.errors import WirebenchError
from wirebench.model.record import Record
from wirebench.model.run_info import RunInfo
from wirebench.results.index.index import Index


class IndexFollower:
    """Puts a run into the index as it is written: between windows, in the thread that measures.

    The first failure is reported, and the index left alone until the run is over; then the whole run is put at once.
    """

    def __init__(self, url: str, folder: Path, warn: Callable[[WirebenchError], None]) -> None:
        """Take the database, the folder of the runs, and what is called with the first failure."""
        self._url = url
        self._folder = folder
        self._warn = warn
        self._index: Index | None = None
        self._has_failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def update_info(self, info: RunInfo) -> None:
        if not self._has_failed:
            self._try(lambda index: index.put_run(info))
        elif info.status != "running":
            self._try(lambda index: index.catch_up_run(self._folder / info.id))

    def add_record(self, record: Record) -> None:
        if not self._has_failed:
            self._try(lambda index: index.add_record(record))

    def resume_run(self, info: RunInfo) -> None:
        """Put the run with all its records: the index may have been rebuilt or lost since they were measured."""
        self._try(lambda index: index.catch_up_run(self._folder / info.id))

    def discard_run(self, info: RunInfo) -> None:
        """Remove the run: nothing of it was worth keeping."""
        self._try(lambda index: index.remove_run(info.id))

    def _try(self, write: Callable[[Index], object]) -> None:
        try:
            if self._index is None:
                self._index = Index(self._url)
            write(self._index)
        except WirebenchError as error:
            self._report_failure(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, hours of measuring aren't given up for an index
            self._report_failure(WirebenchError(f"the index has failed: {error!r}"))

    def _report_failure(self, error: WirebenchError) -> None:
        if not self._has_failed:
            self._warn(error)
        self._has_failed = True
        self._close()

    def _close(self) -> None:
        """Close the index; who needs it again opens what is there then."""
        if self._index:
            self._index.close()
        self._index = None
