"""The generated files in the repository are what the contract and the application file generate."""

import subprocess
from pathlib import Path

import pytest

from tests.support.waiting import TIMEOUT_S
from wirebench.system.paths import ROOT

WRITTEN_BY_HAND = {"__init__.py", "py.typed", "README.md"}
#: Folders with nothing else in them.
GENERATED_FOLDERS = ("proto/python/wirebench_proto", "services/go/internal/pb")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, bytes]:
    """Return the files that `make proto` would write, by their paths in the project."""
    folder = tmp_path_factory.mktemp("generated")
    subprocess.run([ROOT / "scripts/generate-proto", folder], check=True, timeout=TIMEOUT_S)
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_generated_files_are_current(generated: dict[Path, bytes]) -> None:
    """`make proto` would change no file and add none, and what is no longer generated is gone."""
    there = {path for folder in GENERATED_FOLDERS for path in (ROOT / folder).glob("*.*")}
    current = {path: path.read_bytes() for path in there | {ROOT / path for path in generated} if path.is_file()}
    expected = {ROOT / path: content for path, content in generated.items()}
    stale = {path.name for path, _ in current.items() ^ expected.items()}
    assert set() == stale - WRITTEN_BY_HAND, "run: make proto"
