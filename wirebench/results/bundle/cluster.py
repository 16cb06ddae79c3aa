"""Runs go to the results server that a cluster has (charts/observability): bundled here, and imported there."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from wirebench.errors import WirebenchError
from wirebench.results.bundle.write import WriteReport, write_bundle
from wirebench.results.runs import Run
from wirebench.system.processes import ProcessError
from wirebench.targets.kubernetes.kubectl import Access, Kubectl, require_tools

#: What the chart says of the server's Deployment, and the container in its pods that has our command line.
_SELECTOR = "app.kubernetes.io/name=results,app.kubernetes.io/part-of=wirebench"
_CONTAINER = "serve"
_IMPORT = ("wirebench", "import", "-")
#: Of a run of many records, whose report is drawn there.
_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class ResultsServer:
    """The results server of a cluster: a Deployment in a namespace."""

    access: Access
    namespace: str
    name: str

    @classmethod
    def find(cls, access: Access) -> Self | None:
        """Return the server of a cluster, the first by namespace; None if it has none.

        Raises UsageError without kubectl, WirebenchError if the cluster can't be asked.
        """
        require_tools()
        try:
            found = Kubectl(access, "").get("deployments", _SELECTOR, namespaced=False)
        except ProcessError as error:
            raise WirebenchError(_find_reason(error), "is the cluster up, and may you list its deployments?") from None
        names = sorted((each["metadata"]["namespace"], each["metadata"]["name"]) for each in found)
        return cls(access, *names[0]) if names else None

    def __str__(self) -> str:
        return f"the results of {self.access} ({self.namespace}/{self.name})"

    def send(self, run: Run, write_report: WriteReport) -> None:
        """Have a run there as well; one that is there already, the same, stays. Raises WirebenchError, in one line."""
        with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
            bundle = write_bundle(run, write_report, Path(folder) / "run.wirebench.tar.gz")
            kubectl = Kubectl(self.access, self.namespace)
            try:
                kubectl.exec(f"deployment/{self.name}", _CONTAINER, _IMPORT, bundle.path, _TIMEOUT_S)
            except ProcessError as error:
                raise WirebenchError(
                    _find_reason(error), "does its pod run, and is its image of this version?"
                ) from None


def _find_reason(error: ProcessError) -> str:
    lines = [line.strip() for line in error.details.splitlines() if line.strip()]
    said = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return said[0] if said else (lines or [error.message])[-1]
