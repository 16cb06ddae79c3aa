"""docs/two-machines.md, between two network namespaces joined by a pair of virtual interfaces."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.support.network_namespace import NetworkNamespace, open_namespace
from tests.support.runs import needs_tools, only_run, second_lane, wirebench
from tests.support.waiting import TIMEOUT_S
from wirebench.system import processes
from wirebench.system.paths import ROOT, TOOLS
from wirebench.system.ports import accepts_connections, wait_ready

GUIDE = (ROOT / "docs/two-machines.md").read_text(encoding="utf-8")
#: The address of the server in the guide.
SERVER = "192.168.1.20"

pytestmark = [
    pytest.mark.slow,
    second_lane,
    needs_tools,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces are made by root"),
]


def list_interfaces() -> set[str]:
    """Return the names of namespaces and interfaces that are left."""
    namespaces = subprocess.check_output(["ip", "netns", "list"], text=True)
    links = subprocess.check_output(["ip", "-oneline", "link"], text=True)
    return set(re.findall(rf"\b(?:wirebench-|wb){os.getpid()}\w*", namespaces + links))


@contextmanager
def serving(namespace: NetworkNamespace, folder: Path) -> Iterator[None]:
    """Start the services as the guide does, on the other machine."""
    commands = [line.split() for line in re.findall(r"(?m)^\.tools/bin/wirebench-go .*$", GUIDE)]
    assert 2 == len(commands)
    children = []
    try:
        for program, transport, *flags in commands:
            arguments = [
                TOOLS / Path(program).name,
                transport,
                *(each.replace(SERVER, namespace.address) for each in flags),
            ]
            child = processes.start(transport, namespace.wrap(arguments), folder / f"{transport}.log")
            children.append(child)
            port = flags[flags.index("--port") + 1]
            wait_ready(child, partial(accepts_connections, namespace.address, int(port)), TIMEOUT_S)
        yield
    finally:
        for child in children:
            child.stop()


def test_a_service_on_another_machine_is_measured_as_the_guide_says(tmp_path: Path) -> None:
    """Both of the guide's files work as they are printed, server CPU comes from the metrics, and nothing is left."""
    application, scenario = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    with open_namespace() as namespace:
        (tmp_path / "two-machines-application.yaml").write_text(application.replace(SERVER, namespace.address))
        path = tmp_path / "two-machines.yaml"
        path.write_text(scenario.replace("window_s: 5", "window_s: 2").replace("blocks: 5", "blocks: 1"))
        with serving(namespace, tmp_path):
            done = wirebench("run", path, "--out", tmp_path / "results", "--no-calibrate")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert 4 == len(run.records)
    for record in run.records:
        assert {} == record.errors
        assert record.server.cpu_us_per_request is not None
        assert 1 < record.server.cpu_us_per_request < 100_000
    assert set() == list_interfaces()
