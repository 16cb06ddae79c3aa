"""Streams: their scenarios, figures, gates, verdicts, and their section of the report."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.support.report_run import WINDOW_S
from tests.support.stream_run import file_of, record_of, stream_cell, write_run
from wirebench.analysis.compare_cells import compare_cells
from wirebench.analysis.summary import summarise
from wirebench.drivers import K6, Job
from wirebench.errors import UsageError
from wirebench.model.histogram_file import Streams
from wirebench.model.metric import COMPARED
from wirebench.model.record import Record
from wirebench.model.scenario import Load
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import Plan, make_plan
from wirebench.present import sentences
from wirebench.report.page import gather, render

SCENARIO = """\
question: Which transport streams best?
factors:
  transport: [rest, grpc, socket]
  operation: ledger.stream_transactions
  stream_rate_limit_per_s: [100, none]
"""


def plan_of(tmp_path: Path, text: str) -> Plan:
    """Return the plan of a scenario with this text."""
    path = tmp_path / "streams.yaml"
    path.write_text(text, encoding="utf-8")
    return make_plan(read_scenario(path), seed=1)


def test_streams_are_planned_with_their_number_of_items(tmp_path: Path) -> None:
    """A scenario that doesn't say it has streams of 1,000 items; `none` is no limit; cells have names of their own."""
    plan = plan_of(tmp_path, SCENARIO)
    assert [(1000, 100), (1000, None)] * 3 == [(each.stream_items, each.stream_rate_limit_per_s) for each in plan.cells]
    assert 6 == len({each.id for each in plan.cells})
    assert plan.cells[0].id.endswith("-i1000-l100")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("stream_transactions", "get_balance", "5: factors.stream_rate_limit_per_s: ledger.get_balance is no stream"),
        ("  stream_rate", "  stream_items: 10\n  payload: 512k\n  stream_rate", "6: factors.payload"),
        ("  stream_rate", "  driver: {grpc: ghz}\n  stream_rate", "5: factors.driver.grpc: ghz can't drive ledger"),
        ("  stream_rate", "  codec: {rest: protobuf}\n  stream_rate", "5: factors.codec.rest: REST streams are Server"),
        ("  stream_rate", "  stream_items: 0\n  stream_rate", "5: factors.stream_items: must be at least 1 (it is 0)"),
        ("  stream_rate", "  stream_items: 100001\n  stream_rate", "5: factors.stream_items: must be at most 100000"),
        ("[100, none]", "[100, 0]", "5: factors.stream_rate_limit_per_s: must be at least 1 (it is 0)"),
        ("[100, none]", "[100, never]", "5: factors.stream_rate_limit_per_s: must be a whole number (it is 'never')"),
        ("[100, none]", "[none, none]", "5: factors.stream_rate_limit_per_s: a level appears twice"),
        (
            "  operation: ledger.stream_transactions",
            "  operation: reads",
            "6: load.workloads.reads.mix.ledger.stream_transactions",
        ),
    ],
)
def test_streams_that_cannot_be_are_rejected(tmp_path: Path, old: str, new: str, said: str) -> None:
    """What streams can't have, and what only streams have, is one line with its place."""
    text = SCENARIO.replace(old, new)
    if "reads" in new:
        text += "load: {workloads: {reads: {mix: {ledger.stream_transactions: 1}}}}\n"
    with pytest.raises(UsageError) as error:
        plan_of(tmp_path, text)
    assert said in error.value.message


def test_k6_is_told_of_streams_and_nothing_of_clients() -> None:
    """One script reads the streams of all transports; without a limit on their rate it is told of none."""
    of = stream_cell("socket", stream_items=250, codec="protobuf")
    job = Job(of, Load(), "127.0.0.1:9", 1, 1, Path("o.json"), Path("o.log"), None)
    arguments = list(map(str, K6().build_arguments(job)))
    given = {part for before, part in itertools.pairwise(arguments) if before == "-e"}
    assert {"OPERATION=ledger.stream_transactions", "TRANSPORT=socket", "STREAM_ITEMS=250", "CODEC=protobuf"} <= given
    assert not {part.partition("=")[0] for part in given} & {"CLIENTS", "STREAM_RATE_LIMIT"}
    assert arguments[-1].endswith("k6/stream.js")


def failed_gates(record: Record) -> set[str]:
    """Return the names of the gates that failed."""
    return {gate.name for gate in record.gates if not gate.passed}


def test_a_record_of_streams_has_the_figures_of_items(tmp_path: Path) -> None:
    """Items, rate, times, bytes and CPU time are an item's; the latencies of requests are those of whole streams."""
    file = file_of({"first_item": [30.0] * 25, "gap": [4.0] * 1575, "service": [400.0] * 16})
    record = record_of(tmp_path, stream_cell("rest"), file)
    assert record.streams is not None
    assert (1600, 1600 / WINDOW_S) == (record.streams.items, record.streams.item_rate_per_s)
    assert (100.0, 200.0) == (record.streams.items_per_stream, record.streams.bytes_received_per_item)
    assert 500.0 == pytest.approx(record.streams.cpu_us_per_item)
    assert record.streams.first_item is not None
    assert record.streams.gap is not None
    assert 30 == pytest.approx(record.streams.first_item.p50_ms, rel=0.001)
    assert 4 == pytest.approx(record.streams.gap.p99_ms, rel=0.001)
    assert record.service is not None
    assert 400 == pytest.approx(record.service.p50_ms, rel=0.001)
    assert set() == failed_gates(record)


