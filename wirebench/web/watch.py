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
from wirebench.results.index import Index
from wirebench.results.runs import DamagedRun

#: How long the folder is left alone after each look: so many times what that took of the processor, within limits. What
#: is measured on this machine needs it.
_REST_TIMES = 50
_REST_S_MIN = 1.0
_PAUSE_S = 0.2
_REST_S_MAX = 10.0
#: How often all is compared although nothing has changed: a run that was killed says nothing more.
_COMPARE_S = 60.0

#: When each run was last changed: its run.json and its folder of records.
_State = dict[str, tuple[int, int]]


class _Stopped(BaseException):
    """The server is being stopped; no Exception, so that no run is called damaged for it."""


class FolderWatch:
    """A thread that looks at the folder until it is stopped; it never keeps the process alive."""

    def __init__(self, folder: Path, index: Callable[[], AbstractContextManager[Index]]) -> None:
        self.damaged: tuple[DamagedRun, ...] = ()
        self._folder = folder
        self._index = index
        self._stopping = threading.Event()
        self._all = threading.Event()
        self._wake = threading.Event()
        self._settled = threading.Event()
        self._lock = threading.Lock()
        self._is_whole = False
        self._progress = ""
        self._known: _State = {}
        self._compared_s = -math.inf
        self._failure = ""
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)

    def start(self) -> None:
        """Begin, with catching up on all that is there."""
        self._thread.start()

    def stop(self) -> None:
        """End; what was begun is left after the run that it is at."""
        self._stopping.set()
        self._wake.set()
        self._settled.set()

    def compare_all(self) -> None:
        self._all.set()

    def restart(self) -> None:
        """Compare all, and until then take the index for one that lacks runs: it is new, or another."""
        with self._lock:
            self._is_whole = False
            self._settled.clear()
            self._all.set()

    def has_caught_up(self, within_s: float) -> bool:
        """Return whether the index has what the folder had at the start; wait at most so many seconds."""
        if not self._is_whole:
            self._wake.set()
            self._settled.wait(within_s)
        return self._is_whole

    def describe_progress(self) -> str:
        return self._failure or self._progress or "it is being compared with the folder"

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def _watch(self) -> None:
        while not self.is_stopping:
            self._wake.clear()
            before_s = time.thread_time()
            with contextlib.suppress(_Stopped):
                self._look(time.monotonic())
            rest_s = min(max(_REST_S_MIN, _REST_TIMES * (time.thread_time() - before_s)), _REST_S_MAX)
            # A waiting request wakes it; a lasting failure is met a few times a second at most.
            self._stopping.wait(_PAUSE_S)
            self._wake.wait(rest_s)

    def _look(self, now_s: float) -> None:
        found = self._read_state()
        if found == self._known and now_s < self._compared_s + _COMPARE_S and not self._all.is_set():
            return
        try:
            with self._index() as index:
                self._all.clear()
                self.damaged = index.catch_up(self._folder, self._report).damaged
        except WirebenchError as error:
            self._all.set()
            if error.message != self._failure and not self.is_stopping:  # when the index has been closed
                sys.stderr.write(f"warning: new runs aren't shown: {error.message}\n")
            self._failure = error.message
            self._settled.set()
        else:
            self._known, self._compared_s, self._failure = found, now_s, ""
            with self._lock:
                if not self._all.is_set():  # or it was lost meanwhile
                    self._is_whole = True
                    self._settled.set()

    def _report(self, done: int, total: int, _records: int) -> None:
        self._progress = f"{done:,} of {total:,} have been compared"
        if self.is_stopping:
            raise _Stopped

    def _read_state(self) -> _State:
        """Look at every run, without reading any."""
        state = {}
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # not a run, or not yet
                    info, records = (Path(entry.path, name).stat() for name in ("run.json", "records"))
                    state[entry.name] = (info.st_mtime_ns, records.st_mtime_ns)
        return state
