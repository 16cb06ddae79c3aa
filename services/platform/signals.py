"""Signals that stop a service: none is lost, whenever it comes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Iterator

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def stop_signals() -> Iterator[socket.socket]:
    """Yield a socket that receives a byte for each SIGTERM or SIGINT.

    Once there was one, those that come later do nothing, also afterwards: what was told to stop is stopping, and the
    kernel tells it twice when a parent with several threads is killed.
    """
    told = False

    def note(*_: object) -> None:
        nonlocal told
        told = True

    receiver, sender = socket.socketpair()
    sender.setblocking(False)  # noqa: FBT003
    # The byte comes from the interpreter's own handler, at once. One of ours would run when the main thread executes
    # Python again, which is never, if the signal came just before it began to wait.
    previous_fd = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    previous = {number: signal.signal(number, note) for number in _STOP_SIGNALS}
    try:
        yield receiver
    finally:
        for number, handler in previous.items():
            signal.signal(number, signal.SIG_IGN if told else handler)
        signal.set_wakeup_fd(previous_fd)
        receiver.close()
        sender.close()


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Have signals wait while the process forks.

    A child begins with its parent's handlers, which would swallow a signal that is meant for the child. It has to
    call `begin_anew`, which lets them in.
    """
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def begin_anew() -> None:
    """In a forked child: until it has handlers of its own, SIGTERM ends it, and SIGINT is its supervisor's business."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)


def die_with_parent(parent_pid: int) -> None:
    """Ask Linux for SIGTERM when the parent process dies, so that nothing outlives a killed parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent_pid:  # it died before we asked
        os.kill(os.getpid(), signal.SIGTERM)
