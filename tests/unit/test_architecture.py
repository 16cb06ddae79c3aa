"""What tests may import; `make lint` checks the imports of the package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from wirebench.system.paths import ROOT


def read_imports(path: Path) -> Iterator[str]:
    """Yield every name that a file imports; a name from a package may be a module of it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_tests_import_only_helpers_from_each_other() -> None:
    """What tests share is in tests/support: a test module can be moved, split or deleted alone."""
    crossing = {
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("tests", "accuracy")
        for path in (ROOT / folder).rglob("*.py")
        for name in read_imports(path)
        if name.startswith("tests.") and not name.startswith("tests.support.")
    }
    assert set() == crossing
