"""What `make` installs out of uv.lock."""

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

UV = ROOT / ".venv/bin/uv"
IMAGES = (ROOT / "scripts/cluster/images").read_text()
DOCKERFILE = (ROOT / "images/services/Dockerfile").read_text()
#: Options of `uv export`, by image.
PACKAGES = dict(re.findall("build_python (load|client) '(.+)' ", IMAGES))
PACKAGES["services"] = DOCKERFILE.partition('ARG PACKAGES="')[2].partition('"')[0]


def normalize_name(requirement: str) -> str:
    """Return the name that a requirement starts with, in the form of PEP 503."""
    return re.sub(r"[-_.]+", "-", re.findall(r"[A-Za-z0-9._-]+", requirement)[0]).lower()


def print_commands(target: str) -> str:
    """Return what make would run to rebuild a file."""
    command = ["make", "--dry-run", "--always-make", "--no-print-directory", target]
    return run_program(command, cwd=ROOT, check=True).stdout


def export(packages: str) -> set[str]:
    """Return the names of the packages that options of `uv export` select."""
    command = [str(UV), "export", "--quiet", "--frozen", "--no-emit-workspace", "--no-annotate", "--no-header"]
    exported = run_program([*command, *packages.split()], cwd=ROOT, check=True).stdout
    requirements = exported.replace("\\\n", " ").splitlines()
    assert all("==" in line and "--hash=sha256:" in line for line in requirements)
    return {normalize_name(line) for line in requirements}


def test_the_lock_is_of_what_the_distributions_ask_for() -> None:
    """A package that was declared and not locked would be missing after `make setup`."""
    done = run_program([str(UV), "lock", "--check", "--offline"], cwd=ROOT)
    assert 0 == done.returncode, f"run: make lock\n{done.stderr}"


def test_each_package_has_a_reason() -> None:
    """A comment behind it in one of the lists that ask for it; stubs of types and our own need none."""
    texts = [(ROOT / path / "pyproject.toml").read_text() for path in (".", "services/python", "proto")]
    lists = [found for text in texts for found in re.findall(r"(?ms)^(?:dependencies|dev) = \[$(.*?)^\]", text)]
    asked = re.findall(r'(?m)^  "([\w-]+)[^"]*",( # .+)?$', "".join(lists))
    explained = {normalize_name(name) for name, reason in asked if reason}
    assert len(explained) > 30
    missing = {normalize_name(name) for name, _ in asked} - explained
    assert [] == [name for name in missing if not name.startswith(("types-", "wirebench-")) and "-stubs" not in name]


def test_an_image_has_no_packages_that_it_does_not_need() -> None:
    """Services have none of the harness, and the client none of the services."""
    services = export(PACKAGES["services"])
    assert {"flask", "grpcio", "setuptools"} <= services
    assert "numpy" not in services
    assert "flask" not in export(PACKAGES["client"])


def test_load_pods_have_what_they_import() -> None:
    """Their image has the packages of its export and some folders of the harness; the rest isn't there."""
    added = re.search(r"wirebench/\*\.py wirebench/\{(\S+)\}", IMAGES)
    assert added is not None
    missing = export("--all-packages --all-extras") - export(PACKAGES["load"])
    absent = [
        module
        for module, names in metadata.packages_distributions().items()
        # Several packages may share a folder, such as google.
        if {normalize_name(name) for name in names} <= missing
    ]
    absent += [f"wirebench.{path.name}" for path in (ROOT / "wirebench").iterdir() if path.is_dir()]
    script = f"""
import sys
for absent in set({absent}) - {{"wirebench." + name for name in {added[1].split(",")}}}:
    sys.modules[absent] = None
import wirebench.run.load_pod.main
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


@pytest.mark.parametrize(("uv_status", "expected"), [(0, "uv\n"), (2, "uv\npython -m pip\n")])
def test_where_uv_fails_pip_installs(tmp_path: Path, uv_status: int, expected: str) -> None:
    """Only pip reads pip's configuration, which may name another index or a proxy."""
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    for name, script in (("uv", f"echo uv; exit {uv_status}"), ("python", 'echo "python $1 $2"')):
        (programs / name).write_text(f"#!/usr/bin/env bash\n{script}\n")
        (programs / name).chmod(0o755)
    (install,) = re.findall(r"(?m)installing packages\" (bash -c .*)$", print_commands(".venv/.packages"))
    done = run_program(["bash", "-c", install], cwd=tmp_path, check=True)
    assert expected == done.stdout
