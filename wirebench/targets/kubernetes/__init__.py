"""The Kubernetes target: services and load as pods, by our chart, in a namespace that a run has to itself.

And what is deployed already, to be loaded as it is.
"""

from __future__ import annotations

from wirebench.targets.kubernetes.deployed import DeployedServices, find_observer
from wirebench.targets.kubernetes.kubectl import OUR_CONTEXT, Access, find_access
from wirebench.targets.kubernetes.target import KubernetesTarget

__all__ = ["OUR_CONTEXT", "Access", "DeployedServices", "KubernetesTarget", "find_access", "find_observer"]
