"""From what a dashboard says to Grafana's JSON, by Grafana's own SDK (dashboard schema 42, Grafana 12)."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from grafana_foundation_sdk.builders import (
    common,
    dashboard,
    prometheus,
    table,
    timeseries,
    xychart,
)
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import prometheus as promql
from grafana_foundation_sdk.models import xychart as curves

from grafana.board import INSTANT, Board, Chart, Query, Variable
from grafana.queries import EVENTS, ChartEvent

#: The same in all panels of all dashboards; names of Grafana's palette. Red is left for bad signs.
COLOURS: Mapping[str, str] = MappingProxyType({"rest": "blue", "grpc": "orange", "socket": "green"})
TAG = "wirebench"
#: Grafana would take panels without a version for old ones, and turn their options into those of today.
_GRAFANA = "12.0.0"

#: Of the charts of a row, by how many they are; a line of the grid is 24 wide.
_WIDTHS: Mapping[int, tuple[int, ...]] = MappingProxyType({1: (24,), 2: (12, 12), 3: (8, 8, 8), 4: (12, 12, 12, 12)})
#: In pixels.
_COLUMN_WIDTH_MIN = 80
_POINT_SIZE = xychart.XychartFieldConfigPointSize().fixed(8)
#: The default address of `wirebench serve`.
_RESULTS_URL = "http://127.0.0.1:8400"
_PROMETHEUS = "prometheus"
#: The one that is chosen above the dashboard.
_DATASOURCE = options.DataSourceRef(type_val=_PROMETHEUS, uid="${datasource}")
_Panel = timeseries.Panel | table.Panel | xychart.Panel


def to_json(board: Board) -> str:
    """Return a dashboard as a file that Grafana takes."""
    return JSONEncoder(indent=2, sort_keys=True, ensure_ascii=False).encode(_dashboard(board)) + "\n"


def _dashboard(board: Board) -> models.Dashboard:
    builder = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.description)
        .tags([TAG])
        .time("now-15m", "now")
        .refresh("10s")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .readonly()
        .link(_link_to_the_others())
        .link(_link_to_report())
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type(_PROMETHEUS))
    )
    for variable in board.variables:
        builder.with_variable(_variable(variable))
    builder.with_variable(dashboard.TextBoxVariable("results").label("wirebench serve").default_value(_RESULTS_URL))
    for event in EVENTS:
        builder.annotation(_annotation(event))
    number = 0
    for row in board.rows:
        number += 1
        builder.with_row(dashboard.Row(row.title).id(number))
        for chart, width in zip(row.charts, _WIDTHS[len(row.charts)], strict=True):
            number += 1
            builder.with_panel(_panel(chart).id(number).span(width).height(row.height))
    built = builder.build()
    for panel in built.panels or ():
        if isinstance(panel, models.Panel):
            panel.plugin_version = _GRAFANA
    return built


def _link_to_the_others() -> dashboard.DashboardLink:
    return (
        dashboard.DashboardLink("wirebench dashboards")
        .type(models.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .keep_time(keep_time=True)
        .include_vars(include_vars=True)
    )


def _link_to_report() -> dashboard.DashboardLink:
    """Lead to the run that is chosen: the server knows it by its namespace."""
    link = dashboard.DashboardLink("Report").type(models.DashboardLinkType.LINK).url("${results}/runs/${namespace}")
    return (
        link.icon("external link")
        .tooltip("The run's results and report, by wirebench serve")
        .target_blank(target_blank=True)
    )


def _annotation(event: ChartEvent) -> dashboard.AnnotationQuery:
    return (
        dashboard.AnnotationQuery()
        .name(event.name)
        .datasource(_DATASOURCE)
        .enable(enable=True)
        .icon_color(event.colour)
        .expr(event.expr)
        .step("5s")
        .title_format(event.title)
    )


def _variable(variable: Variable) -> dashboard.QueryVariable:
    builder = (
        dashboard.QueryVariable(variable.name)
        .label(variable.title)
        .datasource(_DATASOURCE)
        .definition(variable.query)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.NATURAL_ASC)
    )
    if variable.several:
        everything = models.VariableOption(selected=True, text=["All"], value=["$__all"])
        builder.multi(multi=True).include_all(include_all=True).current(everything).all_value(".*")
    # 1: label values
    return builder.query({"qryType": 1, "query": variable.query, "refId": f"variable-{variable.name}"})


def _panel(chart: Chart) -> _Panel:
    panel = _KINDS[chart.kind](chart)
    panel.title(chart.title).description(chart.description).datasource(_DATASOURCE).unit(chart.unit)
    by_name, by_place = models.FieldColorModeId.PALETTE_CLASSIC_BY_NAME, models.FieldColorModeId.PALETTE_CLASSIC
    panel.color_scheme(dashboard.FieldColor().mode(by_place if chart.kind == "curve" else by_name))
    if chart.lowest is not None:
        panel.min(chart.lowest)
    if chart.highest is not None:
        panel.max(chart.highest)
    if chart.needs:
        panel.no_value(f"No data: this needs {chart.needs}")
    for transport, colour in COLOURS.items():
        colouring = {"mode": _colour_mode(chart), "fixedColor": colour}
        panel.override_by_regexp(rf"/\b{transport}\b/", [_property("color", colouring)])
    _add_queries(panel, chart)
    return panel


def _add_queries(panel: _Panel, chart: Chart) -> None:
    for ref_id, query in zip(string.ascii_uppercase, chart.queries, strict=False):
        panel.with_target(_target(ref_id, query, chart.kind))
        if query.unit:
            _override_column(panel, chart, query, [_property("unit", query.unit)])
        if query.dashed:
            dashes = {"fill": "dash", "dash": [8, 8]}
            properties = [_property("custom.lineStyle", dashes), _property("custom.fillOpacity", 0)]
            if chart.kind == "curve":
                # The same line for all transports, and no more entries of the legend.
                hidden = {"legend": True, "tooltip": False, "viz": False}
                properties += [_property("custom.show", curves.XYShowMode.LINES), _property("custom.hideFrom", hidden)]
                _override_column(panel, chart, query, properties)
            else:
                panel.override_by_query(ref_id, properties)
    if chart.kind in INSTANT:
        for name, settings in _columns_of(chart):
            panel.with_transformation(models.DataTransformerConfig(id_val=name, options=settings))


def _override_column(panel: _Panel, chart: Chart, query: Query, properties: list[models.DynamicConfigValue]) -> None:
    """Change what becomes of a query: a column, of a curve one of each transport."""
    if chart.kind == "curve":
        panel.override_by_regexp(rf"/^{query.legend}\b/", properties)
    else:
        panel.override_by_name(query.legend, properties)


def _columns_of(chart: Chart) -> Iterator[tuple[str, dict[str, Any]]]:
    """Join the queries' values by their labels into one table, with a column for each query."""
    names = {
        f"Value #{ref_id}": query.legend for ref_id, query in zip(string.ascii_uppercase, chart.queries, strict=False)
    }
    yield "merge", {}
    # Of transformed frames all labels are columns, but the values' names have to come from here.
    labels = ("transport", "replicas", "workers")
    hidden = ("Time", *labels[1:]) if chart.kind == "curve" else ("Time",)
    places = {name: place for place, name in enumerate((*labels, *names))}
    settings = {"excludeByName": dict.fromkeys(hidden, True), "indexByName": places, "renameByName": names}
    yield "organize", settings
    if chart.kind == "curve":
        yield "sortBy", {"sort": [{"field": chart.queries[0].legend}]}
        yield "partitionByValues", {"fields": ["transport"], "keepFields": False}


