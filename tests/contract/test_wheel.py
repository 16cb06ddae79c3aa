"""The wheel, installed where there is no checkout: what works there, and what is said of all that doesn't.

Dependencies are those that are installed for the project; which ones pip would choose of an index isn't tested.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from tests.support.runs import RUN_TIMEOUT_S, only_run, second_lane
from tests.support.waiting import TIMEOUT_S, run_program
from wirebench.drivers import DRIVERS
from wirebench.measure.truth import SERVER
from wirebench.run.environment import read_commit
from wirebench.system.paths import ROOT

pytestmark = [
    second_lane,
    pytest.mark.slow,
    pytest.mark.skipif(
        DRIVERS["wireload"].read_version() is None or not SERVER.is_file(),
        reason="wireload and truth are not built: make setup",
    ),
]

PROJECTS = [
    tomllib.loads((ROOT / each / "pyproject.toml").read_text())["project"] for each in (".", "services/python", "proto")
]
QUICK = ("run", "quick", "--operation", "users.get", "--concurrency", "1", "--blocks", "2", "--duration", "1s")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, as `make wheel` builds it."""
    folder = tmp_path_factory.mktemp("dist")
    command: list[str | Path] = [sys.executable, ROOT / "scripts/build-wheel", folder]
    done = run_program(command)
    assert 0 == done.returncode, done.stderr
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of a virtual environment that the wheel is installed into."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=True)
    python = str(folder / "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", wheel], timeout=TIMEOUT_S, check=True)
    # All but our own, whose code and metadata the wheel has.
    (site,) = folder.glob("lib/python*/site-packages")
    for installed in Path(sysconfig.get_path("purelib")).iterdir():
        if "wirebench" not in installed.name:
            (site / installed.name).symlink_to(installed)
    for name in ("gunicorn", "uvicorn"):  # pip writes those of dependencies, too
        program = folder / "bin" / name
        text = Path(sys.executable).with_name(name).read_text()
        program.write_text(re.sub(r"\A#!.*", f"#!{python}", text))
        program.chmod(0o755)
    return folder / "bin"


def wirebench(programs: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with no other programs on PATH than those of the virtual environment."""
    return run_program(
        [programs / "wirebench", *arguments],
        cwd=folder,
        env={"PATH": str(programs), "HOME": str(folder)},
        timeout=RUN_TIMEOUT_S,
    )


def test_the_wheel_has_all_packages_and_licences(programs: Path, tmp_path: Path) -> None:
    """The packages of three distributions, the project's version, and the licences of what the programs contain."""
    code = "import wirebench, wirebench_proto, wirebench_services as s; print(*wirebench.__path__, *s.__path__)"
    printed = subprocess.check_output([programs / "python", "-c", code], cwd=tmp_path, text=True).split()
    assert {programs.parent} == {Path(each).parents[3] for each in printed}
    assert f"wirebench {PROJECTS[0]['version']}\n" == wirebench(programs, tmp_path, "--version").stdout
    (notices,) = programs.parent.glob("lib/python*/site-packages/wirebench-*.dist-info/licenses/THIRD-PARTY-NOTICES")
    assert "\ngoogle.golang.org/protobuf v" in notices.read_text(encoding="utf-8")


def test_the_built_in_application_is_measured(programs: Path, tmp_path: Path) -> None:
    """On all transports, and the driver's error by the server of known latency; cross-checks are skipped in a line."""
    done = wirebench(programs, tmp_path, *QUICK)
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert "complete" == run.info.status
    assert (run.folder / "report.html").is_file()
    assert {"wireload"} == {record.factors["driver"] for record in run.records}
    assert 6 == len(run.records)
    skipped = [note for note in run.info.notes if "skipped" in note]
    names = ("k6", "ghz")
    assert [
        f"cross-check by {each} skipped: {each} is not installed; make setup-cross-check" for each in names
    ] == skipped
    assert any(record.instrument for record in run.records)
    assert (read_commit(), PROJECTS[0]["version"]) == (run.info.commit, run.info.versions["wirebench"])


@pytest.mark.parametrize(
    ("arguments", "error", "step"),
    [
        (
            (*QUICK, "--transport", "rest", "--driver", "k6"),
            "the driver k6 is not at",
            "run `make setup-cross-check` in a checkout of wirebench, or measure without",
        ),
        (("run", "quick", "--target", "kubernetes"), "clusters need kubectl, helm", "use a checkout of wirebench"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_the_wheel_lacks_is_named(
    programs: Path, tmp_path: Path, arguments: tuple[str, ...], error: str, step: str
) -> None:
    """With a next step that needs no folder of the project, and nothing is left behind."""
    done = wirebench(programs, tmp_path, *arguments)
    assert (2, "") == (done.returncode, done.stdout)
    *_, first, last = done.stderr.splitlines()  # before them, that another run has the cores
    assert first.startswith(f"error: {error}")
    assert last.startswith(f"next: {step}")
    assert not list(tmp_path.glob("results/*"))
