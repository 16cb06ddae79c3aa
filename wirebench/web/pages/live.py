"""`/live`: the first two rows of the dashboard *transports*, from Prometheus, where there is no Grafana."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wirebench.model.contract import TRANSPORTS
from wirebench.model.labels import name_transport
from wirebench.present.charts.lines import draw_times
from wirebench.present.charts.style import Style, assign_styles_to_names
from wirebench.present.charts.svg import Chart
from wirebench.present.live_queries import EVENTS, FIGURES, LATENCIES, NAMESPACES, Unit
from wirebench.present.numbers import ABSENT, format_number
from wirebench.results.query import Query, Single
from wirebench.web.pages.form import Option
from wirebench.web.prometheus import Prometheus, PrometheusError, TimeSeries
from wirebench.web.render import render

_RANGES = {"5m": 300, "15m": 900, "1h": 3600, "6h": 21_600}
#: How long what Prometheus has said is shown: new samples come every five seconds.
_KEPT_S = 5.0
_KEPT_MAX = 16
#: So many points a line has at most, and so many events are written.
_POINTS_MAX, _EVENTS_MAX = 180, 40
_STEP_S_MIN = 5
#: Values of one event are no further apart.
_EVENT_APART_S = 15.0
#: A label is whatever a load tool pushed.
_LABEL_CHARACTERS_MAX = 80
#: Of what Prometheus has: by how much a figure is multiplied, and in which unit it is then.
_SHOWN: Mapping[Unit, tuple[float, str]] = {
    "1/s": (1, ""),
    "s": (1e3, " ms"),
    "cpu s": (1e6, " µs"),
    "share": (100, " %"),
    "ratio": (1, "×"),
}


class LiveQuery(Query):
    """What is shown: unless a namespace is named, the deployed services, or else the newest run."""

    namespace: Single[str] = Field(None, description="The namespace of services and load.")
    range: Single[Literal["5m", "15m", "1h", "6h"]] = Field(None, description="How far back.")


def _draw_nothing() -> tuple[Chart, ...]:
    return tuple(draw_times(f"Service time, {each.name}", {}, {}, _RANGES["15m"]) for each in LATENCIES)


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """What a Prometheus said at a time; `problem` and `hint` in place of figures."""

    namespaces: tuple[str, ...] = ()
    namespace: str = ""
    #: A row for each transport: its name, and the figures as they are written.
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    charts: tuple[Chart, ...] = field(default_factory=_draw_nothing)
    styles: tuple[Style, ...] = ()
    events: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    hint: str = ""


_NOT_ASKED = LiveFigures(
    problem="this server shows no live metrics", hint="start it with --live: wirebench serve --live --prometheus URL"
)


class LiveMetrics:
    """A Prometheus, asked once for all who look. Fit for threads."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._kept: dict[tuple[str | None, int], tuple[float, LiveFigures]] = {}

    def read(self, namespace: str | None, range_s: int) -> LiveFigures:
        """Return what there is of a namespace; a problem is part of it."""
        with self._lock:
            kept = self._kept.get((namespace, range_s))
            if kept and time.monotonic() < kept[0] + _KEPT_S:
                return kept[1]
            try:
                found = _read_figures(Prometheus.ask(self.url), namespace, range_s)
            except PrometheusError as error:
                found = LiveFigures(problem=error.message, hint=error.hint)
            if len(self._kept) >= _KEPT_MAX:
                self._kept.clear()
            self._kept[namespace, range_s] = (time.monotonic(), found)
            return found


def show_live(request: Request) -> Response:
    live: LiveMetrics | None = request.app.state.live
    query = LiveQuery.read(request.query_params.multi_items())
    name = query.range or "15m"
    found = live.read(query.namespace, _RANGES[name]) if live else _NOT_ASKED
    return render(
        "live.html.j2",
        current_page="/live",
        found=found,
        headings=["÷ REST" if figure.unit == "ratio" else figure.name for figure in FIGURES],
        namespaces=[Option(each, each, each == found.namespace) for each in found.namespaces],
        ranges=[Option(each, f"last {each}", each == name) for each in _RANGES],
        range=name,
    )


