"""What the tests of bundles share."""

from __future__ import annotations

import pytest

from tests.support.bundles import SMALL
from wirebench.report import write_report
from wirebench.results.bundle.write import write_bundle
from wirebench.results.runs import Run


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, bytes]:
    """Return a run and its bundle."""
    folder = tmp_path_factory.mktemp("shared")
    run = SMALL.write(folder / "results")
    return run, write_bundle(run, write_report, folder / "bundle").path.read_bytes()
