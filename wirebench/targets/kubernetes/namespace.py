"""The namespace that a run has to itself: all that it puts into a cluster is in there, and goes with it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from typing import Any

import psutil

from wirebench.errors import WirebenchError
from wirebench.targets.kubernetes.kubectl import Kubectl

LABEL = "wirebench.dev/run"
_HOST = "wirebench.dev/host"
_PID = "wirebench.dev/pid"
_DELETE_TIMEOUT_S = 120.0
_NAME_MAX = 63


def name_for(run: str) -> str:
    """Return the name of a run's namespace."""
    return re.sub("[^a-z0-9]+", "-", f"wirebench-{run}".lower())[:_NAME_MAX].rstrip("-")


def refuse_others(kubectl: Kubectl) -> None:
    """Raise WirebenchError if another run is measuring: two would take CPU time from each other."""
    for other in kubectl.get("namespaces", LABEL, namespaced=False):
        metadata = other["metadata"]
        if not _is_abandoned(metadata):
            raise WirebenchError(
                f"another run is measuring on this cluster: {metadata['name']}",
                f"wait for its end; if it was killed on another machine: kubectl delete namespace {metadata['name']}",
            )


def refuse_loads(kubectl: Kubectl) -> None:
    """Raise WirebenchError if somebody loads what is deployed: that would take CPU time from a measurement."""
    of_runs = {each["metadata"]["name"] for each in kubectl.get("namespaces", LABEL, namespaced=False)}
    for job in kubectl.get("jobs", "app.kubernetes.io/component=load", namespaced=False):
        name, where = job["metadata"]["name"], job["metadata"]["namespace"]
        if job.get("status", {}).get("active") and where not in of_runs:
            raise WirebenchError(f"a load is going on in this cluster: {where}/{name}", "wait for its end")


def create(kubectl: Kubectl, run: str) -> None:
    """Create a run's namespace; remove those that killed runs have left behind. Raises WirebenchError."""
    for other in kubectl.get("namespaces", LABEL, namespaced=False):
        if _is_abandoned(other["metadata"]):
            kubectl.delete("namespace", other["metadata"]["name"], timeout_s=_DELETE_TIMEOUT_S)
    metadata = {
        "name": kubectl.namespace,
        "labels": {LABEL: "", "pod-security.kubernetes.io/enforce": "restricted"},
        "annotations": {LABEL: run, _HOST: platform.node(), _PID: str(os.getpid())},
    }
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def remove(kubectl: Kubectl) -> None:
    """Remove a run's namespace and all that is in it. Raises WirebenchError."""
    kubectl.delete("namespace", kubectl.namespace, timeout_s=_DELETE_TIMEOUT_S)


def _is_abandoned(metadata: Mapping[str, Any]) -> bool:
    """Return whether the run was killed: the process that made the namespace is one of this machine, and has gone."""
    about = metadata.get("annotations", {})
    owner = about.get(_PID, "")
    return about.get(_HOST) == platform.node() and not (owner.isdigit() and psutil.pid_exists(int(owner)))
