"""ghz: drives gRPC, to cross-check wireload.

Read from its source (v0.121.0):

- Its percentiles leave out failures, and its average doesn't. `--skipFirst` drops calls, but not their time.
  So all figures are computed from the details; the end of a call says whether it was in the warm-up or in the window.
- It keeps 1,000,000 details at most, without a word about the others. So a load is split before it comes that far.
- All workers share one connection by default. So the number of connections is always given.
- It makes a template with over 200 functions for each call. So templates are off.

It has no live metrics: the harness pushes those of each part when that has ended.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from wirebench.drivers import per_request
from wirebench.drivers.driver import SETUP_CROSS_CHECK, Job
from wirebench.drivers.per_request import CallArrays, Part, PerRequestDriver, name_grpc_code
from wirebench.errors import WirebenchError
from wirebench.system.files import write_atomic
from wirebench.system.paths import TOOLS
from wirebench.system.processes import list_flags

DETAILS_MAX = 1_000_000


class Ghz(PerRequestDriver):
    """Runs ghz for a time and reads its details."""

    name = "ghz"
    path = TOOLS / "ghz"
    setup = SETUP_CROSS_CHECK

    def build_environment(self, job: Job) -> dict[str, str]:  # noqa: ARG002 - the same for all
        return {"TZ": "UTC"}  # of the timestamps

    def build_arguments(self, job: Job, part: Part) -> list[str | Path]:
        requests = per_request.render(job, part)
        data = part.folder / "data.json"
        write_atomic(data, json.dumps([each.message for each in requests]))
        metadata = part.folder / "metadata.json"
        write_atomic(metadata, json.dumps(dict(map(_describe_pair, requests[0].metadata.items()))))
        flags = {
            "--call": requests[0].call,
            "--protoset": job.descriptors,
            "--data-file": data,
            "--metadata-file": metadata,
            "--concurrency": job.cell.concurrency,
            "--connections": job.cell.connections or job.cell.concurrency,
            "--duration": f"{part.duration_s:.3f}s",
            "--duration-stop": "wait",
            "--format": "json",
            "--output": part.output,
            "--rps": job.cell.rate_per_s,
            "--timeout": None if job.load.timeout_s is None else f"{job.load.timeout_s}s",
            "--lb-strategy": "round_robin" if job.replicas else None,
        }
        # By name: ghz takes one address, and gRPC resolves it to all that stand behind it.
        address = f"dns:///{job.address}" if job.replicas else job.address
        # It speaks TLS unless it is told not to.
        tls = job.tls_flags if job.tls else ["--insecure"]
        return [self.path, *tls, "--count-errors", "--disable-template-data", *list_flags(flags), address]

    def read(self, job: Job, part: Part) -> CallArrays:  # noqa: ARG002 - all is in the part
        return parse_calls(orjson.loads(part.output.read_bytes())["details"] or [])


def _describe_pair(pair: tuple[str, str]) -> tuple[str, str]:
    """Return a pair of metadata as ghz takes it: it decodes base64 where the key ends in -bin, if it is padded."""
    key, value = pair[0].lower(), pair[1]
    return key, value + "=" * (-len(value) % 4 if key.endswith("-bin") else 0)


def parse_calls(details: list[dict[str, Any]]) -> CallArrays:
    """Return ghz's details as calls. Raises WirebenchError if it has kept only some of them."""
    if len(details) >= DETAILS_MAX:
        raise WirebenchError(
            f"ghz made over {DETAILS_MAX:,} calls and kept no more of them",
            "use a shorter window, or the driver wireload",
        )
    # ghz was told to write UTC.
    ends = np.array([detail["timestamp"].removesuffix("Z") for detail in details], dtype="datetime64[ns]")
    return CallArrays.of(
        ends_unix_ns=ends.astype(np.int64),
        latencies_ns=np.array([detail["latency"] for detail in details], dtype=np.int64),
        outcomes=((name_grpc_code(detail["status"]), detail["error"]) for detail in details),
    )
