"""Dashboards: Grafana's schema, and what users may expect of every panel."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import units
from wirebench_services import metrics
from wirebench_services.admin import ServiceCollector
from wirebench_services.settings import RestSettings, read_settings

from grafana.__main__ import GENERATED, path_of
from grafana.board import Board, Chart
from grafana.boards import BOARDS
from grafana.boards.generators import THROTTLED_MAX
from grafana.boards.scaling import SCALING
from grafana.boards.transports import TRANSPORTS
from grafana.generate import COLOURS, to_json
from grafana.queries import EVENTS, FIGURES, LATENCIES
from wirebench.measure.gates import GATES
from wirebench.system.paths import ROOT

#: What Grafana puts in itself.
BUILT_IN = {"__rate_interval", "__range"}
UNITS = {value for name, value in vars(units).items() if not name.startswith("_") and isinstance(value, str)}

every_board = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
every_chart = pytest.mark.parametrize(
    ("board", "chart"),
    [pytest.param(board, chart, id=f"{board.uid}-{chart.title}") for board in BOARDS for chart in board.charts()],
)


def generated(board: Board) -> dict[str, Any]:
    """Return a dashboard's JSON."""
    dashboard = json.loads(to_json(board))
    assert isinstance(dashboard, dict)
    return dashboard


def panels(board: Board) -> list[dict[str, Any]]:
    """Return the panels of a dashboard that show something."""
    return [panel for panel in generated(board)["panels"] if panel["type"] != "row"]


def variables_in(query: str) -> set[str]:
    """Return the names of Grafana's variables in a query: `$name`, or `${name:format}`."""
    return set(re.findall(r"\$\{?(\w+)", query))


def values_of(key: str, node: object) -> Iterator[object]:
    """Yield the values of a key, at any depth."""
    if isinstance(node, dict):
        yield from (value for name, value in node.items() if name == key)
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        yield from values_of(key, child)


def read_groups() -> dict[str, list[dict[str, Any]]]:
    """Return the rules by their group."""
    text = (ROOT / "grafana/rules/wirebench.yaml").read_text(encoding="utf-8")
    return {group["name"]: group["rules"] for group in yaml.safe_load(text)["groups"]}


def test_generated_files_are_current() -> None:
    """`make dashboards` would change no file, add none and leave none behind."""
    expected = {path_of(board): to_json(board) for board in BOARDS}
    actual = {path: path.read_text(encoding="utf-8") for path in GENERATED.rglob("*") if path.is_file()}

    stale = {name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name)}
    assert set() == stale, "run: make dashboards"


def test_addresses_stay() -> None:
    """Links to dashboards go by their uid."""
    names = ["transports", "scaling", "generators"]
    assert [f"wirebench-{name}" for name in names] == [board.uid for board in BOARDS]


@every_board
def test_the_schema(board: Board) -> None:
    """Grafana's own types read it and write the same again, in the schema of Grafana 12."""
    register_default_plugins()
    dashboard = generated(board)

    assert dashboard == json.loads(JSONEncoder().encode(models.Dashboard.from_json(dashboard)))
    assert 42 == dashboard["schemaVersion"]


@every_board
def test_one_datasource(board: Board) -> None:
    """Every panel, query and variable has the datasource that is chosen above the dashboard, and none by its uid."""
    dashboard = generated(board)
    variables = dashboard["templating"]["list"]

    assert ["datasource"] == [variable["name"] for variable in variables if variable["type"] == "datasource"]
    found = list(values_of("datasource", dashboard))
    targets = sum(len(panel["targets"]) for panel in panels(board))
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    # Of the variables, neither that choice itself nor the address of the results has one.
    assert [chosen] * (len(panels(board)) + targets + len(variables) - 2 + len(EVENTS)) == found
    assert {board.uid, "${datasource}"} == set(values_of("uid", dashboard))


