"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from wirebench.errors import WirebenchError
from wirebench.system.files import write_atomic


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old content stays, nothing half is beside it, and the error is one line."""

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    path = tmp_path / "run.json"
    path.write_text("old")
    with pytest.raises(WirebenchError, match=r"can't write .*run\.json: No space left on device"):
        write_atomic(path, "new")
    assert [("run.json", "old")] == [(each.name, each.read_text()) for each in tmp_path.iterdir()]


def test_a_link_stays_and_leads_to_what_is_written(tmp_path: Path) -> None:
    """Whether it has led to a file or to none yet. One in the place of the temporary file isn't followed."""
    (tmp_path / "there").write_text("old")
    (tmp_path / f"there.{os.getpid()}.tmp").symlink_to(tmp_path / "planted")
    for name in ("there", "new"):
        link = tmp_path / f"to-{name}"
        link.symlink_to(name)
        write_atomic(link, "text")
        assert (name, "text\n") == (str(link.readlink()), (tmp_path / name).read_text())
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [("loop", "Too many levels of symbolic links"), ("folder", "Is a directory"), ("none/file", "No such file")],
)
def test_where_nothing_can_be_written_stays_as_it_is(tmp_path: Path, name: str, reason: str) -> None:
    """The error names the place and the reason."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WirebenchError, match=f"can't write {tmp_path / name}: {reason}"):
        write_atomic(tmp_path / name, "text")
    assert ["folder", "loop"] == sorted(each.name for each in tmp_path.iterdir())
    assert (tmp_path / "loop").is_symlink()


def test_a_pipe_gets_what_is_written(tmp_path: Path) -> None:
    """As by any other program; it stays a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(pipe, "text")
        assert b"text\n" == os.read(reader, 10)
    finally:
        os.close(reader)
    assert pipe.is_fifo()
