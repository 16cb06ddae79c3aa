"""What lies between generator and server: a proxy that stands for distance and for thin lines."""

from __future__ import annotations

from wirebench.network.toxiproxy import Toxiproxy, path, toxiproxy, version

__all__ = ["Toxiproxy", "path", "toxiproxy", "version"]