@every_board
def test_panels_can_be_told_apart(board: Board) -> None:
    """Ids and titles are unique, and no panel lies on another or reaches out of the grid."""
    everything = generated(board)["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in everything)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(everything) == len({panel["id"] for panel in everything})
    assert len(everything) == len({panel["title"] for panel in everything})
    assert len(cells) == len(set(cells))
    assert 24 > max(x for x, _ in cells)


@every_board
def test_every_panel_explains_itself(board: Board) -> None:
    """It has a title, a description in sentences, a unit that Grafana knows, and a name for each series."""
    for panel in panels(board):
        unit = panel["fieldConfig"]["defaults"]["unit"]

        assert panel["title"]
        assert re.fullmatch(r"[A-Z].{40,}\.", panel["description"]), panel["title"]
        assert unit in UNITS or unit.startswith("suffix: "), panel["title"]
        assert all(target["legendFormat"] for target in panel["targets"]), panel["title"]


@every_board
def test_transports_have_the_same_colours_everywhere(board: Board) -> None:
    """Each panel gives each transport its colour, by the transport in a series' name."""
    for panel in panels(board):
        colours = {
            override["matcher"]["options"]: override["properties"][0]["value"]["fixedColor"]
            for override in panel["fieldConfig"]["overrides"]
            if override["matcher"]["id"] == "byRegexp" and override["properties"][0]["id"] == "color"
        }
        assert {rf"/\b{transport}\b/": colour for transport, colour in COLOURS.items()} == colours


def test_a_curve_is_drawn_over_its_first_query() -> None:
    """Its queries become columns, by transport: what is ideal is dashed by its column, as Grafana forgets its query.

    An XY chart has no colours by name, only by place or fixed ones.
    """
    (curve,) = (panel for panel in panels(SCALING) if panel["type"] == "xychart")
    names = [transformation["id"] for transformation in curve["transformations"]]
    assert ["merge", "organize", "sortBy", "partitionByValues"] == names
    columns = curve["transformations"][1]["options"]["renameByName"]
    assert {"Value #A": "processes", "Value #B": "speed-up", "Value #C": "ideal"} == columns
    assert "palette-classic" == curve["fieldConfig"]["defaults"]["color"]["mode"]
    dashed = [each["matcher"] for each in curve["fieldConfig"]["overrides"] if "lineStyle" in json.dumps(each)]
    assert [{"id": "byRegexp", "options": r"/^ideal\b/"}] == dashed


@every_chart
def test_a_query_names_its_transports_first(board: Board, chart: Chart) -> None:
    """A legend that has the transport begins with it, so that it gets its colour."""
    assert chart in board.charts()
    for query in chart.queries:
        assert query.legend.find("{{transport}}") <= 0


@every_chart
def test_a_query_uses_what_there_is(board: Board, chart: Chart) -> None:
    """Its variables are the dashboard's or Grafana's, and its recorded series are recorded."""
    recorded = {rule.get("record") for rules in read_groups().values() for rule in rules}
    known = {variable.name for variable in board.variables} | BUILT_IN

    for query in chart.queries:
        assert variables_in(query.expr) <= known
        assert set(re.findall(r"\w+:\w+:\w+", query.expr)) <= recorded


@every_board
def test_every_variable_filters_something(board: Board) -> None:
    """None is there for show."""
    queries = itertools.chain.from_iterable(chart.queries for chart in board.charts())
    used = set(itertools.chain.from_iterable(variables_in(query.expr) for query in queries))

    assert {variable.name for variable in board.variables} <= used


def test_figures_of_clients_are_those_of_every_driver() -> None:
    """Where transports are compared, ghz's gRPC has a line beside wireload's REST: rules give both the same names."""
    live, late = (read_groups()[f"wirebench-{name}"] for name in ("generators", "late-generators"))
    of_clients = {rule["record"] for rule in live if ":client_" in rule["record"]}
    assert {rule["record"] for rule in late} == of_clients
    assert {
        "namespace_transport_pod:client_request_duration_seconds:rate15s",
        "namespace_transport_pod:client_failed_requests:rate15s",
    } == of_clients

    shown = " ".join(figure.expr for figure in (*FIGURES, *LATENCIES))
    assert of_clients <= set(re.findall(r"\w+:\w+:\w+", shown))
    assert "driver" not in shown


def test_the_first_rows_are_those_that_serve_shows() -> None:
    """One source for both: each figure is a column of the one table, each percentile a panel."""
    table, *latencies = (chart for row in TRANSPORTS.rows[:2] for chart in row.charts)
    assert [figure.expr for figure in FIGURES] == [query.expr for query in table.queries]
    assert [[figure.expr] for figure in LATENCIES] == [[query.expr for query in chart.queries] for chart in latencies]


@every_board
def test_grafana_takes_no_panel_for_an_old_one(board: Board) -> None:
    """Without a version, it turned the options of curves into those of today, and showed `Err`."""
    assert {"12.0.0"} == {panel["pluginVersion"] for panel in panels(board)}


@every_board
def test_columns_have_names_of_their_own(board: Board) -> None:
    """Those of one name all show the values of the last."""
    for chart in board.charts():
        names = [query.legend for query in chart.queries]
        assert len(names) == len(set(names)), chart.title


@every_board
def test_what_happens_is_written_into_every_plot(board: Board) -> None:
    """Scale, new replicas, loads and alerts; of results, whose time is that of runs, none."""
    shown = {each["name"]: each for each in generated(board)["annotations"].get("list", [])}
    names = ["Scale", "New replicas", "Load", "Alert"]
    assert names == [name for name, each in shown.items() if each["enable"]]
    assert all(each["datasource"]["uid"] == "${datasource}" for each in shown.values())


@every_board
def test_dashboards_lead_to_each_other_and_to_the_report(board: Board) -> None:
    """To the run's, by its namespace, at the address of `wirebench serve` that is written above the dashboard."""
    others, report = generated(board)["links"]
    assert (True, True, ["wirebench"]) == (others["keepTime"], others["includeVars"], others["tags"])
    assert "${results}/runs/${namespace}" == report["url"]


def test_alerts_have_the_limits_of_the_gates() -> None:
    """What a gate calls unfit is what an alert is of."""
    alerts = {rule["alert"]: rule["expr"].split() for rule in read_groups()["wirebench-alerts"]}
    limits = {gate.name: gate.limit for gate in GATES}
    assert {
        "WirebenchRequestsFail": [">", limits["error_rate"]],
        "WirebenchGeneratorFull": [">", limits["generator_cpu"]],
        "WirebenchGeneratorThrottled": [">", THROTTLED_MAX],  # the gate's is 0, of the window alone
        "WirebenchReplicasUnbalanced": ["<", limits["replica_balance"]],
    } == {name: find_limit(words) for name, words in alerts.items()}


def find_limit(words: list[str]) -> list[str | float]:
    """Return the last comparison with a number that isn't only there to divide by it."""
    comparisons = [(words[index], words[index + 1]) for index in range(len(words) - 1) if words[index] in ("<", ">")]
    sign, number = comparisons[-1]
    return [sign, float(number)]


@pytest.mark.parametrize("title", ["Sent per request", "Received per request"])
def test_bytes_per_request_are_a_ratio_over_one_window(title: str) -> None:
    """A recorded rate has a window of its own, and would count other requests than the bytes belong to."""
    (chart,) = (chart for chart in TRANSPORTS.charts() if chart.title == title)
    (query,) = chart.queries
    windows = re.findall(r"\[([^]]+)]", query.expr)

    assert ["$__rate_interval"] * 2 == windows
    assert [] == re.findall(r"\w+:\w+:\w+", query.expr)


def test_requests_in_flight_are_a_mean() -> None:
    """A gauge is looked at between requests; the time that requests took, per second, is how many there were."""
    (chart,) = (chart for chart in TRANSPORTS.charts() if chart.title == "Requests in flight")
    (query,) = chart.queries

    assert query.expr.startswith("sum by (transport) (rate(wirebench_request_duration_seconds_sum{")


@pytest.mark.parametrize("title", ["Requests by client and service", "CPU used", "Requests in flight"])
def test_means_in_legends_leave_out_idle_time(title: str) -> None:
    """A service counts on between loads: its line ends with the load, as the client's does."""
    (chart,) = (chart for board in BOARDS for chart in board.charts() if chart.title == title)

    assert chart.queries[-1].expr.endswith(") > 0")


def test_metrics_of_services_are_those_that_services_have() -> None:
    """Panels and rules name only metrics that the services export; those of drivers have a driver's prefix."""
    own = (metrics.DURATION, metrics.STORE_WAIT, metrics.WORKERS, ServiceCollector(read_settings(RestSettings)))
    collected = [family for collector in own for family in collector.collect()]
    exported = {metric.name for metric in collected} | {"wirebench_cpu_throttled_periods"}
    rules = (ROOT / "grafana/rules/wirebench.yaml").read_text(encoding="utf-8")
    queries = [query.expr for board in BOARDS for chart in board.charts() for query in chart.queries]
    named = set(re.findall(r"(?<![\w:|])wirebench_\w+(?![\w:])", " ".join([rules, *queries])))

    assert {"wirebench_request_duration_seconds_count", "wirebench_workers"} <= named
    assert {re.sub(r"_(total|info|count|sum|bucket)$", "", name) for name in named} <= exported
