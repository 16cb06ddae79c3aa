"""The metrics page: what the workers counted, and what the service uses.

prometheus_client reads PROMETHEUS_MULTIPROC_DIR when it is imported: import this module after that is set.
"""

from __future__ import annotations

import os

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from services.platform.resources import ResourceCollector
from services.platform.settings import Settings

CONTENT_TYPE = CONTENT_TYPE_LATEST


def metrics_page(settings: Settings) -> bytes:
    """Return all metrics of the service whose supervisor this process is."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(ResourceCollector(os.getpid(), settings))
    return generate_latest(registry)
