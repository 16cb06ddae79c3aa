"""docs/two-machines.md, between two network namespaces joined by a pair of virtual interfaces."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.support.network_namespace import NetworkNamespace, open_namespace
from tests.support.runs import needs_tools, only_run, second_lane, wirebench
from tests.support.waiting import TIMEOUT_S
from wirebench.system import processes
from wirebench.system.paths import ROOT
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
    """Start the services as the guide does, on the other machine; that of sockets has its metrics elsewhere."""
    commands = [line.split() for line in re.findall(r"(?m)^wirebench-\w+ --host .*$", GUIDE)]
    assert 3 == len(commands)
    children = []
    try:
        for program, *flags in commands:
            elsewhere = ("--admin-port", "9001") if program == "wirebench-socket" else ()
            given = (*(each.replace(SERVER, namespace.address) for each in flags), *elsewhere)
            arguments = namespace.wrap([Path(sys.executable).with_name(program), *given])
            children.append(processes.start(program, arguments, folder / f"{program}.log"))
        for child, port in zip(children, (5000, 50051, 9000), strict=True):
            wait_ready(child, partial(accepts_connections, namespace.address, port), TIMEOUT_S)
        yield
    finally:
        for child in children:
            child.stop()


def test_services_on_another_machine_are_measured_as_the_guide_says(tmp_path: Path) -> None:
    """CPU time, memory and counts come from their metrics, through a delay as well; a service without any is noted."""
    (arguments,) = re.findall(r"(?m)^wirebench (run two-machines .*)$", GUIDE)
    (delay,) = re.findall(r"--set factors\.delay_ms=\d+", GUIDE)
    short = "--concurrency 5 --blocks 1 --set load.window_s=2 --no-calibrate --out"
    with open_namespace() as namespace, serving(namespace, tmp_path):
        words = f"{arguments} {delay} {short}".replace("HOST", namespace.address).split()
        done = wirebench(*words, tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    assert "server CPU and memory are missing: socket serves no metrics" in done.stderr + done.stdout
    run = only_run(tmp_path / "results")
    assert 3 == len(run.records)
    for record in run.records:
        assert {} == record.errors
        assert record.service
        assert 35 < record.service.min_ms
        server, is_known = record.server, record.factors["transport"] != "socket"
        assert is_known == ("counts" in {gate.name for gate in record.gates if gate.passed})
        assert is_known == (server.cpu_us_per_request is not None and 1 < server.cpu_us_per_request < 100_000)
        assert is_known == (server.memory_bytes is not None and server.memory_bytes > 10_000_000)
    assert set() == list_interfaces()
