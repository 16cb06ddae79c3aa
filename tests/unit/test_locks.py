"""The lock files cover what the distributions declare, and name the same versions."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECTS = ("pyproject.toml", "services/python/pyproject.toml", "proto/pyproject.toml")
OURS = {"wirebench-proto"}


def normalized(requirement: str) -> str:
    """Give the name that a requirement starts with, in the form of PEP 503."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def locked(lock: str) -> dict[str, str]:
    """Give the versions in a lock file by name; fail at a line that pins nothing."""
    entries = (ROOT / "requirements" / lock).read_text().replace("\\\n", " ").splitlines()
    versions = {}
    for entry in entries:
        requirement = entry.split("#")[0].strip()
        if requirement:
            pinned = re.match(r"\S+==(\S+)", requirement)
            assert pinned is not None, f"{lock} pins no version: {requirement}"
            assert "--hash=sha256:" in requirement, f"{lock} has no hash: {requirement}"
            versions[normalized(requirement)] = pinned[1]
    return versions


@pytest.mark.parametrize("project", PROJECTS)
def test_bench_lock_holds_every_dependency(project: str) -> None:
    """A dependency that was declared and not locked would be missing after `make setup`."""
    declared = tomllib.loads((ROOT / project).read_text())
    names = {normalized(name) for name in declared["project"]["dependencies"]}
    names |= {normalized(name) for name in declared["build-system"]["requires"]}

    assert set() == names - locked("bench.lock").keys() - OURS, "run: make lock"


def test_dev_lock_holds_every_development_dependency() -> None:
    """A tool that was declared and not locked would be missing after `make setup-dev`."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    names = {normalized(entry) for entry in groups["dev"] if isinstance(entry, str)}

    assert set() == names - locked("dev.lock").keys(), "run: make lock"


def test_dev_lock_is_bench_lock_and_more() -> None:
    """The tests run with the versions that `make bench` measures with."""
    dev = locked("dev.lock")

    for name, version in locked("bench.lock").items():
        assert version == dev.get(name), f"{name} differs between the locks, run: make lock"


def test_load_lock_holds_what_load_pods_import() -> None:
    """Their image has the packages of that lock and some folders of the harness; the rest isn't there."""
    added = re.search(r"wirebench/\*\.py wirebench/\{(\S+)\}", (ROOT / "scripts/cluster/images").read_text())
    assert added is not None
    absent = [
        module
        for module, names in metadata.packages_distributions().items()
        if {normalized(name) for name in names} & (locked("dev.lock").keys() - locked("load.lock").keys())
    ]
    absent += [f"wirebench.{path.name}" for path in (ROOT / "wirebench").iterdir() if path.is_dir()]
    script = f"""
import sys
for absent in set({absent}) - {{"wirebench." + name for name in {added[1].split(",")}}}:
    sys.modules[absent] = None
import wirebench.generator.main, wirebench.targets.kubernetes.endpoints
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def test_locust_lock_holds_the_driver() -> None:
    """`make driver-locust` installs what is locked, and nothing else."""
    assert "locust" in locked("locust.lock"), "run: make lock"
