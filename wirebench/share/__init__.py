"""Runs that travel: one file out, the same run in elsewhere, and whether its verdicts hold there."""

from __future__ import annotations

from wirebench.share.bundle import Bundle, write_bundle
from wirebench.share.importing import Imported, import_bundle, unpack

__all__ = ["Bundle", "Imported", "import_bundle", "unpack", "write_bundle"]
