"""Asks Grafana, without a login, for its health and its dashboards, and through it Prometheus: URL."""

import json
import sys
import urllib.request
from typing import Any

DASHBOARDS = {"wirebench-generators", "wirebench-scaling", "wirebench-transports"}

(url,) = sys.argv[1:]


def ask(path: str) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON that is at a path."""
    with urllib.request.urlopen(url + path, timeout=20) as response:
        return json.load(response)


print(ask("/api/health"))
dashboards = {dashboard["uid"] for dashboard in ask("/api/search?type=dash-db")}
print("dashboards:", ", ".join(sorted(dashboards)))
answer = ask("/api/datasources/proxy/uid/prometheus/api/v1/query?query=up")
print("Prometheus:", answer["status"])
sys.exit(0 if dashboards >= DASHBOARDS and answer["status"] == "success" else 1)
