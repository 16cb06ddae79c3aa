"""`wirebench bundle`, `import` and `reproduce` for real: what one machine has measured is run again from a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.runs import needs_tools, only_run, second_lane, wirebench
from wirebench.results.runs import TIMING_FILE

SCENARIO = """\
question: Which transport keeps a recorded pace?
factors: {transport: [rest, socket], concurrency: 4}
load: {model: replay, timing: pace.json, warmup_s: 0.2}
blocks: 2
"""

pytestmark = [second_lane, needs_tools]


@pytest.mark.slow
def test_a_bundle_is_run_again(tmp_path: Path) -> None:
    """With no file but the bundle: the scenario, its timing file, driver, seed and blocks; as a run like any other."""
    (tmp_path / "tiny.yaml").write_text(SCENARIO)
    (tmp_path / "pace.json").write_text(json.dumps({"inter_arrival_s": [0.005] * 120}))
    options = ("--seed", "7", "--driver", "k6", "--verbose")
    done = wirebench("run", tmp_path / "tiny.yaml", "--out", tmp_path / "there", *options)
    assert 0 == done.returncode, done.stderr
    assert re.search(r"(?m)^started .*; log: .*/logs/", done.stderr), done.stderr
    there, bundle = only_run(tmp_path / "there"), tmp_path / "tiny.tar.gz"
    assert 0 == wirebench("bundle", there.folder, "--output", bundle).returncode
    (tmp_path / "pace.json").unlink()
    again = wirebench("reproduce", bundle, "--out", tmp_path / "here", "--json", "--quiet")
    assert again.returncode in (0, 1), again.stderr
    assert [] == [line for line in again.stderr.splitlines() if not line.startswith("waiting for another run")]
    printed, here = json.loads(again.stdout), only_run(tmp_path / "here")
    assert (again.returncode == 1) == (printed["contradicted"] > 0)
    assert 1 == printed["held"] + printed["contradicted"] + printed["open"]
    assert here.info.id == printed["reproduced"]["id"]
    assert "complete" == here.info.status
    assert {record.id: record.order for record in there.records} == {record.id: record.order for record in here.records}
    assert {"k6"} == {record.factors["driver"] for record in here.records}
    assert (there.info.scenario_text, there.info.seed) == (here.info.scenario_text, here.info.seed)
    assert (there.folder / TIMING_FILE).read_bytes() == (here.folder / TIMING_FILE).read_bytes()
    assert (here.folder / "report.html").is_file()
    assert here.info.command.startswith("wirebench reproduce ")
    taken = wirebench("import", bundle, "--out", tmp_path / "here")
    assert 0 == taken.returncode, taken.stderr
    assert f"{tmp_path}/here/{there.info.id}\n" in taken.stdout
