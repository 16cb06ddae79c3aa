"""Where services run: on this machine, in a cluster, or at given addresses."""

from __future__ import annotations

from wirebench.targets.cores import Cores, divide_cores
from wirebench.targets.external import ExternalTarget
from wirebench.targets.local import LocalTarget
from wirebench.targets.target import Description, Endpoint, LoadPods, Replica, Target

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
