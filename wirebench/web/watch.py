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

#: How long the folder is left alone after each look: so many times what that took of the processor, within limits. What
#: is measured on this machine needs it.
_REST_TIMES = 50
_REST_S_MIN = 1.0
_REST_S_MAX = 10.0
#: How often all is compared although nothing has changed: a run that was killed says nothing more.
_COMPARE_S = 60.0

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
        self._known: _State = {}
        self._compared_s = -math.inf
        self._told = ""
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
        rest_s = 0.0
        while not self._stopping.wait(rest_s):
            before_s = time.thread_time()
            with contextlib.suppress(_Stopped):
                self._look(time.monotonic())
            rest_s = min(max(_REST_S_MIN, _REST_TIMES * (time.thread_time() - before_s)), _REST_S_MAX)

    def _look(self, now_s: float) -> None:
        """Catch up if anything has changed since the last time."""
        found = self._state()
        if found == self._known and now_s < self._compared_s + _COMPARE_S and not self._anew.is_set():
            return
        self._anew.clear()
        try:
            with self._index() as index:
                self.damaged = index.catch_up(self._folder, self._go_on).damaged
        except WirebenchError as error:
            self._anew.set()
            if error.message != self._told and not self.is_stopping:  # when the index has been closed
                sys.stderr.write(f"warning: new runs aren't shown: {error.message}\n")
            self._told = error.message
        else:
            self._known, self._compared_s, self._told = found, now_s, ""

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
