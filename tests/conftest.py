"""What holds for all tests, however they were started."""

from __future__ import annotations

import os
import signal


def pytest_configure() -> None:
    """Let runs that tests start calibrate nothing, and take SIGINT and SIGHUP as from a terminal.

    A script's `&` and `nohup` have them ignored, and whatever is started from there inherits that. What has a handler,
    even one that does nothing, isn't inherited; to us it makes no difference.
    """
    # What a run calibrates depends on the machine; tests that are about it ask for it.
    os.environ.setdefault("WIREBENCH_CALIBRATE", "no")
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
