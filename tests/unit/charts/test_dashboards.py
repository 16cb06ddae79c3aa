"""Dashboards: Grafana's schema, and what users may expect of every panel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as models

from grafana.__main__ import GENERATED, path_of
from grafana.board import Board, Chart
from grafana.boards import BOARDS
from grafana.generate import to_json
from grafana.queries import EVENTS
from tests.support.waiting import run_program
from wirebench.measure.gates import GENERATOR_CPU_MAX
from wirebench.model.scenario import ERROR_SHARE_MAX
from wirebench.system.paths import ROOT, TOOLS

PROMTOOL = TOOLS / "promtool"
#: What Grafana puts in itself.
BUILT_IN = {"__rate_interval", "__range"}
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
    text = (ROOT / "grafana/rules.yaml").read_text(encoding="utf-8")
    return {group["name"]: group["rules"] for group in yaml.safe_load(text)["groups"]}


def test_generated_files_are_current() -> None:
    """`make dashboards` would change no file, add none and leave none behind."""
    expected = {path_of(board): to_json(board) for board in BOARDS}
    actual = {path: path.read_text(encoding="utf-8") for path in GENERATED.rglob("*") if path.is_file()}

    stale = {name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name)}
    assert set() == stale, "run: make dashboards"


@every_board
def test_the_schema(board: Board) -> None:
    """Grafana's own types read it and write the same again, in the schema of Grafana 12."""
    register_default_plugins()
    dashboard = generated(board)

    assert dashboard == json.loads(JSONEncoder().encode(models.Dashboard.from_json(dashboard)))
    assert 42 == dashboard["schemaVersion"]


@every_chart
def test_a_query_uses_what_there_is(board: Board, chart: Chart) -> None:
    """Its variables are the dashboard's or Grafana's, and its recorded series are recorded."""
    recorded = {rule.get("record") for rules in read_groups().values() for rule in rules}
    known = {variable.name for variable in board.variables} | BUILT_IN

    for query in chart.queries:
        assert query.legend.find("{{transport}}") <= 0  # a name that begins with it gets its colour
        assert variables_in(query.expr) <= known
        assert set(re.findall(r"\w+:\w+:\w+", query.expr)) <= recorded


@every_board
def test_the_rules_of_grafanas_linter(board: Board) -> None:
    """Those of https://github.com/grafana/dashboard-linter that don't ask for the labels job and instance."""
    dashboard = generated(board)
    variables = dashboard["templating"]["list"]
    assert dashboard["editable"] is False
    assert "datasource" == variables[0]["type"] == variables[0]["name"]
    # On a change of the time range.
    assert {2} == {variable["refresh"] for variable in variables if variable["type"] == "query"}
    for panel in panels(board):
        assert all((panel["title"], panel["description"], panel["targets"], panel["fieldConfig"]["defaults"]["unit"]))
        assert {"${datasource}"} == {each["uid"] for each in values_of("datasource", panel) if isinstance(each, dict)}


@every_chart
def test_a_chart_reads_as_it_is_described(board: Board, chart: Chart) -> None:  # noqa: ARG001 - in the test's name
    """Its description has the line that is drawn, and counters are read as rates."""
    assert ("the line" in chart.description) == (chart.limit is not None)
    for query in chart.queries:
        assert not re.search(r"(?<!rate\()(?<!increase\()\b[a-z]\w*_(?:total|bucket|count|sum)\{", query.expr)


@pytest.mark.skipif(not PROMTOOL.exists(), reason="promtool is not built: make test-contract")
def test_queries_are_promql(tmp_path: Path) -> None:
    """With whatever is chosen."""
    exprs = [query.expr for board in BOARDS for chart in board.charts() for query in chart.queries]
    exprs += [event.expr for event in EVENTS]
    rules = [{"record": "r", "expr": re.sub(r"\$__\w+", "1m", expr).replace("$", "")} for expr in exprs]
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))  # JSON is YAML
    done = run_program([PROMTOOL, "check", "rules", "--lint=none", file])
    assert 0 == done.returncode, done.stderr


def test_alerts_have_the_limits_of_the_gates() -> None:
    """What a gate calls unfit is what an alert is of."""
    alerts = {rule["alert"]: float(rule["expr"].split()[-1]) for rule in read_groups()["wirebench-alerts"]}
    assert {"WirebenchRequestsFail": ERROR_SHARE_MAX, "WirebenchGeneratorFull": GENERATOR_CPU_MAX} == alerts
