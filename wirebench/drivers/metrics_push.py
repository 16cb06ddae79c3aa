"""Live metrics: what a load pushes to Prometheus for the dashboards (grafana/README.md).

wireload and k6 push while they run. Of other drivers, which don't, totals are pushed when the load has ended, to the
receiver of the OpenTelemetry protocol: https://opentelemetry.io/docs/specs/otlp/, the JSON form.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wirebench.errors import UsageError
from wirebench.model.histogram_file import HistogramFile
from wirebench.system.http import fetch

_LOG = logging.getLogger(__name__)
OTLP = "/api/v1/otlp/v1/metrics"
_REPLY_BYTES_MAX = 500
#: Of the proto of OTLP: AGGREGATION_TEMPORALITY_CUMULATIVE.
_CUMULATIVE = 2
#: Without user and password, query and fragment.
_BASE_URL = re.compile(r"https?://([\w.-]+|\[[\da-f:.]+\])(:\d{2,5})?(/[^\s@?#]*)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MetricsPush:
    """A Prometheus that takes OTLP, and what the load's series are labelled with. A load continues without it."""

    url: str
    labels: Mapping[str, str]

    def push_total(self, file: HistogramFile, **labels: str) -> None:
        """Push how many requests a load has sent that has ended: none when its window opened, all when it closed.

        In Prometheus it is k6's own counter `k6_iterations_total`.
        """
        window, named = file.require_window(), {**self.labels, **labels}
        attributes = [{"key": name, "value": {"stringValue": text}} for name, text in named.items()]
        points = [
            {"attributes": attributes, "timeUnixNano": str(time_unix_ns), "asInt": str(count)}
            for time_unix_ns, count in ((window.start_unix_ns, 0), (window.end_unix_ns, file.sent))
        ]
        counter = {"aggregationTemporality": _CUMULATIVE, "isMonotonic": True, "dataPoints": points}
        if problem := _push(self.url, [{"name": "k6_iterations", "sum": counter}]):
            _LOG.warning("Prometheus lacks a load's total: %s", problem)


def parse_base_url(text: str, name: str) -> str:
    """Return the base URL of a server of that name. Raises UsageError, without the text: it may have a password."""
    if not _BASE_URL.fullmatch(text):
        raise UsageError(f"not the URL of a {name}", "write it like http://127.0.0.1:9090, without user and password")
    return text.rstrip("/")


def check_receiver(url: str) -> None:
    """Push nothing to a Prometheus. Raises UsageError if it isn't there or takes no pushes."""
    if problem := _push(url, []):
        hint = "start Prometheus with --web.enable-otlp-receiver, or correct or leave out its URL; nothing was started"
        raise UsageError(f"can't push live metrics: {problem}", hint)


def _push(url: str, metrics: Sequence[Mapping[str, Any]]) -> str:
    """Push metrics to a Prometheus. Return why it didn't take them; empty if it did."""
    content = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]})
    try:
        reply = fetch(url + OTLP, content.encode())
    except OSError as error:
        return f"{url}{OTLP}: {error}"
    said = f"{reply.status}: {reply.body[:_REPLY_BYTES_MAX].decode(errors='replace').strip()}"
    return "" if reply.status // 100 == 2 else f"{url}{OTLP}: {said}"  # noqa: PLR2004 - 2xx
