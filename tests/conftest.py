"""What holds for all tests, however they were started."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from wirebench.system.paths import ROOT


def pytest_configure() -> None:
    """Let runs that tests start calibrate nothing, keep what tests calibrate here, and take signals as from a terminal.

    A script's `&` and `nohup` have SIGINT and SIGHUP ignored, and whatever is started from there inherits that. What
    has a handler, even one that does nothing, isn't inherited; to us it makes no difference.
    """
    # What a run calibrates depends on the machine; tests that are about it ask for it.
    os.environ.setdefault("WIREBENCH_CALIBRATE", "no")
    # Tests have a part of the cores, and the user's calibration would be stale for all of them.
    os.environ.setdefault("WIREBENCH_CALIBRATION", str(ROOT / "build" / "tests" / "calibration"))
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the group whose tests share a worker of pytest-xdist; begin with runs, which take longest."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group_of(item)))
    items.sort(key=lambda item: not any("runs" in mark.args[0] for mark in item.iter_markers("xdist_group")))


def group_of(item: pytest.Item) -> str:
    """Return a group that starts each shared service once: by service where a test names one, or else by file.

    Services on PostgreSQL share the server that their worker starts.
    """
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    service: Any = parameters.get("service")
    if not hasattr(service, "store"):
        return item.nodeid.partition("::")[0]
    return "postgres" if service.store == "postgres" else f"{service.transport}-{service}"
