"""Signals that ask us to stop, as one exception that nothing swallows. Imports little: it is the first to be loaded."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

#: After how long an interrupt that was lost in a finaliser is raised again.
_RERAISE_DELAY_S = 0.01


class Interrupted(BaseException):
    """The program was asked to stop (Ctrl-C or `kill`); not an Exception, so that nothing swallows it."""


@contextlib.contextmanager
def handle_interrupts() -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into Interrupted, once: what stops us must not be stopped again half-way.

    It is said on stderr at once, before anything is undone. Python drops what is raised in a finaliser or a callback of
    its garbage collector, and reports that to `sys.unraisablehook`; it is raised again a moment later.
    """

    def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
        for each in previous:
            signal.signal(each, signal.SIG_IGN)
        # Past Python's buffers: they may be in the middle of a write that the signal came into.
        with contextlib.suppress(OSError):
            os.write(2, "\nstopping …\n".encode())
        raise Interrupted(signal.Signals(number).name)

    def raise_later(dropped: sys.UnraisableHookArgs) -> None:
        if not isinstance(dropped.exc_value, Interrupted):
            report_dropped(dropped)
            return
        number = signal.Signals[str(dropped.exc_value)]
        signal.signal(number, interrupt)
        threading.Timer(_RERAISE_DELAY_S, signal.pthread_kill, (threading.main_thread().ident, number)).start()

    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    # Who started us with `nohup` wants no hang-up to end us.
    previous = {each: signal.getsignal(each) for each in signals if signal.getsignal(each) is not signal.SIG_IGN}
    report_dropped, sys.unraisablehook = sys.unraisablehook, raise_later
    try:
        for each in previous:
            signal.signal(each, interrupt)
        yield
    finally:
        sys.unraisablehook = report_dropped
        for each, handler in previous.items():
            signal.signal(each, handler)