def test_streams_that_outlast_the_window_are_fit_for_use(tmp_path: Path) -> None:
    """Not one stream ends; that all are on their way is seen by their items. Those that the end cancels were sent."""
    times_ms = {"first_item": [5.0] * 20, "gap": [4.0] * 1580}
    file = file_of(times_ms, streams=Streams(items_total=2000, items_per_second=(1000,), cancelled=4))  # type: ignore[arg-type]
    record = record_of(tmp_path, stream_cell("rest"), file)
    assert (0, 4, {}) == (record.requests, record.requests_total, record.errors)
    assert set() == failed_gates(record)


def test_a_load_whose_streams_give_nothing_fails(tmp_path: Path) -> None:
    """No stream ended and no item came: that is no load at all."""
    failed = failed_gates(record_of(tmp_path, stream_cell("rest"), file_of({})))
    assert {"error_rate", "samples", "first_items", "connections"} <= failed


def test_half_of_the_streams_stalled_is_noticed(tmp_path: Path) -> None:
    """Items are waited for half as long as four connections could wait: two of them get none."""
    file = file_of({"first_item": [4.0] * 20, "gap": [4.0] * 780})
    record = record_of(tmp_path, stream_cell("rest"), file)
    assert {"connections", "samples"} == failed_gates(record)
    (samples,) = (gate for gate in record.gates if gate.name == "samples")
    assert (("gap",), 800, "items") == (samples.metrics, samples.value, samples.unit)


@pytest.mark.parametrize(("gap_ms", "kept"), [(10.0, True), (10.05, True), (10.2, False), (9.8, False)])
def test_streams_keep_their_rate_limit_or_fail_a_gate(tmp_path: Path, gap_ms: float, kept: bool) -> None:  # noqa: FBT001
    """At 100 items a second the mean gap is 10 ms, within one per cent."""
    of = stream_cell("grpc", stream_rate_limit_per_s=100, concurrency=16)
    record = record_of(tmp_path, of, file_of({"first_item": [5.0] * 30, "gap": [gap_ms] * 2530}))
    assert (set() if kept else {"rate_limit"}) == failed_gates(record)


def test_streams_are_judged_by_items(tmp_path: Path) -> None:
    """Unlimited streams are judged by their items a second, limited ones by the time to the first item."""
    for limit, metric, said in (
        (None, "item_rate", "socket is faster than REST: 10.0× (95 % CI "),
        (
            100,
            "first_item",
            "socket is faster than REST: 0.10× (95 % CI 0.10–0.10) the time to the first item, 10.0× (95 % CI ",
        ),
    ):
        cells = [stream_cell(each, stream_rate_limit_per_s=limit) for each in ("rest", "socket")]
        gaps_ms = {"rest": 10.0, "socket": 1.0}
        summaries = summarise(write_run(tmp_path / str(limit), cells, gaps_ms).records)
        # What the rate limit asks for isn't what these gaps are: that is another test's.
        unfit = {"rate_limit", "samples"}
        kept = [
            (record.model_copy(update={"gates": tuple(g for g in record.gates if g.name not in unfit)}))
            for each in summaries
            for record in each.records
        ]
        (comparison,) = compare_cells(summarise(kept), "transport", 0.05)
        assert metric == comparison.metric.name
        assert {"item_rate", "first_item", "gap", "item_cpu"} == comparison.ratios.keys()
        assert said in sentences.describe_verdict(comparison)


def test_requests_and_streams_have_no_metric_in_common(tmp_path: Path) -> None:
    """A figure of streams isn't one of requests, so that nothing compares the two."""
    record = record_of(tmp_path, stream_cell("rest"), file_of({"first_item": [1.0] * 20, "gap": [4.0] * 1580}))
    seen = {name for name, metric in COMPARED.items() if metric.of(record) is not None}
    assert {"item_rate", "first_item", "gap", "item_cpu"} == seen


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the report of streams on two transports, with and without a limit."""
    cells = [stream_cell(each, stream_rate_limit_per_s=limit) for each in ("rest", "socket") for limit in (None, 100)]
    return render(write_run(tmp_path_factory.mktemp("streams"), cells, {"rest": 10.0, "socket": 1.0}))


def test_streams_have_a_section_of_their_own(page: str) -> None:
    """First items, rates, gaps and CPU time each are pictures; what is only for requests isn't there."""
    assert '<h2 id="streams">Streams</h2>' in page
    for heading in ("Time to the first item", "items/s, of all streams", "Gap between items", "Server CPU per item"):
        assert heading in page
    assert "ledger.stream_transactions (100 items, 100/s each), 4 connections" in page
    assert "ledger.stream_transactions (100 items, as fast as they are read), 4 connections" in page
    assert '<h2 id="pictures">' not in page
    assert '<h2 id="figures">' not in page


def test_gaps_that_are_the_client_s_own_time_are_no_figures(tmp_path: Path) -> None:
    """Items that came together are less than a microsecond apart: the table says no more than that."""
    run = write_run(tmp_path, [stream_cell("rest")], {"rest": 1.0}, blocks=1)
    path = run.folder / run.records[0].histogram_file
    file_of({"first_item": [1.0] * 20, "gap": [0.0001] * 1500 + [5.0] * 100}).write(path)
    page = gather(run)
    ((_, (row,)),) = page["streams"].table.groups
    figures = dict(zip([(each.heading, each.unit) for each in page["streams"].table.columns], row.figures, strict=True))
    assert "<0.001" == figures["gap", "p50, ms"]
    assert "5.00" == figures["gap", "p99, ms"]
