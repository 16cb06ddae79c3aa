"""Links: what may be asked for, what the proxy is told, and what is said of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.http_servers import QuietHandler, serving
from tests.support.report_run import RunBuilder, cell
from tests.support.scenario_text import GOOD, read, reject
from wirebench.analysis.compare_cells import compare_cells
from wirebench.analysis.summary import summarise
from wirebench.errors import WirebenchError
from wirebench.measure.proxy import build_netem
from wirebench.model.cell import Cell
from wirebench.plan.plan import make_plan
from wirebench.present.comparison import make_comparison_view
from wirebench.system.processes import Child
from wirebench.targets.toxiproxy import Toxiproxy


def planned(folder: Path, network: str, more: str = "") -> tuple[Cell, ...]:
    """Return the cells of a scenario with this network."""
    return make_plan(read(folder, GOOD.replace("operation: users.get", network) + more), seed=1).cells


def test_what_is_compared_takes_the_same_way(tmp_path: Path) -> None:
    """Where only a loss is asked for, the load without one goes through the proxy all the same."""
    cells = planned(tmp_path, "loss_percent: [none, 1]", "compare: loss_percent\n")
    assert {(0, None), (0, 1)} == {(each.delay_ms, each.loss_percent) for each in cells}


def test_what_is_delayed_is_not_dropped() -> None:
    """By itself the kernel keeps 1,000 packets that wait."""
    for way in build_netem(100, loss_percent=1):
        assert "limit" == way[0]
        assert int(way[1]) > 100_000


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("delay_ms: -1", "delay_ms: must be at least 0 (it is -1)"),
        ("delay_ms: 3600000", "delay_ms: must be at most 5000 (it is 3600000)"),
        ("delay: 5", "delay: no such key; did you mean 'delay_ms'?"),
    ],
)
def test_a_network_that_can_not_be_is_rejected(tmp_path: Path, network: str, expected: str) -> None:
    """With line and reason, before anything starts."""
    reject(tmp_path, GOOD.replace("operation: users.get", network), f"4: factors.{expected}")


@contextmanager
def api(status: int) -> Iterator[int]:
    """Answer like a toxiproxy that does something else than it is told."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.answer(200, b"[]")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(status, b'{"listen": "127.0.0.1:7"}')

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with serving(server):
        yield server.server_port


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, "was asked for .*downstream.*'latency': 20.* and has"),
        (500, "rejects POST /proxies"),
        (409, "rejects POST /proxies"),
    ],
)
def test_a_proxy_that_does_something_else_is_an_error(tmp_path: Path, status: int, expected: str) -> None:
    """A load that isn't delayed would be measured as one that is. The delay is on the way back alone, added once."""
    log = tmp_path / "log"
    with subprocess.Popen(["sleep", "60"]) as process, api(status) as port:
        proxy = Toxiproxy(Child("toxiproxy", log, process), port)
        with pytest.raises(WirebenchError, match=expected) as error:
            proxy.open_route("127.0.0.1:9", 20)
        process.kill()
    assert str(log) in error.value.hint


def test_distance_is_said_in_words(tmp_path: Path) -> None:
    """The nearer one is the baseline."""
    run = RunBuilder(cells=[cell("rest", delay_ms=delay_ms) for delay_ms in (20, None, 0)]).write(tmp_path)
    summaries = summarise(run.records)
    assert [None, 0, 20] == [each.factors["delay_ms"] for each in summaries]
    first, *_, last = (make_comparison_view(each).sentence for each in compare_cells(summaries, "delay_ms", 0.05))
    assert "between a delay of 0 ms and no proxy:" in first
    assert "between a delay of 20 ms and a delay of 0 ms:" in last
