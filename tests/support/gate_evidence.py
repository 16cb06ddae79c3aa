"""Evidence that passes all gates, and evidence that fails one of them."""

from __future__ import annotations

from dataclasses import replace

from tests.support.simulated_service import SimulatedService, make_search
from wirebench.measure.gates import Evidence

GOOD = Evidence(
    requests=10_000,
    failed=0,
    dropped_iterations=0,
    mismatches=0,
    rate_achieved_per_s=1000.0,
    rate_asked_per_s=1000,
    is_steady=True,
    concurrency=16,
    in_flight=15.5,
    warmup_s=1.0,
    calls_missing=None,
    p99_s=0.1,
    per_second=(1000, 1000, 1000, 1000),
    generator_cpu_share=0.5,
    generator_cores_busy=0.5,
    shares_cores=False,
    interference=0.01,
    dropped_packets=0,
    host_share=1.0,
    replica_fairness=1.0,
    sent=12_000,
    counted_by_server=12_000,
    outside_window_s=0.0,
    generator_throttled_periods=0,
    ceiling_share=0.7,
)
CLOSED = replace(GOOD, rate_asked_per_s=None)
#: What makes each gate fail.
FAILING = [
    ("generator_cpu", replace(GOOD, generator_cpu_share=0.95)),
    ("dropped_iterations", replace(GOOD, dropped_iterations=1)),
    ("rate_error", replace(GOOD, rate_achieved_per_s=900.0)),
    ("error_rate", replace(GOOD, failed=100)),
    ("connections", replace(CLOSED, concurrency=2000, in_flight=999.0)),
    ("connections", replace(CLOSED, concurrency=2, in_flight=0.85, generator_cores_busy=0.6)),
    ("connections", replace(CLOSED, concurrency=8, in_flight=6.0, generator_cores_busy=0.9)),
    ("warmup", replace(CLOSED, p99_s=1.1)),
    ("warmup", replace(CLOSED, warmup_s=0.0)),
    ("error_rate", replace(GOOD, requests=0, failed=0)),
    ("samples", replace(GOOD, requests=999)),
    ("conformance", replace(GOOD, mismatches=1)),
    ("drift", replace(GOOD, per_second=(1000, 1000, 700, 700))),
    ("counts", replace(GOOD, counted_by_server=11_999)),
    ("shared_cores", replace(GOOD, shares_cores=True)),
    ("interference", replace(GOOD, interference=0.06)),
    ("replica_balance", replace(GOOD, replica_fairness=0.6)),
    ("disruption", replace(GOOD, outside_window_s=0.5)),
    ("dropped_packets", replace(GOOD, dropped_packets=1)),
    ("shared_host", replace(GOOD, host_share=1.1)),
    ("ceiling", replace(GOOD, ceiling_share=0.71)),
    ("resolution", replace(GOOD, search=make_search([]))),
    ("resolution", replace(GOOD, search=make_search([SimulatedService(1000, seed=1).answer(10)]))),
    ("throttled_generator", replace(GOOD, generator_throttled_periods=1)),
]
