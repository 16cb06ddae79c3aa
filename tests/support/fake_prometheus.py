"""What answers in place of a Prometheus: as a test likes, or with a load on two transports."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.support.http_servers import QuietHandler, serving

Reply = Callable[[QuietHandler, str, dict[str, str]], None]


@contextlib.contextmanager
def answering(reply: Reply) -> Iterator[str]:
    """Run something at a port that answers in its own way; yield its URL."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            with contextlib.suppress(OSError):
                reply(self, address.path, {name: value[0] for name, value in parse_qs(address.query).items()})

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield f"http://{address}"


def succeed(data: object) -> bytes:
    """Return what Prometheus answers on success."""
    return json.dumps({"status": "success", "data": data}).encode()


def show_a_load(handler: QuietHandler, path: str, asked_for: dict[str, str]) -> None:
    """Have two transports whose figures are 2 and 4 ms, and a replica that was added halfway."""
    if path.endswith("/values"):
        handler.answer(200, succeed(["other", "wirebench"]))
        return
    scale = "wirebench_scale:info" in asked_for["query"] and path.endswith("/query_range")
    names = [] if "ALERTS" in asked_for["query"] or "wirebench_build_info" in asked_for["query"] else ["rest", "grpc"]
    start_s, end_s = float(asked_for.get("start", 0)), float(asked_for.get("end", 0))
    series: list[dict[str, object]] = []
    for number, transport in enumerate(names[:1] if scale else names, 1):
        metric = {"transport": transport, "replicas": "2", "workers": "1", "driver": "wireload"}
        if path.endswith("/query"):
            series.append({"metric": metric, "value": [1, f"{number * 0.002}"]})
        else:
            times = (
                [(start_s + end_s) / 2] if scale else [start_s + (end_s - start_s) * part / 90 for part in range(91)]
            )
            series.append({"metric": metric, "values": [[at_s, f"{number * 0.002}"] for at_s in times]})
    handler.answer(200, succeed({"resultType": "vector" if path.endswith("/query") else "matrix", "result": series}))
