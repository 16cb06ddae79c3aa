"""The lock files cover what the distributions declare, and name the same versions."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest

from tests.support.locks import normalize_name, read_lock
from wirebench.system.paths import ROOT

PROJECTS = ("pyproject.toml", "services/python/pyproject.toml", "proto/pyproject.toml")
OURS = {"wirebench-proto"}


@pytest.mark.parametrize("project", PROJECTS)
def test_bench_lock_holds_every_dependency(project: str) -> None:
    """A dependency that was declared and not locked would be missing after `make setup`."""
    declared = tomllib.loads((ROOT / project).read_text())
    names = {normalize_name(name) for name in declared["project"]["dependencies"]}
    names |= {normalize_name(name) for name in declared["build-system"]["requires"]}

    assert set() == names - read_lock("bench.lock").keys() - OURS, "run: make lock"


def test_dev_lock_holds_every_development_dependency() -> None:
    """A tool that was declared and not locked would be missing after `make setup-dev`."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    names = {normalize_name(entry) for entry in groups["dev"] if isinstance(entry, str)}

    assert set() == names - read_lock("dev.lock").keys(), "run: make lock"


def test_dev_lock_is_bench_lock_and_more() -> None:
    """The tests run with the versions that `make bench` measures with."""
    dev = read_lock("dev.lock")

    for name, version in read_lock("bench.lock").items():
        assert version == dev.get(name), f"{name} differs between the locks, run: make lock"


def test_load_lock_holds_what_load_pods_import() -> None:
    """Their image has the packages of that lock and some folders of the harness; the rest isn't there."""
    added = re.search(r"wirebench/\*\.py wirebench/\{(\S+)\}", (ROOT / "scripts/cluster/images").read_text())
    assert added is not None
    absent = [
        module
        for module, names in metadata.packages_distributions().items()
        # Several packages may share a folder, such as google.
        if {normalize_name(name) for name in names} <= read_lock("dev.lock").keys() - read_lock("load.lock").keys()
    ]
    absent += [f"wirebench.{path.name}" for path in (ROOT / "wirebench").iterdir() if path.is_dir()]
    script = f"""
import sys
for absent in set({absent}) - {{"wirebench." + name for name in {added[1].split(",")}}}:
    sys.modules[absent] = None
import wirebench.run.load_pod.main, wirebench.targets.kubernetes.endpoints
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def test_locust_lock_holds_the_driver() -> None:
    """`make driver-locust` installs what is locked, and nothing else."""
    assert "locust" in read_lock("locust.lock"), "run: make lock"
