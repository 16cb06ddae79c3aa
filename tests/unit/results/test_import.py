"""`wirebench import`: a run from elsewhere is imported whole, or rejected with the reason."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.bundles import (
    RUN,
    SMALL,
    import_bytes,
    manifest_of,
    packed,
    parts_of,
    with_attachment,
    with_content,
    with_json,
)
from tests.support.command_line import reject, wirebench
from tests.support.report_run import RunBuilder, cell
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure import environment
from wirebench.report import write_report
from wirebench.results.bundle.importing import import_bundle
from wirebench.results.bundle.write import WriteReport, write_bundle
from wirebench.results.index import Contents, Index, find_database_url
from wirebench.results.runs import Run, load_run
from wirebench.system.signals import Interrupted


def test_a_run_that_came_meanwhile_stays(shared: tuple[Run, bytes], tmp_path: Path) -> None:
    """While the report is drawn, another run may take the name."""
    run, bundle = shared

    def draw_late(_run: Run, path: Path) -> Path:
        (tmp_path / run.info.id).mkdir()
        (tmp_path / run.info.id / "run.json").write_text("another")
        return path

    with pytest.raises(WirebenchError):
        import_bundle(io.BytesIO(bundle), "a bundle", tmp_path, draw_late)
    assert "another" == (tmp_path / run.info.id / "run.json").read_text()
    assert [run.info.id] == [each.name for each in tmp_path.iterdir()]


def test_the_index_has_what_was_taken_in(shared: tuple[Run, bytes], tmp_path: Path) -> None:
    """And a database that is out of order keeps no run out."""
    (tmp_path / "b.tar.gz").write_bytes(shared[1])
    results = tmp_path / "results"
    assert 0 == wirebench("import", tmp_path / "b.tar.gz", "--out", results)[0]
    with Index(find_database_url(results)) as index:
        assert Contents(runs=1, cells=2, records=4) == index.contents()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "index.db").write_text("no database, but long enough to be taken for one by its size" * 100)
    status, _, text = wirebench("import", tmp_path / "b.tar.gz", "--out", broken)
    assert 0 == status
    assert f"the run is in {broken}/{RUN}, and not in the index\n" in text
    assert shared[0].records == load_run(broken / RUN).records


def test_a_run_comes_back_record_by_record(shared: tuple[Run, bytes], tmp_path: Path) -> None:
    """And file by file: only the report is generated again, and the logs stayed where they were."""
    run, bundle = shared
    back = import_bytes(bundle, tmp_path)
    assert tmp_path / run.info.id == back.folder
    assert (run.info, run.records) == (back.info, back.records)
    for path in run.folder.rglob("*.json"):
        assert path.read_bytes() == (back.folder / path.relative_to(run.folder)).read_bytes()
    assert (back.folder / "report.html").read_text().startswith("<!doctype html>")
    assert [back.folder] == list(tmp_path.iterdir())


def test_a_run_of_this_machine_is_not_called_another_s(tmp_path: Path) -> None:
    """A run says more of its machine than the machine of itself: which cores had the services."""
    machine = {**environment.read_machine(), "core_separation": "server on core 0, generator on core 1"}
    run = RunBuilder(cells=[cell("rest")], blocks=1, samples=20, info={"machine": machine}).write(tmp_path / "there")
    assert 0 == wirebench("bundle", run.folder, "--output", tmp_path / "b.tar.gz")[0]
    _, text, _ = wirebench("import", tmp_path / "b.tar.gz", "--out", tmp_path / "results")
    assert f"measured on {machine['cpu']}, {machine['cores']} cores\n" in text


def test_the_command_takes_a_file_or_stdin(
    shared: tuple[Run, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says where the run is, on what it was measured, and that this is another machine."""
    (tmp_path / "b.tar.gz").write_bytes(shared[1])
    status, text, _ = wirebench("import", tmp_path / "b.tar.gz", "--out", tmp_path / "results")
    assert 0 == status
    assert f"{tmp_path}/results/{RUN}\nmeasured on Some CPU @ 2.50GHz, 2 cores, which isn't this one" in text
    assert "4 of 4 records; digest " in text
    piped = io.TextIOWrapper(io.BytesIO(shared[1]))
    monkeypatch.setattr("sys.stdin", piped)
    status, text, _ = wirebench("import", "-", "--out", tmp_path / "results")
    assert 0 == status
    assert f"{tmp_path}/results/{RUN} is here already, the same\n" in text


