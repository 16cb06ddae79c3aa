"""k6, built with our socket client and our histogram output: drives all three transports."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from wirebench import processes
from wirebench.drivers.driver import SEEDED_FIRST_ID, SEEDED_USERS, Job
from wirebench.drivers.histogram_file import HistogramFile
from wirebench.places import K6_SCRIPTS, TOOLS
from wirebench.processes import Child, ProcessError

#: A failed threshold is a result, not a crash. Our scripts have none; a user's own may.
_THRESHOLD_FAILED = 99
_GRACE_S = 60.0


class K6:
    """Runs `k6/<transport>.js` with our output."""

    name = "k6"

    def path(self) -> Path:
        """Where our build of k6 is."""
        return TOOLS / "k6"

    def version(self) -> str | None:
        """Return k6's version, or None if it isn't built."""
        text = processes.capture([self.path(), "version"])
        return text.split()[1].removeprefix("v") if text else None

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        """Send the load and return what was measured. Raises ProcessError, WirebenchError."""
        child = processes.start(
            "k6", self.arguments(job), job.log, job.cores, {"K6_AUTO_EXTENSION_RESOLUTION": "false"}
        )
        try:
            watch(child)
            status = child.wait(job.load.warmup_s + job.load.window_s + _GRACE_S)
        finally:
            child.stop()
        if status not in (0, _THRESHOLD_FAILED):
            details = processes.last_lines(job.log)
            raise ProcessError(f"k6 {processes.describe_status(status)}", f"its log is {job.log}", details)
        return (HistogramFile.read(job.output),)

    def arguments(self, job: Job) -> list[str | Path]:
        """Return the command line, which can be repeated by hand."""
        load, cell = job.load, job.cell
        output = f"wirebench=path={job.output},warmup={load.warmup_s}s,window={load.window_s}s"
        environment = {
            "ADDRESS": ",".join(job.replicas) or job.address,
            "OPERATION": cell.operation,
            "CONCURRENCY": cell.concurrency,
            "RATE": cell.rate_per_s,
            "WARMUP_S": load.warmup_s,
            "DURATION_S": load.window_s,
            "CONNECTION": cell.connection,
            "RECONNECT": "yes" if cell.is_disrupted else None,
            "CODEC": cell.codec if cell.transport == "socket" else None,
            "SEED": job.seed,
            "ID_BASE": job.id_base,
            "FIRST_USER": SEEDED_FIRST_ID,
            "USERS": SEEDED_USERS,
        }
        settings = [
            part for name, value in environment.items() if value is not None for part in ("-e", f"{name}={value}")
        ]
        quiet = ["--quiet", "--summary-mode=disabled", "--no-usage-report", "--no-thresholds", "--address="]
        # The caller's environment is not ours: a variable called USERS must not change the load.
        quiet.append("--include-system-env-vars=false")
        return [
            self.path(),
            "run",
            *quiet,
            *_segment(*job.generator),
            "--out",
            output,
            *settings,
            K6_SCRIPTS / f"{cell.transport}.js",
        ]


def _segment(index: int, count: int) -> list[str]:
    """Return the flags that make k6 take its share of a load: users, iterations and rate are those of the whole."""
    if count == 1:
        return []
    ends = [Fraction(each, count) for each in range(count + 1)]
    return [
        f"--execution-segment={ends[index]}:{ends[index + 1]}",
        f"--execution-segment-sequence={','.join(map(str, ends))}",
    ]
