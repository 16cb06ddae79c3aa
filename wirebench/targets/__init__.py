"""Where services run: on this machine, in a cluster, or at given addresses."""

from __future__ import annotations

from wirebench.targets.cluster.load_pods import LoadPods
from wirebench.targets.cores import Cores, divide_cores
from wirebench.targets.endpoint import Description, Endpoint, Replica
from wirebench.targets.external import ExternalTarget
from wirebench.targets.local import LocalTarget
from wirebench.targets.target import Target

__all__ = [
    "Cores",
    "Description",
    "Endpoint",
    "ExternalTarget",
    "LoadPods",
    "LocalTarget",
    "Replica",
    "Target",
    "divide_cores",
]
