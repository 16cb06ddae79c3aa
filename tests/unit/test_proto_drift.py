"""The generated code in the repository is what the contract generates."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "proto/python/wirebench_proto"
WRITTEN_BY_HAND = {"__init__.py", "py.typed"}


def test_generated_code_is_current(tmp_path: Path) -> None:
    """`make proto` would change no file, add none and leave none behind."""
    subprocess.run([ROOT / "scripts/generate-proto", tmp_path], check=True, timeout=60)

    expected = {path.name: path.read_bytes() for path in (tmp_path / "wirebench_proto").iterdir()}
    actual = {
        path.name: path.read_bytes()
        for path in COMMITTED.iterdir()
        if path.is_file() and path.name not in WRITTEN_BY_HAND
    }

    stale = {name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name)}
    assert set() == stale, "run: make proto"