def _read_figures(prometheus: Prometheus, wanted: str | None, range_s: int) -> LiveFigures:
    end_s = time.time()
    start_s = end_s - range_s
    namespaces = tuple(prometheus.list_values("namespace", NAMESPACES, start_s, end_s))
    if not namespaces:
        return LiveFigures(
            problem="Prometheus has seen neither services nor load in this time",
            hint="send a load: make load-rest, or wirebench run SCENARIO --prometheus URL",
        )
    if wanted is not None and wanted not in namespaces:
        hint = "choose another, or a longer time"
        return LiveFigures(
            namespaces, problem=f"Prometheus has nothing of the namespace {wanted} in this time", hint=hint
        )
    namespace = wanted or ("wirebench" if "wirebench" in namespaces else namespaces[-1])
    step_s = max(_STEP_S_MIN, math.ceil(range_s / _POINTS_MAX))

    def query_range(expr: str) -> list[TimeSeries]:
        return prometheus.query_range(_resolve(expr, namespace, range_s), start_s, end_s, step_s)

    figures = [prometheus.query(_resolve(each.expr, namespace, range_s), end_s) for each in FIGURES]
    latencies = [query_range(each.expr) for each in LATENCIES]
    if not any((*figures, *latencies)):
        return LiveFigures(
            namespaces,
            namespace,
            problem=f"Prometheus has recorded nothing of {namespace} in this time",
            hint="send a load; if that is done, load the recording rules grafana/rules/wirebench.yaml into Prometheus",
        )
    # They have a value for one step only, which longer ones miss; on whole steps, each keeps its time.
    since_s = (start_s - _EVENT_APART_S) // _STEP_S_MIN * _STEP_S_MIN
    events = {
        each.name: prometheus.query_range(_resolve(each.expr, namespace, range_s), since_s, end_s, _STEP_S_MIN)
        for each in EVENTS
    }
    return _make_figures(LiveFigures(namespaces, namespace), figures, latencies, events, end_s, range_s)


def _resolve(expr: str, namespace: str, range_s: int) -> str:
    """Put in what Grafana puts in; a namespace is text, whatever is in it."""
    quoted = namespace.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    values = {"namespace": quoted, "transport": ".*", "__range": f"{range_s}s"}
    return re.sub(r"\$(\w+)", lambda found: values[found[1]], expr)


def _make_figures(  # noqa: PLR0913, PLR0917 - what a page is of
    page: LiveFigures,
    figures: Sequence[Sequence[TimeSeries]],
    latencies: Sequence[Sequence[TimeSeries]],
    events: Mapping[str, Sequence[TimeSeries]],
    end_s: float,
    range_s: int,
) -> LiveFigures:
    """Write figures into a table by transport, and draw latencies over time with what began in the meantime."""
    found = {each.labels.get("transport", "") for series in (*figures, *latencies) for each in series}
    names = [name for name in TRANSPORTS if name in found] + sorted(found - TRANSPORTS.keys())
    styles = {
        name: replace(style, name=_name(name))
        for name, style in assign_styles_to_names((each, each) for each in names).items()
    }
    start_s = end_s - range_s
    begun = sorted(_list_events(events, start_s))[-_EVENTS_MAX:]
    # Of loads, their lines say when they begin.
    changes = {name: series for name, series in events.items() if name != "Load"}
    turns: dict[float, str] = {}
    for at_s, words in sorted(_list_events(changes, start_s))[-_EVENTS_MAX:]:
        before = turns.get(at_s - end_s)
        turns[at_s - end_s] = f"{before}; {words}" if before else words
    return replace(
        page,
        rows=tuple((_name(name), tuple(_write_figures(name, figures))) for name in names),
        charts=tuple(
            draw_times(
                f"Service time, {figure.name}",
                {
                    styles[each.labels.get("transport", "")]: [
                        (at_s - end_s, 1e3 * value) for at_s, value in each.points if math.isfinite(value)
                    ]
                    for each in series
                },
                turns,
                range_s,
            )
            for figure, series in zip(LATENCIES, latencies, strict=True)
        ),
        styles=tuple(styles.values()),
        events=tuple(
            (datetime.fromtimestamp(at_s, UTC).strftime("%H:%M:%S"), words) for at_s, words in reversed(begun)
        ),
    )


def _get_label(labels: Mapping[str, str], found: re.Match[str]) -> str:
    return labels.get(found[1], "")


def _name(transport: str) -> str:
    return name_transport({"transport": transport})[:_LABEL_CHARACTERS_MAX]


def _write_figures(transport: str, figures: Sequence[Sequence[TimeSeries]]) -> Iterator[str]:
    for figure, series in zip(FIGURES, figures, strict=True):
        times, unit = _SHOWN[figure.unit]
        values = [each.points[0][1] for each in series if each.labels.get("transport") == transport and each.points]
        known = bool(values) and math.isfinite(values[0])
        yield f"{format_number(times * values[0])}{unit}" if known else ABSENT


def _list_events(events: Mapping[str, Sequence[TimeSeries]], start_s: float) -> Iterator[tuple[float, str]]:
    """Yield when each began since the start: a series has a value for a few steps from then on."""
    titles = {event.name: event.title for event in EVENTS}
    for name, series in events.items():
        for each in series:
            labels = {**each.labels, "transport": _name(each.labels.get("transport", ""))}
            title = re.sub(r"{{(\w+)}}", partial(_get_label, labels), titles[name]).strip()
            last_s = -math.inf
            for at_s, _ in each.points:
                if at_s >= start_s and at_s > last_s + _EVENT_APART_S:
                    yield at_s, title[:_LABEL_CHARACTERS_MAX]
                last_s = at_s
