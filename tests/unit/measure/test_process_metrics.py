"""CPU time and memory from the metrics that a service tells of itself."""

from __future__ import annotations

import pytest

from tests.support.fake_prometheus import answering
from wirebench.measure.usage import read_process_metrics

PAGE = """\
# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total{worker="1",name="a } b"} 1.5
process_cpu_seconds_total{worker="2"} 2.25 1700000000000
process_cpu_seconds_total_created 9
process_resident_memory_bytes{worker="1"} 1e+06
process_resident_memory_bytes{worker="2"} 3e+06
"""


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (PAGE, (3.75, 4_000_000)),
        ("process_cpu_seconds_total 0.5\n", (0.5, None)),
        ("process_resident_memory_bytes 5\n", None),
        ("process_cpu_seconds_total many\n", None),
    ],
)
def test_samples_of_all_processes_are_summed(page: str, expected: tuple[float, int | None] | None) -> None:
    """A service may have several, each with labels of its own; without CPU time, nothing is known."""
    with answering(lambda handler, *_: handler.answer(200, page.encode())) as url:
        found = read_process_metrics(f"{url}/metrics")
    assert expected == (found and (found.cpu_s, found.memory_bytes))
