"""`wirebench bundle`: a run in one file, the same every time, and never one that would be rejected elsewhere."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.support.bundles import SMALL
from tests.support.command_line import Terminal, reject, wirebench
from tests.support.report_run import RunBuilder, cell
from wirebench.errors import UsageError
from wirebench.report import write_report
from wirebench.results.bundle.importing import import_bundle
from wirebench.results.bundle.write import write_bundle
from wirebench.results.runs import Run, load_run
from wirebench.system.paths import ROOT


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run of four records on disk."""
    return SMALL.write(tmp_path / "results")


def names_in(bundle: Path) -> list[str]:
    """Return the paths in a bundle, as any tool sees them."""
    with tarfile.open(bundle) as archive:
        return archive.getnames()


def test_the_same_run_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    """On any machine, at any time; also after it was imported elsewhere."""
    first = write_bundle(run, write_report, tmp_path / "first").path.read_bytes()
    assert first == write_bundle(load_run(run.folder), write_report, tmp_path / "second").path.read_bytes()
    taken = import_bundle(io.BytesIO(first), "first", tmp_path / "elsewhere", write_report).run
    assert first == write_bundle(taken, write_report, tmp_path / "third").path.read_bytes()


def test_any_tool_opens_it_and_finds_the_run(run: Run, tmp_path: Path) -> None:
    """One folder of the run's name: the manifest first, then the run, then what is for people to read."""
    record_ids = sorted(record.id for record in run.records)
    paths = [f"histograms/{name}.json" for name in record_ids] + [f"records/{name}.json" for name in record_ids]
    expected = ["manifest.json", *paths, "run.json", "report.html", "scenario.yaml"]
    bundle = write_bundle(run, write_report, tmp_path / "bundle").path
    assert [f"{run.info.id}/{path}" for path in expected] == names_in(bundle)
    subprocess.run(["tar", "-xzf", bundle, "-C", tmp_path], check=True)
    assert run.info.scenario_text == (tmp_path / run.info.id / "scenario.yaml").read_text()
    assert run.records == load_run(tmp_path / run.info.id).records


def test_the_digest_can_be_had_without_wirebench(run: Run, tmp_path: Path) -> None:
    """By the command of the docs, in what a bundle unpacks to: what a stopped run hadn't finished isn't in there."""
    (run.folder / "histograms" / "b009-of-a-cell-that-never-ended.json").write_text("{}")
    bundle = write_bundle(run, write_report, tmp_path / "bundle")
    subprocess.run(["tar", "-xzf", bundle.path, "-C", tmp_path], check=True)
    docs = ROOT / "docs" / "results.md"
    (command,) = (line for line in docs.read_text().splitlines() if line.startswith("find run.json"))
    done = subprocess.run(command, shell=True, cwd=tmp_path / run.info.id, capture_output=True, text=True, check=True)  # noqa: S602 - the docs' own
    assert f"{bundle.digest}  -\n" == done.stdout


def test_logs_come_along_only_where_asked_for(run: Run, tmp_path: Path) -> None:
    """They may name hosts; and what a run says of its progress, or what no record names, never does."""
    (run.folder / "logs" / "rest.log").write_text("listening on build-host-7\n")
    (run.folder / "progress.json").write_text("{}")
    (run.folder / "histograms" / "b009-of-a-cell-that-never-ended.json").write_text("{}")
    without = write_bundle(run, write_report, tmp_path / "without")
    with_logs = write_bundle(run, write_report, tmp_path / "with", with_logs=True)
    added = set(names_in(with_logs.path)) - set(names_in(without.path))
    assert {f"{run.info.id}/logs/rest.log"} == added
    assert not {"progress.json", "b009-of-a-cell-that-never-ended.json"} & {
        Path(name).name for name in names_in(with_logs.path)
    }
    assert without.digest == with_logs.digest


