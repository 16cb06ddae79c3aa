"""Reads lock files."""

from __future__ import annotations

import re

from wirebench.system.paths import ROOT


def normalize_name(requirement: str) -> str:
    """Give the name that a requirement starts with, in the form of PEP 503."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def read_lock(lock: str) -> dict[str, str]:
    """Give the versions in a lock file by name; fail at a line that pins nothing."""
    entries = (ROOT / "requirements" / lock).read_text().replace("\\\n", " ").splitlines()
    versions = {}
    for entry in entries:
        requirement = entry.split("#")[0].strip()
        if requirement:
            pinned = re.match(r"\S+==(\S+)", requirement)
            assert pinned is not None, f"{lock} pins no version: {requirement}"
            assert "--hash=sha256:" in requirement, f"{lock} has no hash: {requirement}"
            versions[normalize_name(requirement)] = pinned[1]
    return versions
