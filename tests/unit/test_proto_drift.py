"""The generated code in the repository is what the contract generates."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WRITTEN_BY_HAND = {"__init__.py", "py.typed"}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders with what `make proto` would write, by language."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("python", "go")}
    subprocess.run([ROOT / "scripts/generate-proto", folders["python"], folders["go"]], check=True, timeout=120)
    return {"python": folders["python"] / "wirebench_proto", "go": folders["go"]}


@pytest.mark.parametrize(
    ("language", "committed"), [("python", "proto/python/wirebench_proto"), ("go", "services/go/internal/pb")]
)
def test_generated_code_is_current(generated: dict[str, Path], language: str, committed: str) -> None:
    """`make proto` would change no file, add none and leave none behind."""
    expected = {path.name: path.read_bytes() for path in generated[language].iterdir()}
    actual = {
        path.name: path.read_bytes()
        for path in (ROOT / committed).iterdir()
        if path.is_file() and path.name not in WRITTEN_BY_HAND
    }

    stale = {name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name)}
    assert set() == stale, "run: make proto"
