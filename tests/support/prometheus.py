"""A Prometheus: started for a test, and asked as Grafana asks it."""

from __future__ import annotations

import contextlib
import json
import math
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grafana.board import INSTANT, Board, Chart, Query, Variable
from tests.support.services import HOST, Service
from tests.support.waiting import TIMEOUT_S, wait_until
from wirebench.system.paths import ROOT, TOOLS

STEP_S = 5
RULES = ROOT / "grafana/rules.yaml"
#: What Grafana makes of `$__rate_interval` when the datasource's interval is 5 s: four times that and more.
RATE_INTERVAL = "30s"


@dataclass(frozen=True)
class Prometheus:
    """Where it is, and the time range of the load: Unix time and seconds."""

    url: str
    end_s: float
    range_s: int

    def query(self, expr: str) -> list[dict[str, Any]]:
        """Return what PromQL gives at the end of the load; a wrong query is an error."""
        return self._results("query", query=expr, time=self.end_s)

    def chart(self, board: Board, chart: Chart, query: Query) -> list[dict[str, str]]:
        """Return the labels of each series that a chart would show, with everything chosen; NaN is nothing."""
        expr = self.resolve(board, query.expr)
        if chart.kind in INSTANT:
            results = [{**result, "values": [result["value"]]} for result in self.query(expr)]
        else:
            # Steps are counted from the start: the last one is to be the end.
            start_s = self.end_s - math.ceil(self.range_s / STEP_S) * STEP_S
            results = self._results("query_range", query=expr, start=start_s, end=self.end_s, step=STEP_S)
        return [result["metric"] for result in results if any(value != "NaN" for _, value in result["values"])]

    def choices(self, board: Board, variable: Variable) -> list[str]:
        """Return the values that a variable offers."""
        found = re.fullmatch(r"label_values\((.+), (\w+)\)", self.resolve(board, variable.query))
        assert found is not None, variable.query
        selector, label = found.groups()
        start_s = self.end_s - self.range_s
        values = self._get(f"label/{label}/values", **{"match[]": selector, "start": start_s, "end": self.end_s})
        assert isinstance(values, list)
        return values

    def resolve(self, board: Board, expr: str) -> str:
        """Put in what Grafana puts in: the first choice of a single one, everything for several."""
        names = {"__rate_interval": RATE_INTERVAL, "__range": f"{self.range_s}s"}
        for variable in board.variables:
            if f"${variable.name}" in expr:
                names[variable.name] = ".*" if variable.several else self.choices(board, variable)[0]
        return re.sub(r"\$(\w+)", lambda found: names[found[1]], expr)

    def _results(self, path: str, **parameters: object) -> list[dict[str, Any]]:
        results = self._get(path, **parameters)["result"]
        assert isinstance(results, list)
        return results

    def _get(self, path: str, **parameters: object) -> Any:  # noqa: ANN401 - JSON
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:  # noqa: S310 - http, by the tests
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error


@contextlib.contextmanager
def started_prometheus(services: Sequence[Service], folder: Path) -> Iterator[str]:
    """Start a Prometheus that scrapes the services under the labels that they have in a cluster; return its URL."""
    targets = [
        {
            "targets": [f"{HOST}:{service.admin_port}"],
            "labels": {
                "namespace": "local",
                "pod": f"{service.kind.transport}-0",
                "node": "localhost",
                "container": service.kind.transport,
            },
        }
        for service in services
    ]
    configuration = {
        "global": {"scrape_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "services", "static_configs": targets}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(configuration))  # JSON is YAML
    command: list[str | Path] = [
        TOOLS / "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={HOST}:0",
        "--web.enable-otlp-receiver",
    ]
    log = folder / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        wait_until(lambda: "Server is ready" in log.read_text() or process.poll() is not None, "Prometheus is ready")
        listening = re.search(r'msg="Listening on" .*address=(\S+)', log.read_text())
        assert listening is not None, log.read_text()
        yield f"http://{listening[1]}"
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)