def test_what_a_replay_replayed_is_in_it(run: Run, tmp_path: Path) -> None:
    """Without the timing file it couldn't be reproduced."""
    (run.folder / "timing.json").write_text("[0, 1, 2]")
    assert f"{run.info.id}/timing.json" in names_in(write_bundle(run, write_report, tmp_path / "bundle").path)


def test_a_bundle_goes_to_stdout_where_asked_for(run: Run, tmp_path: Path) -> None:
    """As `import -` takes it from stdin: nothing else is in it, and no file is left."""
    bundle = write_bundle(run, write_report, tmp_path / "bundle")
    (tmp_path / "here").mkdir()
    command: list[str | Path] = [sys.executable, "-m", "wirebench.cli", "bundle", run.folder, "--output", "-"]
    done = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path / "here")
    assert bundle.path.read_bytes() == done.stdout
    assert f"digest {bundle.digest}\n" in done.stderr.decode()
    assert [] == list((tmp_path / "here").iterdir())


def test_a_bundle_is_kept_from_a_terminal(run: Run) -> None:
    """It would show nothing, and upset it."""
    with patch.object(io, "StringIO", Terminal):
        status, _, complaint = wirebench("bundle", run.folder, "--output", "-")
    assert 2 == status
    assert complaint.startswith("error: a bundle is binary and isn't written to a terminal\nnext: ")


def test_an_incomplete_run_says_so(tmp_path: Path) -> None:
    """What was measured before it stopped is worth sharing."""
    cut = RunBuilder(
        cells=[cell("rest")], blocks=1, samples=50, info={"status": "incomplete", "reason": "it failed", "blocks": 3}
    )
    folder = cut.write(tmp_path / "results").folder
    status, text, _ = wirebench("bundle", folder, "--output", tmp_path / "bundle")
    assert 0 == status
    assert "this run is incomplete: it failed\n1 of 3 records" in text
    assert 0 == wirebench("import", tmp_path / "bundle", "--out", tmp_path / "elsewhere")[0]
    assert "incomplete" == load_run(tmp_path / "elsewhere" / folder.name).info.status


def test_a_killed_run_is_incomplete_elsewhere(tmp_path: Path) -> None:
    """Its run.json says that it is running, under a process id that means another process on another machine."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    killed = RunBuilder(cells=[cell("rest")], blocks=1, samples=50, info={"status": "running", "pid": gone.pid})
    run = killed.write(tmp_path / "results")
    bundle = write_bundle(run, write_report, tmp_path / "bundle").path
    taken = import_bundle(io.BytesIO(bundle.read_bytes()), "bundle", tmp_path / "elsewhere", write_report).run
    assert ("incomplete", "it was killed") == (taken.info.status, taken.info.reason)
    assert b'"incomplete"' in (taken.folder / "run.json").read_bytes()


def test_a_run_that_goes_on_is_rejected(tmp_path: Path) -> None:
    """Half of it would be missing."""
    going_on = RunBuilder(cells=[cell("rest")], blocks=1, samples=50, info={"status": "running", "pid": os.getpid()})
    run = going_on.write(tmp_path / "results")
    said = f"error: run {run.info.id} is still running\nnext: wait"
    assert said in reject("bundle", run.folder, "--output", tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("histograms/{}.json", None, "can't read histograms/{}.json: No such file"),
        ("histograms/{}.json", "{}", "histograms/{}.json: driver"),
        ("records/{}.json", "[]", "records/{}.json: must be a mapping"),
    ],
)
def test_a_damaged_run_is_rejected(run: Run, tmp_path: Path, path: str, content: str | None, expected: str) -> None:
    """With the file that is damaged; nothing is written."""
    damaged = run.folder / path.format(run.records[0].id)
    damaged.unlink() if content is None else damaged.write_text(content)
    with pytest.raises(UsageError) as error:
        write_bundle(run, write_report, tmp_path / "bundle")
    assert f"{run.folder} is damaged: {expected.format(run.records[0].id)}" in error.value.message
    assert not (tmp_path / "bundle").exists()
