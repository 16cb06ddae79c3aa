"""Names of Python packages."""

from __future__ import annotations

import re


def normalize_name(requirement: str) -> str:
    """Give the name that a requirement starts with, in the form of PEP 503."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()
