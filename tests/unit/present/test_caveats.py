"""What the figures of a run are worth is shown wherever a run is."""

from __future__ import annotations

from tests.support.report_run import cell
from wirebench.model.record import Instrument

COARSE = Instrument(coarse=True, p50_error_ms=None, p99_error_ms=None, ceiling_per_s=20_000, ceiling_share=0.437)
FINE = COARSE.model_copy(update={"coarse": False, "ceiling_share": 0.25})
CELLS = [cell(transport, concurrency=count) for transport in ("rest", "grpc", "socket") for count in (1, 16)]
SHARED = [cell("rest", workers=2), cell("rest", workers=4), cell("socket")]
