"""Results: what runs have found over time, from the index of results in PostgreSQL (wirebench/results/index)."""

from grafana_foundation_sdk.models import units

from grafana.board import POSTGRESQL, Board, Chart, Query, Row, Variable
from wirebench.model.labels import capitalise
from wirebench.model.metric import METRICS

#: Grafana writes what is chosen as texts of SQL, whatever is in them.
_SCENARIO = "scenario = ${scenario:sqlstring}"
_CHOSEN = (
    f"$__timeFilter(started_at) AND {_SCENARIO} AND machine = ${{machine:sqlstring}}"
    " AND transport IN (${transport:sqlstring}) AND driver IN (${driver:sqlstring})"
)


def _levels(title: str, column: str, *, several: bool = True) -> Variable:
    """Return a choice among what the cells of the scenario have in a column."""
    cells = "cells JOIN runs ON runs.id = cells.run"
    query = f"SELECT DISTINCT {column} FROM {cells} WHERE {_SCENARIO} ORDER BY 1"  # noqa: S608 - ours
    return Variable(column, title, query, several)


def _by_run(figure: str) -> Query:
    """Return a figure of each cell, a point a run."""
    return Query(
        f"SELECT started_at AS time, cell || ' (' || target || ')' AS metric, {figure} AS value FROM results"  # noqa: S608 - ours
        f" WHERE {_CHOSEN} AND {figure} IS NOT NULL ORDER BY time, metric"
    )


_FAILED_GATES = Query(
    "SELECT started_at AS time, transport || ' ' || gates.name AS metric, count(*) AS value"  # noqa: S608 - ours
    " FROM gates JOIN cells ON cells.id = gates.cell_id JOIN runs ON runs.id = cells.run"
    f" WHERE {_CHOSEN} AND NOT gates.passed GROUP BY time, metric ORDER BY time, metric"
)

_COLUMNS = ", ".join(f'{metric.field} AS "{metric.heading}"' for metric in METRICS.values())
_CELLS = Query(
    f'SELECT started_at AS "started", run_id AS "run", cell, target, blocks, {_COLUMNS},'  # noqa: S608 - ours
    " (SELECT string_agg(DISTINCT gates.name, ', ') FROM gates"
    ' WHERE gates.cell_id = results.cell_id AND NOT gates.passed) AS "failed gates"'
    f" FROM results WHERE {_CHOSEN} ORDER BY started_at DESC, operation, concurrency, cell LIMIT 1000"
)

_SPEED = Row(
    "How fast, run by run?",
    (
        Chart(
            title="Throughput",
            description="Requests a second of each cell, a point a run: the geometric mean of its blocks. Steps are "
            "changes of code or versions, or of what else the machine did. Streams have none; their items are below.",
            unit=units.RequestsPerSecond,
            queries=(_by_run(METRICS["throughput"].field),),
            kind="points",
        ),
        Chart(
            title="Latency, p50",
            description="Half of the requests took less: from when each was due under an open load, from the actual "
            "send under a closed one. Bad: it grows from run to run while the throughput stays.",
            unit=units.Milliseconds,
            queries=(_by_run(METRICS["p50"].field),),
            kind="points",
        ),
        Chart(
            title="Latency, p99",
            description="One request in 100 took longer. It replicates worse than p50 does: whether two runs differ "
            "is for `wirebench compare`, which knows how much blocks differ. Bad: far above the runs before.",
            unit=units.Milliseconds,
            queries=(_by_run(METRICS["p99"].field),),
            kind="points",
        ),
    ),
)

_TRUST = Row(
    "At what cost, and is it to be trusted?",
    (
        Chart(
            title=capitalise(METRICS["cpu"].label),
            description="CPU time of all of a service's processes over the requests that it answered, in "
            "microseconds: what decides how much a cluster costs. Services that others run have none.",
            unit=units.Microseconds,
            queries=(_by_run(METRICS["cpu"].field),),
            kind="points",
        ),
        Chart(
            title="Failed requests",
            description="Share of requests with an error or no reply at all. Bad: anything that isn't 0, as a service "
            "that fails fast looks fast.",
            unit=units.PercentUnit,
            queries=(_by_run("failed::float8 / NULLIF(requests, 0)"),),
            kind="points",
        ),
        Chart(
            title="Failed gates",
            description="In how many records each gate failed, by run and transport. Bad: anything, as verdicts on "
            "the figures that it concerns are withheld; wirebench's report says what to do about each.",
            unit=units.Short,
            queries=(_FAILED_GATES,),
            kind="points",
            empty="No gate failed",
        ),
    ),
)

_FIGURES = Row(
    "What is behind it?",
    (
        Chart(
            title="Cells",
            description="Every cell of every run that is chosen, the newest first, 1,000 at most: its figures and "
            "counts over all its blocks.",
            unit=units.NoUnit,
            queries=(_CELLS,),
            kind="table",
            links=(("run", "runs/${__value.text}"),),
            lowest=None,
        ),
    ),
)

RESULTS = Board(
    uid="wirebench-results",
    title="wirebench: results",
    description="What runs have found over time, one scenario on one machine: figures of two machines have nothing to "
    "do with each other. Lines show what to look at; whether something has changed is for wirebench's verdicts.",
    variables=(
        Variable("scenario", "Scenario", "SELECT DISTINCT scenario FROM runs ORDER BY 1", several=False),
        _levels("Machine", "machine", several=False),
        _levels("Transport", "transport"),
        _levels("Driver", "driver"),
    ),
    rows=(_SPEED, _TRUST, _FIGURES),
    events=(),
    datasource=POSTGRESQL,
    time_range="now-90d",
    refresh="5m",
)
