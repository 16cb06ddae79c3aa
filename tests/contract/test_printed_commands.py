"""Commands of README and docs as they are printed, in a copy of the project whose shipped scenarios are short."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.printed_commands import COMMANDS, find_rule
from tests.support.runs import RUN_TIMEOUT_S, all_cores, needs_tools
from tests.support.waiting import TIMEOUT_S, run_program
from wirebench.system.paths import ROOT

pytestmark = [all_cores, pytest.mark.slow, needs_tools]

PORTS = (5000, 8000, 8400, 9000, 50051)
#: Files that readers bring themselves.
SCHEMAS = {
    "shop.proto": """\
syntax = "proto3";
package shop;
service Catalog { rpc GetItem(Item) returns (Item); }
message Item { int32 id = 1; }
""",
    "openapi.yaml": """\
openapi: 3.0.3
info: {title: Shop, version: '1'}
paths:
  "/items/{id}":
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: it}}
""",
    "protos/none.proto": "",
}


@pytest.fixture(autouse=True)
def _ports_are_free() -> None:
    """Skip where other programs have the ports that commands print."""
    for port in PORTS:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                pytest.skip(f"another program listens on {port}")


def shorten(text: str) -> str:
    """Return a scenario with one short block."""
    text = re.sub(r"(?m)^blocks: \d+", "blocks: 1", text)
    return re.sub(r"(warmup_s|window_s): [\d.]+", lambda found: f"{found[1]}: 0.5", text)


class Project:
    """A copy of the project, with the tools of this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = run_program(["git", "ls-files"], cwd=ROOT, check=True).stdout
        for name in listed.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / "build").mkdir()
        for name in (".venv", ".tools", "build/locks"):
            (folder / name).symlink_to(ROOT / name)
        for path in (folder / "scenarios/quick.yaml", folder / "scenarios/replay.yaml"):
            path.write_text(shorten(path.read_text("utf-8")), "utf-8")
        for name, text in SCHEMAS.items():
            (folder / "schemas" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "schemas" / name).write_text(text, "utf-8")
        (folder / "schemas/.venv").symlink_to(ROOT / ".venv")
        readme = (ROOT / "README.md").read_text("utf-8")
        mine = re.findall(r"(?ms)^```yaml\n(question: .+?)^```", readme)[0]
        files = {
            "mine.yaml": shorten(mine),
            "topic.json": json.dumps([number / 5 for number in range(40)]),
        }
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARGS")},
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(ROOT / ".tools/bin"), os.environ["PATH"]]),
            "WIREBENCH_ROOT": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }

    def start(self, command: str, folder: Path | None = None) -> subprocess.Popen[str]:
        """Start a command in a shell, in a session of its own."""
        return subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", command], cwd=folder or self.folder, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def run(self, command: str, folder: Path | None = None) -> tuple[int, str]:
        """Run a command to its end; return its exit status and what it printed."""
        process = self.start(command, folder)
        try:
            printed, _ = process.communicate(timeout=RUN_TIMEOUT_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, printed

    @contextlib.contextmanager
    def serving(self, command: str, until: str) -> Iterator[None]:
        """Run a command that serves: wait for its line, and end it by SIGINT, which is no failure of it."""
        process = self.start(command)
        assert process.stdout is not None
        printed = ""
        try:
            while not re.search(until, printed):
                line = process.stdout.readline()
                assert line, f"{command} ended: {printed}"
                printed += line
            yield
        finally:
            os.killpg(process.pid, signal.SIGINT)
            try:
                rest, _ = process.communicate(timeout=TIMEOUT_S)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        assert process.returncode in {0, 2, 130, -signal.SIGINT}, printed + rest  # make says 2


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Give a project with two runs, by the names that commands print for a reader's own; it may install nothing."""
    run_program(["make", "setup"], cwd=ROOT, check=True)
    installed = (ROOT / ".venv/.installed").stat().st_mtime_ns
    made = Project(tmp_path_factory.mktemp("project"))
    for _ in range(2):
        status, printed = made.run("make bench ARGS='--driver wireload'")
        assert 0 == status, printed
    base, head = sorted((made.folder / "results").glob("*-quick"))
    for name, run in {"BASE": base, "RUN": base, "HEAD": head}.items():
        (made.folder / name).symlink_to(run)
    yield made
    assert installed == (ROOT / ".venv/.installed").stat().st_mtime_ns, "a command installed the copy for all tests"


@pytest.mark.parametrize("command", [each for each in COMMANDS if find_rule(each)])
def test_a_printed_command_does_what_it_says(command: str, project: Project, tmp_path: Path) -> None:
    """It ends with success; one that serves says that it is ready, and ends when asked."""
    rule = find_rule(command)
    assert rule
    if re.search(r"\bnc\b", command) and shutil.which("nc") is None:
        pytest.skip("nc is not installed")
    with contextlib.ExitStack() as running:
        for each in (*rule.needs, *[command] * bool(rule.until)):
            served = find_rule(each)
            assert served
            running.enter_context(project.serving(each, served.until))
        if not rule.until:
            folder = project.folder
            if " init " in command:
                folder = shutil.copytree(folder / "schemas", tmp_path / "schemas", symlinks=True)
            status, printed = project.run(command, folder)
            assert status in rule.statuses, printed
