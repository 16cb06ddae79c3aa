"""`wirebench import` of a run that is here, stopped: it gives way to itself resumed, and to nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.bundles import RUN, SMALL, import_bytes
from wirebench.errors import UsageError
from wirebench.report import write_report
from wirebench.results.bundle.write import write_bundle
from wirebench.results.runs import load_run
from wirebench.system.signals import Interrupted


def test_a_stopped_run_gives_way_to_itself_resumed(tmp_path: Path) -> None:
    """With all that is here, and more; not to what lacks a record or was never resumed, nor back."""
    run = SMALL.write(tmp_path / "there")
    resumed = {"resumed_at": (datetime(2026, 11, 21, 12, tzinfo=UTC),)}

    def bundled(**info: object) -> bytes:
        (run.folder / "run.json").write_text(run.info.model_copy(update=info).model_dump_json())
        return write_bundle(load_run(run.folder), write_report, tmp_path / "b.tar.gz").path.read_bytes()

    whole, never_resumed = bundled(**resumed), bundled()
    first, last = (f"{run.records[place].id}.json" for place in (0, -1))
    (run.folder / "records" / last).rename(tmp_path / last)
    stopped = bundled(status="incomplete", reason="it was killed")
    (run.folder / "records" / first).unlink()
    (tmp_path / last).rename(run.folder / "records" / last)
    without_the_first = bundled(**resumed)

    results = tmp_path / "results"
    here = import_bytes(stopped, results)
    for unfit in (never_resumed, without_the_first):
        with pytest.raises(UsageError, match="another run of the same name"):
            import_bytes(unfit, results)
    after = import_bytes(whole, results)
    assert (here.folder, "complete", 4) == (after.folder, after.info.status, len(after.records))
    assert [here.folder] == list(results.iterdir())
    with pytest.raises(UsageError, match="another run of the same name"):
        import_bytes(stopped, results)


def test_an_interrupt_leaves_the_stopped_run_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between its way out and the way in of the one that takes its place."""
    run = SMALL.write(tmp_path / "there")
    resumed = run.info.model_copy(update={"resumed_at": (datetime(2026, 11, 21, 12, tzinfo=UTC),)})
    stopped = run.info.model_copy(update={"status": "incomplete", "reason": "it was killed"})
    bundles = []
    for info in (stopped, resumed):
        (run.folder / "run.json").write_text(info.model_dump_json())
        bundles.append(write_bundle(load_run(run.folder), write_report, tmp_path / "b.tar.gz").path.read_bytes())
    here, rename = import_bytes(bundles[0], tmp_path / "results"), Path.rename

    def interrupt(path: Path, target: Path) -> Path:
        if path.name == RUN and target == here.folder:
            raise Interrupted("SIGTERM")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(Interrupted):
        import_bytes(bundles[1], tmp_path / "results")
    assert [here.folder] == list((tmp_path / "results").iterdir())
    assert here == load_run(here.folder)
