"""The Kubernetes target: services and load as pods, by our chart, in a namespace that a run has to itself."""

from __future__ import annotations

from wirebench.targets.kubernetes.kubectl import Access
from wirebench.targets.kubernetes.target import KubernetesTarget

__all__ = ["Access", "KubernetesTarget"]
