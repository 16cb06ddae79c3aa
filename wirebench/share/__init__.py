"""Runs that travel: one file out, the same run in elsewhere, and whether its verdicts hold there."""

from __future__ import annotations

from wirebench.share.bundle import Bundle, write_bundle
from wirebench.share.importing import Imported, import_bundle, unpack
from wirebench.share.reproduction import Reproduction, hold_against

__all__ = ["Bundle", "Imported", "Reproduction", "hold_against", "import_bundle", "unpack", "write_bundle"]
