"""ghz: drives gRPC, to cross-check wireload.

Read from its source (v0.121.0): its percentiles leave out failures, and its average doesn't; `--skipFirst` drops calls,
but not their time. So all figures are computed from its details, of which it keeps a million without a word about the
others. All workers share one connection by default, and each call makes a template with over 200 functions: the number
of connections is always given, and templates are off.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from wirebench.drivers.driver import SETUP_CROSS_CHECK, Job
from wirebench.drivers.replay import Call, ReplayDriver, compute_duration_s, render
from wirebench.errors import WirebenchError
from wirebench.model.contract import HTTP_CODES
from wirebench.model.histogram_file import OK
from wirebench.system.paths import TOOLS
from wirebench.system.processes import list_flags

DETAILS_MAX = 1_000_000


class Ghz(ReplayDriver):
    """Runs ghz for a time and reads its details."""

    name = "ghz"
    path = TOOLS / "ghz"
    setup = SETUP_CROSS_CHECK

    def build_arguments(self, job: Job) -> list[str | Path]:
        requests = render(job)
        flags = {
            "--call": requests[0]["call"],
            "--protoset": job.descriptors,
            "--data-file": job.write_input("data.json", json.dumps([each.get("message", {}) for each in requests])),
            "--metadata-file": job.write_input("metadata.json", json.dumps(requests[0].get("metadata", {}))),
            "--concurrency": job.cell.concurrency,
            "--connections": job.cell.connections or job.cell.concurrency,
            "--duration": f"{compute_duration_s(job):.3f}s",
            "--duration-stop": "wait",
            "--format": "json",
            "--output": job.output,
            "--rps": job.cell.rate_per_s,
            "--timeout": None if job.load.timeout_s is None else f"{job.load.timeout_s}s",
            "--cacert": job.tls and job.tls.authority,
            "--lb-strategy": "round_robin" if job.replicas else None,
        }
        # By name: ghz takes one address, and gRPC resolves it to all that stand behind it.
        address = f"dns:///{job.address}" if job.replicas else job.address
        switches = ["--count-errors", "--disable-template-data", *([] if job.tls else ["--insecure"])]
        return [self.path, *switches, *list_flags(flags), address]

    def read_calls(self, job: Job) -> list[Call]:
        details: list[dict[str, Any]] = orjson.loads(job.output.read_bytes())["details"] or []
        if len(details) >= DETAILS_MAX:
            raise WirebenchError(
                f"ghz made over {DETAILS_MAX:,} calls and kept no more of them",
                "use a shorter window, or the driver wireload",
            )
        # They are in UTC, as its environment says.
        ends = np.array([each["timestamp"].removesuffix("Z") for each in details], dtype="datetime64[ns]")
        return [
            Call(end, each["latency"], _name_code(each["status"]), each["error"])
            for end, each in zip(ends.astype(int).tolist(), details, strict=True)
        ]


def _name_code(name: str) -> str:
    """Return a code of grpc-go's, such as NotFound, as histogram files have it."""
    code = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("canceled", "cancelled")
    return code if code in {OK, "cancelled", "deadline_exceeded", *HTTP_CODES.values()} else "unknown"
