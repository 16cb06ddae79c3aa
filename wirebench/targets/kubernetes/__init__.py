"""The Kubernetes target: services and load as pods, by our chart, in a namespace that a run has to itself.

And what is deployed already, to be loaded as it is.
"""

from __future__ import annotations

from wirebench.targets.kubernetes.cluster import Access, find_access
from wirebench.targets.kubernetes.deployed import DeployedTarget
from wirebench.targets.kubernetes.target import KubernetesTarget

__all__ = ["Access", "DeployedTarget", "KubernetesTarget", "find_access"]
