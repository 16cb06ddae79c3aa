"""The index of a folder of runs: where it is, and what becomes of one that is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from wirebench.errors import WirebenchError
from wirebench.model.run_info import Run
from wirebench.store.database import IndexUnusableError, find_database_url
from wirebench.store.query import Filters
from wirebench.store.store import FolderMissingError, Store


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the index where it is by default."""
    monkeypatch.delenv("WIREBENCH_DATABASE_URL", raising=False)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run of three records, in a folder of its own."""
    return RunBuilder(blocks=3, cells=[cell("rest")], samples=20).write(tmp_path / "results")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cret@127.0.0.1:1/wirebench",
        "postgresql://me:s3cret@127.0.0.1:port/wirebench",
        "postgresql://127.0.0.1:1/wirebench?password=s3cret",
        "postgresql://me:x@s3cret@127.0.0.1:1/wirebench",
        "postgresql://me:x@h/s3cret?y@127.0.0.1:1/wirebench",
        "mysql://me:s3cret@127.0.0.1/wirebench",
        "s3cret",
        "sqlite:////proc/none/index.db",
    ],
)
def test_a_url_that_leads_nowhere_is_an_error_without_the_password(run: Run, url: str) -> None:
    """Whatever is wrong with it."""
    with pytest.raises(WirebenchError) as error:
        Store(run.folder.parent, url)
    assert error.value.hint
    assert "s3cret" not in f"{error.value.message} {error.value.hint}"


def test_an_index_that_is_damaged_is_replaced(run: Run) -> None:
    """It is a cache: the folders have all that was in it."""
    folder = run.folder.parent
    (folder / "index.db").write_bytes(b"no database, but longer than the header of one" * 100)
    assert 1 == Store(folder, find_database_url(folder)).update()


def test_a_file_that_was_never_a_database_stays(tmp_path: Path) -> None:
    """It is another program's, and the variable names it by mistake."""
    notes = tmp_path / "notes.txt"
    notes.write_text("no database, but longer than the header of one" * 100)
    before = notes.read_text()
    with pytest.raises(IndexUnusableError) as error:
        Store(tmp_path, f"sqlite:///{notes}")
    assert "check what WIREBENCH_DATABASE_URL names: that file is not an index of wirebench" == error.value.hint
    assert before == notes.read_text()


def test_a_folder_that_is_gone_empties_no_index(run: Run, tmp_path: Path) -> None:
    """It was perhaps mounted; and no folder is made for an index."""
    folder = run.folder.parent
    store = Store(folder, f"sqlite:///{tmp_path}/index.db")
    store.update()
    folder.rename(tmp_path / "away")
    with pytest.raises(FolderMissingError):
        store.update()
    assert 1 == store.runs(Filters()).total
    with pytest.raises(IndexUnusableError, match="unable to open"):
        Store(folder, find_database_url(folder))
    assert not folder.exists()
