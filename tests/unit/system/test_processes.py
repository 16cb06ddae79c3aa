"""Running other programs: nothing that they started is left."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.waiting import TIMEOUT_S, run_program, wait_until
from wirebench.errors import WirebenchError
from wirebench.system import processes

#: Starts a process that ignores SIGTERM in a group of its own, says its id, and ends or stays.
STUBBORN = """
import os, signal, sys, time
child = os.fork()
if child == 0:
    os.setpgrp()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    time.sleep(60)
if sys.argv[1] == "stays":
    time.sleep(60)
"""


@pytest.mark.parametrize(("leave", "parent"), [("setpgrp", "stays"), ("setpgrp", "ends"), ("setsid", "stays")])
def test_what_a_program_started_ends_with_it(tmp_path: Path, leave: str, parent: str) -> None:
    """One in a group of its own is found even when its parent has gone before; one in a session, by its parent."""
    log = tmp_path / "log"
    code = STUBBORN.replace("setpgrp", leave)
    child = processes.start("a program", [sys.executable, "-c", code, parent], log)
    stubborn = psutil.Process(int(wait_until(log.read_text, "it has said its id")))
    if parent == "ends":
        child.wait(TIMEOUT_S)
    assert stubborn.is_running()
    child.stop(0.1)
    assert not stubborn.is_running() or stubborn.status() == psutil.STATUS_ZOMBIE


#: Starts it, makes a temporary folder, and is killed.
KILLED = """
import os, pathlib, sys, tempfile, time
from wirebench.system import files, processes
tempfile.mkdtemp(prefix=files.name_temporary())
processes.start("a program", [sys.executable, "-c", sys.argv[1], "stays"], pathlib.Path("log"))
while not pathlib.Path("log").read_text():
    time.sleep(0.01)
os.kill(os.getpid(), 9)
"""


def test_nothing_is_left_of_us_if_we_are_killed(tmp_path: Path) -> None:
    """No program, even if it ignores SIGTERM, and no temporary folder."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    run_program([sys.executable, "-c", KILLED, STUBBORN], cwd=tmp_path, env=environment)
    stubborn = psutil.Process(int((tmp_path / "log").read_text()))
    wait_until(lambda: not stubborn.is_running(), "it has ended")
    wait_until(lambda: ["log"] == [each.name for each in tmp_path.iterdir()], "the folder is removed")


def test_the_cpu_time_of_a_program_is_known_after_its_end(tmp_path: Path) -> None:
    """All of it, and no more changes."""
    code = "import time\nwhile time.process_time() < 0.2: pass"
    child = processes.start("a program", [sys.executable, "-c", code], tmp_path / "log")
    assert child.wait(TIMEOUT_S) == 0
    cpu_s = child.read_cpu_s()
    assert cpu_s is not None
    assert cpu_s >= 0.2
    assert child.wait(TIMEOUT_S) == 0
    assert child.read_cpu_s() == cpu_s


def test_a_child_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """Not left to run on."""
    child = processes.start("a program", ["sleep", "60"], tmp_path / "log")
    with pytest.raises(WirebenchError, match="was still running after 0 s"):
        child.wait(0.1)
    assert child.process.returncode == -signal.SIGTERM


def test_a_log_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    """No room, or no folder, is one line and no traceback."""
    with pytest.raises(WirebenchError, match=r"can't write .*log: No such file"):
        processes.start("a program", [sys.executable], tmp_path / "nowhere" / "log")


def test_the_last_lines_of_a_long_log_are_read_from_its_end(tmp_path: Path) -> None:
    """A line without an end is cut."""
    log = tmp_path / "log"
    log.write_text("first\n" + "x" * 200_000 + "\nlast\n")
    *_, cut, last = processes.read_last_lines(log).split("\n")
    assert ("last", True) == (last, 1_000 < len(cut) < 100_000)
    assert "first" not in processes.read_last_lines(log)


def test_a_program_that_fails_says_why() -> None:
    """The error carries its last lines, and how it ended; so does one that isn't there."""
    program = [sys.executable, "-c", "import sys; print('no such cluster', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(processes.ProcessError, match="python ended with status 3") as caught:
        processes.run("python", program, TIMEOUT_S)
    assert "no such cluster" == caught.value.details
    with pytest.raises(processes.ProcessError, match="can't start nothing"):
        processes.run("nothing", ["/nowhere/nothing"], TIMEOUT_S)


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """Its end isn't waited for for ever, and it isn't left running in the background."""
    note = tmp_path / "pid"
    with pytest.raises(processes.ProcessError, match="still running after 2 s"):
        processes.run("a shell", ["sh", "-c", f"echo $$ > '{note}'; exec sleep 60"], 2)
    assert not psutil.pid_exists(int(note.read_text()))
