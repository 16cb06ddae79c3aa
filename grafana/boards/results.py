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


#: What is chosen, and the name of each cell: its transport, and its levels of the factors that differ within one. With
#: all of its factors it would hide the plot.
_NAMED = f"""WITH chosen AS (SELECT * FROM results WHERE {_CHOSEN}),
levels AS (
  SELECT cell_id, transport, place, key,
    CASE json_typeof(value) WHEN 'number' THEN key || ' ' ELSE '' END || (value #>> '{{}}') AS level
  FROM chosen, json_each(factors) WITH ORDINALITY AS factor (key, value, place)
  UNION ALL SELECT cell_id, transport, 1000, 'target', target FROM chosen
),
differing AS (
  SELECT 'transport' AS key UNION SELECT key FROM levels GROUP BY key, transport HAVING count(DISTINCT level) > 1
),
names AS (
  SELECT cell_id, string_agg(level, ' ' ORDER BY place) AS name FROM levels JOIN differing USING (key) GROUP BY cell_id
)"""  # noqa: S608 - ours


def _by_run(figure: str) -> Query:
    """Return a figure of each cell, a point a run."""
    return Query(
        f"{_NAMED} SELECT started_at AS time, name AS metric, {figure} AS value"  # noqa: S608 - ours
        f" FROM chosen JOIN names USING (cell_id) WHERE {figure} IS NOT NULL ORDER BY time, metric"
    )


_FAILED_GATES = Query(
    "SELECT started_at AS time, transport || ' ' || gates.name AS metric, count(*) AS value"  # noqa: S608 - ours
    " FROM gates JOIN cells ON cells.id = gates.cell_id JOIN runs ON runs.id = cells.run"
    f" WHERE {_CHOSEN} AND NOT gates.passed GROUP BY time, metric ORDER BY time, metric"
)

_SHOWN = ("requests", "throughput", "p50", "p99", "errors", "cpu", "item_rate", "capacity")
_COLUMNS = ", ".join(
    f'{METRICS[name].field} AS "{", ".join(filter(None, (METRICS[name].column, METRICS[name].unit_label)))}"'
    for name in _SHOWN
)
_CELLS = Query(f"""{_NAMED}
SELECT started_at AS "started", run_id AS "run", name AS "cell", blocks, {_COLUMNS},
  (SELECT string_agg(DISTINCT gates.name, ', ') FROM gates WHERE gates.cell_id = chosen.cell_id AND NOT gates.passed)
  AS "failed gates"
FROM chosen JOIN names USING (cell_id)
ORDER BY started_at DESC, operation, concurrency, cell LIMIT 1000""")  # noqa: S608 - ours

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
            soft_highest=0.01,
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
            description="Every cell of every run that is chosen, the newest first, 1,000 at most: figures and counts "
            "over all its blocks. The run's page has the others.",
            unit=units.NoUnit,
            queries=(_CELLS,),
            kind="table",
            links=(("run", "runs/${__value.text}"),),
            widths=(("started", 180), ("run", 215), ("cell", 260), ("failed gates", 130)),
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
