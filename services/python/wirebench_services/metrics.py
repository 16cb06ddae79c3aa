"""The metrics that workers count, by prometheus_client.

With PROMETHEUS_MULTIPROC_DIR set, each worker writes to files of its own in that folder, which `admin.py` reads.
"""

import functools
import os

from prometheus_client import Gauge, Histogram

#: Upper bounds in seconds: 50 µs to 10 s, three a decade.
BUCKETS_S = (
    0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
)  # fmt: skip

#: Its count is the number of requests: a metric of its own would cost each request another write.
DURATION = Histogram(
    "wirebench_request_duration_seconds",
    "From the request read to the reply handed over.",
    ("transport", "operation", "code", "worker"),
    buckets=BUCKETS_S,
)
WORKERS = Gauge("wirebench_workers", "Workers that have started.", multiprocess_mode="livesum")


def count_request(transport: str, operation: str, code: str, duration_s: float) -> None:
    _find_child(transport, operation, code).observe(duration_s)


@functools.cache
def _find_child(transport: str, operation: str, code: str) -> Histogram:
    """Look up the labels' child once: prometheus_client takes longer for that than for counting."""
    return DURATION.labels(transport, operation, code, str(os.getpid()))
