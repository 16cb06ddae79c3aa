"""The command line of k6."""

from __future__ import annotations

from pathlib import Path

from tests.support.report_run import cell
from wirebench.drivers import K6, Job
from wirebench.model.scenario import Load


def test_a_comma_in_a_path_divides_nothing(tmp_path: Path) -> None:
    """It stands between the settings of the output."""
    of = cell("rest", driver="k6")
    job = Job(of, Load(), "127.0.0.1:9", 1, 1, tmp_path / "a,b%" / "o.json", tmp_path / "o.log", None)
    arguments = list(map(str, K6().build_arguments(job)))
    (output,) = (part for part in arguments if part.startswith("wirebench="))
    assert f"path={tmp_path}/a%2Cb%25/o.json" in output.removeprefix("wirebench=").split(",")