def _colour_mode(chart: Chart) -> models.FieldColorModeId:
    """Return shades of a transport's colour where there are many series of it."""
    many = any(query.legend.count("{{") > 1 for query in chart.queries)
    return models.FieldColorModeId.SHADES if many else models.FieldColorModeId.FIXED


def _legend(chart: Chart) -> common.VizLegendOptions:
    """Say figures in the legend where a chart has few series; more would leave the plot no room."""
    few = all(query.legend.count("{{") < 2 for query in chart.queries) and chart.kind == "lines"  # noqa: PLR2004
    mode = options.LegendDisplayMode.TABLE if few else options.LegendDisplayMode.LIST
    calcs = ["mean", "max", "lastNotNull"] if few else []
    legend = common.VizLegendOptions().show_legend(show_legend=True).display_mode(mode).calcs(calcs)
    return legend.placement(options.LegendPlacement.BOTTOM)


def _lines(chart: Chart) -> timeseries.Panel:
    tooltip = common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING)
    panel = (
        timeseries.Panel()
        .legend(_legend(chart))
        .tooltip(tooltip)
        .line_width(2)
        .fill_opacity(5)
        .show_points(options.VisibilityMode.NEVER)
    )
    if chart.soft_highest is not None:
        panel.axis_soft_max(chart.soft_highest)
    if chart.limit is not None:
        line = models.Threshold(value=chart.limit, color="red")
        steps = [models.Threshold(value=None, color="transparent"), line]
        panel.thresholds(dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps))
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(options.GraphThresholdsStyleMode.DASHED))
    return panel


def _table(chart: Chart) -> table.Panel:
    sort: list[Builder[options.TableSortByFieldState]] = [
        common.TableSortByFieldState().display_name(name).desc(desc=False) for name in chart.sort
    ]
    return table.Panel().min_width(_COLUMN_WIDTH_MIN).sort_by(sort)


def _curve(chart: Chart) -> xychart.Panel:
    """Draw all columns of a transport over the first of them, whose name is the axis'; several may be at one place."""
    panel = xychart.Panel().mapping(curves.SeriesMapping.AUTO).show(curves.XYShowMode.POINTS).point_size(_POINT_SIZE)
    return panel.legend(_legend(chart))


_KINDS: Mapping[str, Callable[[Chart], _Panel]] = MappingProxyType({"lines": _lines, "table": _table, "curve": _curve})


def _target(ref_id: str, query: Query, kind: str) -> Builder[Dataquery]:
    target = prometheus.Dataquery().ref_id(ref_id).datasource(_DATASOURCE).expr(query.expr).legend_format(query.legend)
    return target.instant().format(promql.PromQueryFormat.TABLE) if kind in INSTANT else target.range()


def _property(name: str, value: Any) -> models.DynamicConfigValue:  # noqa: ANN401 - whatever the field option takes
    return models.DynamicConfigValue(id_val=name, value=value)
