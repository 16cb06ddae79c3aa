"""The namespaces that a run has to itself: all that it puts into a cluster is in there, and goes with them.

Services and load run under the pod security standard `restricted`. Agents mount a folder of their node, which only
`privileged` allows, and so have a namespace of their own.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from typing import Any, Literal

import psutil

from wirebench.errors import WirebenchError
from wirebench.targets.cluster.client import Cluster

LABEL = "wirebench.dev/run"
_HOST = "wirebench.dev/host"
_PID = "wirebench.dev/pid"
_NAME_MAX = 63
OF_AGENTS = "-agents"


def name_namespace(run: str, suffix: str = "") -> str:
    """Return the name of a run's namespace; `suffix` ends that of its agents."""
    return re.sub("[^a-z0-9]+", "-", f"wirebench-{run}".lower())[: _NAME_MAX - len(suffix)].rstrip("-") + suffix


def check_no_other_run(cluster: Cluster) -> None:
    """Raise WirebenchError if another run is measuring: two would take CPU time from each other."""
    for other in cluster.get("namespaces", LABEL, namespaced=False):
        metadata = other["metadata"]
        if not _is_abandoned(metadata):
            raise WirebenchError(
                f"another run is measuring on this cluster: {metadata['name']}",
                f"wait for its end; if it was killed on another machine: kubectl delete namespace {metadata['name']}",
            )


def check_no_load(cluster: Cluster) -> None:
    """Raise WirebenchError if a plain load runs on what is deployed: that would take CPU time from a measurement."""
    of_runs = {each["metadata"]["name"] for each in cluster.get("namespaces", LABEL, namespaced=False)}
    for job in cluster.get("jobs", "app.kubernetes.io/component=load", namespaced=False):
        name, where = job["metadata"]["name"], job["metadata"]["namespace"]
        if job.get("status", {}).get("active") and where not in of_runs:
            raise WirebenchError(f"a load is running in this cluster: {where}/{name}", "wait for its end")


def create(cluster: Cluster, run: str, security: Literal["restricted", "privileged"]) -> None:
    """Create a namespace of a run, under a pod security standard; remove what killed runs have left behind.

    Raises WirebenchError.
    """
    for other in cluster.get("namespaces", LABEL, namespaced=False):
        if _is_abandoned(other["metadata"]):
            cluster.delete_namespaces(other["metadata"]["name"])
    metadata = {
        "name": cluster.namespace,
        "labels": {LABEL: "", "pod-security.kubernetes.io/enforce": security},
        "annotations": {LABEL: run, _HOST: platform.node(), _PID: str(os.getpid())},
    }
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def _is_abandoned(metadata: Mapping[str, Any]) -> bool:
    """Return whether the run was killed: the process that made the namespace is one of this machine, and has gone."""
    about = metadata.get("annotations", {})
    owner = about.get(_PID, "")
    return about.get(_HOST) == platform.node() and not (owner.isdigit() and psutil.pid_exists(int(owner)))
