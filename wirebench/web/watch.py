"""Notices what other processes have measured: the index gets what the results folder has and it lacks."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from wirebench.errors import WirebenchError
from wirebench.index import Index
from wirebench.store import DamagedRun

#: How often the folder is looked at; and, as what is being measured there may need the processor, how long it is left
#: alone after catching up, in times of what that took.
_INTERVAL_S = 1.0
_REST_TIMES = 10
#: How often all is compared although nothing has changed: a run that was killed says nothing more.
_LOOK_CLOSELY_S = 60.0

#: When each run was last changed: its run.json and its folder of records.
_State = dict[str, tuple[int, int]]


class _Stopped(BaseException):
    """The server is being stopped; no Exception, so that no run is called damaged for it."""


class Watch:
    """A thread that looks at the folder until it is stopped; it never keeps the process alive."""

    def __init__(self, folder: Path, index: Callable[[], AbstractContextManager[Index]]) -> None:
        self.damaged: tuple[DamagedRun, ...] = ()
        self._folder = folder
        self._index = index
        self._stopping = threading.Event()
        self._anew = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)

    def start(self) -> None:
        """Begin, with catching up on all that is there."""
        self._thread.start()

    def stop(self) -> None:
        """End; what was begun is left after the run that it is at."""
        self._stopping.set()

    def begin_anew(self) -> None:
        """Compare all, as if nothing were in the index."""
        self._anew.set()

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to end."""
        return self._stopping.is_set()

    def _watch(self) -> None:
        known: _State = {}
        told = ""
        rest_s, looked = 0.0, -math.inf
        while not self._stopping.wait(rest_s):
            started, found, rest_s = time.monotonic(), self._state(), _INTERVAL_S
            if found == known and started < looked + _LOOK_CLOSELY_S and not self._anew.is_set():
                continue
            self._anew.clear()
            try:
                with self._index() as index:
                    self.damaged = index.catch_up(self._folder, self._go_on).damaged
                known, looked, told = found, started, ""
            except _Stopped:
                return
            except WirebenchError as error:
                self._anew.set()
                if error.message != told and not self.is_stopping:  # then the index has been closed
                    sys.stderr.write(f"warning: new runs aren't shown: {error.message}\n")
                told = error.message
            rest_s = max(_INTERVAL_S, _REST_TIMES * (time.monotonic() - started))

    def _go_on(self, *_: int) -> None:
        if self.is_stopping:
            raise _Stopped

    def _state(self) -> _State:
        """Look at every run, without reading any."""
        state = {}
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # not a run, or not yet
                    info, records = (Path(entry.path, name).stat() for name in ("run.json", "records"))
                    state[entry.name] = (info.st_mtime_ns, records.st_mtime_ns)
        return state
