"""The command line of k6."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from tests.support.report_run import cell
from tests.support.stream_run import stream_cell
from tests.support.waiting import run_program
from wirebench.drivers import K6, Job
from wirebench.model.contract import TRANSPORTS
from wirebench.model.scenario import Load
from wirebench.system.paths import ROOT


def test_a_comma_in_a_path_divides_nothing(tmp_path: Path) -> None:
    """It stands between the settings of the output."""
    of = cell("rest", driver="k6")
    job = Job(of, Load(), "127.0.0.1:9", 1, 1, tmp_path / "a,b%" / "o.json", tmp_path / "o.log", None)
    arguments = list(map(str, K6().build_arguments(job)))
    (output,) = (part for part in arguments if part.startswith("wirebench="))
    assert f"path={tmp_path}/a%2Cb%25/o.json" in output.removeprefix("wirebench=").split(",")


def test_k6_is_told_of_streams_and_nothing_of_clients() -> None:
    """One script reads the streams of all transports; without a limit on their rate it is found of none."""
    of = stream_cell("socket", stream_items=250, codec="protobuf")
    job = Job(of, Load(), "127.0.0.1:9", 1, 1, Path("o.json"), Path("o.log"), None)
    arguments = list(map(str, K6().build_arguments(job)))
    found = {part for before, part in itertools.pairwise(arguments) if before == "-e"}
    assert {"OPERATION=ledger.stream_transactions", "TRANSPORT=socket", "STREAM_ITEMS=250", "CODEC=protobuf"} <= found
    assert not {part.partition("=")[0] for part in found} & {"CLIENTS", "STREAM_RATE_LIMIT"}
    assert arguments[-1].endswith("k6/stream.js")


def test_the_image_of_load_pods_has_every_script() -> None:
    """k6 runs one for each transport, and another one for streams."""
    (added,) = re.findall(
        r"^  add load (.+?[^\\])$", (ROOT / "scripts/cluster/images").read_text(), re.MULTILINE | re.DOTALL
    )
    files = run_program(["bash", "-c", f"printf '%s\\n' {added}"], cwd=ROOT, check=True).stdout.split()
    cells = [*(cell(each, driver="k6") for each in TRANSPORTS), *map(stream_cell, TRANSPORTS)]
    jobs = (Job(each, Load(), "127.0.0.1:9", 1, 1, Path("o.json"), Path("o.log"), None) for each in cells)
    scripts = {str(Path(K6().build_arguments(job)[-1]).relative_to(ROOT)) for job in jobs}
    assert len(TRANSPORTS) + 1 == len(scripts)
    assert set() == scripts - set(files)
