"""Signals that ask us to stop."""

from __future__ import annotations

import os
import signal
import time

import pytest

from wirebench.system.signals import Interrupted, handle_interrupts


def interrupt_twice(number: signal.Signals) -> None:
    """Send ourselves a signal, and once more while the first is being dealt with."""
    with handle_interrupts():
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_interrupts_once(number: signal.Signals) -> None:
    """It is told by name, and a second one doesn't disturb what stops us."""
    with pytest.raises(Interrupted, match=number.name):
        interrupt_twice(number)


def test_a_hang_up_that_was_ignored_stays_ignored() -> None:
    """`nohup wirebench run …` continues when its terminal closes."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handle_interrupts():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_interrupt_that_a_finaliser_drops_is_raised_again() -> None:
    """Python drops exceptions of finalisers; the wait after it would last for ever."""

    class Finalised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def finalise_and_wait() -> None:
        with handle_interrupts():
            Finalised()
            time.sleep(10)

    with pytest.raises(Interrupted, match="SIGINT"):
        finalise_and_wait()
