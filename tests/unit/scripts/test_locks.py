"""The lock files cover what the distributions declare, and name the same versions."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.locks import normalize_name, read_lock
from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

PROJECTS = ("pyproject.toml", "services/python/pyproject.toml", "proto/pyproject.toml")
OURS = {"wirebench-proto"}


def list_declared(project: str, *, with_build: bool = True) -> set[str]:
    """Return the names of the packages that a distribution needs, and those that build it."""
    declared = tomllib.loads((ROOT / project).read_text())
    requirements = declared["project"]["dependencies"]
    requirements += declared["build-system"]["requires"] if with_build else []
    return {normalize_name(requirement) for requirement in requirements}


@pytest.mark.parametrize(("lock", "projects"), [("bench.lock", PROJECTS), ("services.lock", PROJECTS[1:])])
def test_a_lock_holds_every_dependency(lock: str, projects: tuple[str, ...]) -> None:
    """One that was declared and not locked would be missing after `make setup`, or in the image of the services."""
    declared = {name for project in projects for name in list_declared(project)}

    assert set() == declared - read_lock(lock).keys() - OURS, "run: make lock"


def test_serve_lock_holds_every_dependency_of_the_harness() -> None:
    """The results server has the whole command line."""
    assert set() == list_declared("pyproject.toml", with_build=False) - read_lock("serve.lock").keys(), "run: make lock"


def test_dev_lock_holds_every_development_dependency() -> None:
    """A tool that was declared and not locked would be missing after `make setup-dev`."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    names = {normalize_name(entry) for entry in groups["dev"] if isinstance(entry, str)}

    assert set() == names - read_lock("dev.lock").keys(), "run: make lock"


@pytest.mark.parametrize(
    ("part", "whole"),
    [("services.lock", "bench.lock"), ("serve.lock", "bench.lock"), ("bench.lock", "dev.lock")],
)
def test_locks_agree(part: str, whole: str) -> None:
    """Images and tests have the versions that `make bench` measures with."""
    versions, others = read_lock(part), read_lock(whole)

    assert versions == {name: others.get(name) for name in versions}, "run: make lock"


def test_an_image_has_no_packages_that_it_does_not_need() -> None:
    """Services have none of the harness, and the results server none of the services."""
    assert "numpy" not in read_lock("services.lock")
    assert "flask" not in read_lock("serve.lock")


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


def print_commands(target: str) -> str:
    """Return what make would run to rebuild a file."""
    command = ["make", "--dry-run", "--always-make", "--no-print-directory", target]
    return run_program(command, cwd=ROOT, check=True).stdout


def test_what_installs_the_packages_is_installed_by_its_hash() -> None:
    """`make setup` takes uv's entry out of the lock, and nothing else: pip fetches whatever has a hash there."""
    (extract,) = re.findall(r"(?m)^(awk .*?) \|", print_commands(".venv/bin/uv"))
    entry = run_program(["bash", "-c", extract], cwd=ROOT, check=True).stdout
    assert [f"uv=={read_lock('bench.lock')['uv']}"] == re.findall(r"(?m)^\S+==[^ ]+", entry)
    assert "--hash=sha256:" in entry


@pytest.mark.parametrize(("uv_status", "expected"), [(0, "uv\n"), (2, "uv\npython -m pip\n")])
def test_where_uv_fails_pip_installs(tmp_path: Path, uv_status: int, expected: str) -> None:
    """Only pip reads pip's configuration, which may name another index or a proxy."""
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    for name, script in (("uv", f"echo uv; exit {uv_status}"), ("python", 'echo "python $1 $2"')):
        (programs / name).write_text(f"#!/usr/bin/env bash\n{script}\n")
        (programs / name).chmod(0o755)
    (install,) = re.findall(r"(?m)bench\.lock\" (bash -c .*)$", print_commands(".venv/.packages"))
    done = run_program(["bash", "-c", install], cwd=tmp_path, check=True)
    assert expected == done.stdout
