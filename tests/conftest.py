"""What holds for all tests, however they were started."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let programs that tests start take SIGINT and SIGHUP as from a terminal.

    A script's `&` and `nohup` have them ignored, and whatever is started from there inherits that. What has a handler,
    even one that does nothing, isn't inherited; to us it makes no difference.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
