"""What recorded histograms and counters come to, for every kind of load: a definition that changes fails here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.report_run import START_NS, cell, run_info
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.pair import Comparison
from wirebench.drivers import Job
from wirebench.measure.figures import make_record
from wirebench.measure.observe import Observation
from wirebench.model.cell import Cell
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import DriverVersion, HistogramFile, PerSecond, Series, Streams, Window
from wirebench.model.metric import METRICS
from wirebench.model.recording import Recording
from wirebench.model.run_info import Run
from wirebench.model.scenario import Load
from wirebench.plan.plan import PlannedCell
from wirebench.store.runs import RunWriter, load_run

Times = NDArray[np.int64]

SECONDS, USERS, DUE = 4, 4, 1000
STREAM = {"operation": "ledger.stream_transactions", "stream_items": 100}
#: The load of each kind, and what its cells are beside their transport.
KINDS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "closed": ({}, [{}]),
    "sweep": ({"concurrency_max": USERS}, [{"concurrency": level} for level in (1, 2, USERS)]),
    "calls": ({"calls": 500}, [{}]),
    "open": ({}, [{"rate_per_s": 250}]),
    "replay": ({}, [{"shape": "replay"}]),
    "streams": ({"model": "closed"}, [STREAM]),
    "open streams": ({"model": "open"}, [{**STREAM, "rate_per_s": 25}]),
}
#: By transport and block.
MEDIAN_US = {"rest": (1100, 1155, 1056), "socket": (505, 490, 515)}
CPU_US = {"rest": (280, 285, 277), "socket": (30, 31, 32)}
#: In each block, one in so many requests takes five times as long.
SLOW = (80, 40, 200)

OF_REQUESTS = ("throughput", "mean", "p50", "p90", "p99", "p99_9", "max", "errors", "cpu")
OF_STREAMS = ("item_rate", "first_item", "gap", "items", "errors", "item_cpu")
#: By kind and number of blocks: these of REST, the ratio of the socket to REST with its interval, and the verdict on
#: which metric, with the gates that withhold it.
EXPECTED: dict[tuple[str, int], list[str]] = {
    ("closed", 3): [
        "3262 1.162 1.106 1.463 4.53 7.549 8.081 0 280.6 2.192 1.842 2.608 throughput faster",
    ],
    ("sweep", 3): [
        "815 1.163 1.107 1.464 4.448 - 8.04 0 280.6 2.192 1.845 2.604 throughput faster",
        "1630 1.163 1.106 1.463 4.489 7.549 8.081 0 280.6 2.192 1.842 2.61 throughput faster",
        "1630 2.326 2.212 2.927 8.978 15.1 16.16 192 277.9 2.192 1.842 2.61 throughput withheld error_rate",
    ],
    ("calls", 3): [
        "3257 1.215 1.136 1.505 5.526 - 7.999 0 280.6 2.192 1.842 2.607 throughput faster",
    ],
    ("open", 3): [
        "250 1.372 1.311 1.669 4.612 - 8.2 0 280.6 0.4897 0.3739 0.6413 p99 withheld dropped_iterations",
    ],
    ("replay", 3): [
        "250 1.372 1.311 1.669 4.612 - 8.2 0 280.6 0.4897 0.3739 0.6413 p99 faster",
    ],
    ("streams", 3): [
        "1.647e+04 3.328 0.9129 1.981e+05 0 277.8 2.192 1.842 2.608 item_rate faster",
    ],
    ("open streams", 3): [
        "2500 3.398 0.9329 3e+04 0 277.8 0.4564 0.3838 0.5426 first_item faster",
    ],
    ("closed", 2): [
        "3136 1.21 1.135 1.502 5.485 7.7 8.081 0 282.5 2.266 - - throughput inconclusive",
    ],
}


@pytest.mark.parametrize(("kind", "blocks"), EXPECTED)
def test_recorded_figures_and_verdicts_stay(tmp_path: Path, kind: str, blocks: int) -> None:
    """Where a definition changes on purpose, its decision record says so, and the line changes with it."""
    assert EXPECTED[kind, blocks] == list(map(describe, find_comparisons(write_run(tmp_path, kind, blocks))))


def describe(pair: Comparison) -> str:
    """Write figures to the fourth digit."""
    names = OF_STREAMS if pair.baseline.has_streams else OF_REQUESTS
    ratio = pair.ratios[pair.metric.name]
    figures = [*(pair.baseline.figure(METRICS[name]) for name in names), ratio.estimate, ratio.low, ratio.high]
    texts = ("-" if figure is None else f"{figure:.4g}" for figure in figures)
    return " ".join((*texts, pair.metric.name, pair.verdict, *(gate.name for gate in pair.failed_gates)))


def write_run(folder: Path, kind: str, blocks: int = 3) -> Run:
    """Write a run as two load generators measured it, and read it back."""
    changes, cells = KINDS[kind]
    load = Load.model_validate({"model": kind, "window_s": SECONDS, **changes})
    if kind == "replay":
        recording = Recording(tuple(4_000_000 * n + n % 2 * 1_000_000 for n in range(DUE)))
        load = load.model_copy(update={"recording": recording})
    writer = RunWriter(folder, run_info(2 * len(cells), blocks, {}))
    for block in range(blocks):
        for of in (cell(wire, **{"concurrency": USERS, **each}) for each in cells for wire in ("rest", "socket")):
            planned = PlannedCell(block + 1, 0, of)
            output = writer.histogram_path(planned.id)
            job = Job(of, load, "127.0.0.1:1", 1, 1, output, writer.log_path("driver"), None)
            record = make_record(job, observe(kind, of, block))
            writer.add(record.model_copy(update={"block": planned.block}))
    return load_run(writer.folder)


def observe(kind: str, of: Cell, block: int) -> Observation:
    """Return what was seen of a load and of its server."""
    times = draw_times(kind, of, block)
    window_s = times["service"].sum() / 0.95e9 / USERS if kind == "calls" else float(SECONDS)
    failed = len(times["service"]) // 200 if (kind, of.transport, of.concurrency) == ("sweep", "rest", USERS) else 0
    dropped = int((kind, of.transport, block) == ("open", "socket", 1))
    file = make_file(of, times, window_s, 2 * failed, 2 * dropped)
    return Observation(
        file=file,
        window_s=window_s,
        generator_cpu_s=0.2,
        generator_throttled_periods=0,
        generator_share=0.1 / window_s,
        generator_busiest_share=0.1,
        server_cpu_s=CPU_US[of.transport][block] / 1e6 * max(map(len, times.values())),
        server_requests={"a": {"1": file.sent}},
    )


def draw_times(kind: str, of: Cell, block: int) -> dict[str, Times]:
    """Return how long requests, or items of streams, took by clock, in nanoseconds: evenly from 0.6 to 1.4 medians."""

    def draw(count: int, factor: float = 1.0) -> Times:
        places = np.arange(count)
        times = (MEDIAN_US[of.transport][block] * factor * (600 + places * 397 % 801)).astype(np.int64)
        return np.where(places % SLOW[block] == 0, 5 * times, times)

    def fill(times: Times) -> Times:
        """Return as many as connections that are busy for 95 % of the window have time for."""
        return times[np.cumsum(times) <= 0.95e9 * SECONDS * of.concurrency]

    is_open = bool(of.rate_per_s or of.shape)
    if of.stream_items is not None:
        gaps = draw(9900, 0.2) if is_open else fill(draw(200_000, 0.2))
        streams = len(gaps) // 99
        return {"service": draw(streams, 20), "first_item": draw(streams, 3), "gap": gaps}
    if is_open:
        return {"service": draw(DUE), "response": draw(DUE) + 200_000}
    # Four connections of a sweep serve no more than two.
    crowded = 2 if (kind, of.concurrency) == ("sweep", USERS) else 1
    return {"service": draw(500 * USERS) if kind == "calls" else fill(draw(50_000, crowded))}


def make_file(of: Cell, times: Mapping[str, Times], window_s: float, failed: int, dropped: int) -> HistogramFile:
    """Return the file of a generator, whose failures took a millisecond each."""
    requests, items = len(times["service"]), len(times.get("first_item", ())) + len(times.get("gap", ()))
    series = [("ok", clock, each) for clock, each in times.items()]
    series += [("unavailable", "service", np.full(failed, 1_000_000))] if failed else []
    encoded = [(code, clock, len(each), Histogram.of_values(each).encode()) for code, clock, each in series]
    return HistogramFile(
        driver=DriverVersion(name="wireload", version="1"),
        window=Window(start_unix_ns=START_NS, end_unix_ns=START_NS + round(window_s * 1e9)),
        series=tuple(
            Series.model_validate(dict(zip(Series.model_fields, (of.operation, *each), strict=True)))
            for each in encoded
        ),
        per_second=(PerSecond(operation=of.operation, code="ok", counts=(requests // SECONDS,) * SECONDS),),
        requests_total={"ok": requests, **({"unavailable": failed} if failed else {})},
        mismatches=0,
        dropped_iterations=dropped,
        streams=Streams(items_total=items, items_per_second=(items // SECONDS,) * SECONDS, cancelled=0)
        if of.stream_items is not None
        else None,
    )