@pytest.mark.parametrize("name", ["nowhere.tar.gz", "."])
def test_a_file_that_cannot_be_read_is_wrong_usage(tmp_path: Path, name: str) -> None:
    """One line that names it, and no results folder."""
    assert f"error: {tmp_path / name}" in reject("import", tmp_path / name, "--out", tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_another_run_of_the_same_name_is_rejected(shared: tuple[Run, bytes], tmp_path: Path) -> None:
    """And so is one that can't be told to be the same; what is here stays as it is."""
    parts = parts_of(shared[1])
    other = packed(with_json(parts, "run.json", notes=["measured at night"]))
    here = import_bytes(shared[1], tmp_path)
    with pytest.raises(UsageError, match=f"another run of the same name is here: {here.folder}"):
        import_bytes(other, tmp_path)
    assert here.info == load_run(here.folder).info
    (here.folder / "run.json").write_text("{")
    with pytest.raises(UsageError, match="is here, and can't be read"):
        import_bytes(shared[1], tmp_path)
    assert "{" == (here.folder / "run.json").read_text()


def test_the_report_inside_is_not_believed(shared: tuple[Run, bytes], tmp_path: Path) -> None:
    """It may be forged: what is here is drawn from the records."""
    evil = b"<!doctype html><script>alert(1)</script>"
    back = import_bytes(packed(with_content(parts_of(shared[1]), "report.html", lambda _: evil)), tmp_path)
    assert "alert(1)" not in (back.folder / "report.html").read_text()
    assert not (back.folder / "scenario.yaml").exists()


def test_texts_of_a_bundle_do_not_steer_the_terminal(shared: tuple[Run, bytes], tmp_path: Path) -> None:
    """Control characters are shown as what they are."""
    steering = "\x1b]0;owned\x07 Which?"
    import_bytes(packed(with_json(parts_of(shared[1]), "run.json", question=steering)), tmp_path)
    for command in ("results", "list"):
        status, text, _ = wirebench(command, "--out", tmp_path)
        assert 0 == status
        assert "\\x1b]0;owned\\x07 Which?" in text
        assert "\x1b" not in text


def test_a_large_bundle_takes_little_memory(shared: tuple[Run, bytes], tmp_path: Path) -> None:
    """100 MB of logs pass through in pieces."""
    parts = parts_of(shared[1])
    noise = bytes(range(256)) * (50_000_000 // 256)
    for number in range(2):
        parts = with_attachment(parts, f"logs/{number}.log", noise)
    large = packed(parts, level=0)
    assert len(large) > 99_000_000
    tracemalloc.start()
    try:
        back = import_bytes(large, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()
    assert noise == (back.folder / "logs" / "1.log").read_bytes()


@contextmanager
def failing(error: BaseException, bundle: bytes, after: int) -> Iterator[io.BytesIO]:
    """Yield a stream that fails after so many bytes."""

    class Stream(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() >= after:
                raise error
            return super().read(min(size or 0, 4096))

    yield Stream(bundle)


@pytest.mark.parametrize("share", [0, 0.3, 0.9])
@pytest.mark.parametrize(
    ("error", "raised"), [(Interrupted("SIGINT"), Interrupted), (OSError(5, "I/O error"), WirebenchError)]
)
def test_nothing_is_left_of_an_import_that_was_stopped(
    shared: tuple[Run, bytes], tmp_path: Path, share: float, error: BaseException, raised: type[BaseException]
) -> None:
    """By a signal or an error, at the beginning, in the middle and near the end."""
    with failing(error, shared[1], int(share * len(shared[1]))) as stream, pytest.raises(raised):
        import_bundle(stream, "theirs", tmp_path, write_report)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("step", ["report", "rename"])
def test_an_interrupt_before_the_last_step_leaves_nothing(
    shared: tuple[Run, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Until the run gets its name, there is none."""

    def interrupt(*_: object) -> Path:
        raise Interrupted("SIGTERM")

    draw: WriteReport = write_report
    if step == "report":
        draw = interrupt
    else:
        monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(Interrupted):
        import_bytes(shared[1], tmp_path, draw)
    assert [] == list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing(shared: tuple[Run, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is one line that names the results folder."""
    opened = Path.open

    def full(path: Path, mode: str = "r", **options: Any) -> Any:  # noqa: ANN401 - Path.open's own
        if mode == "xb":
            raise OSError(28, "No space left on device")
        return opened(path, mode, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(WirebenchError, match=f"can't write {tmp_path}: No space left on device"):
        import_bytes(shared[1], tmp_path)
    assert [] == list(tmp_path.iterdir())


def test_a_staged_run_is_listed_nowhere(shared: tuple[Run, bytes], tmp_path: Path) -> None:
    """Who looks for runs while one is being checked doesn't meet it."""
    seen: list[str] = []

    def look(run: Run, path: Path) -> Path:
        assert run.folder.is_dir()
        seen.append(wirebench("list", "--json", "--out", tmp_path)[1])
        return path

    import_bytes(shared[1], tmp_path, look)
    assert [[]] == [json.loads(each)["runs"] for each in seen]


def test_the_manifest_has_every_file(shared: tuple[Run, bytes]) -> None:
    """With its size, in the archive's order."""
    first, *others = parts_of(shared[1])
    manifest = manifest_of([first])
    listed = [(f"{RUN}/{each['path']}", each["size"]) for each in (*manifest["members"], *manifest["attachments"])]
    assert [(each.path, len(each.content)) for each in others] == listed


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
