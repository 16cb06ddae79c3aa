"""Runs for the results server of a cluster: what kubectl is given, and what is said where that fails."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from wirebench.cli.options import KubectlOptions
from wirebench.cli.send import send, send_when_over
from wirebench.errors import UsageError, WirebenchError
from wirebench.report import write_report
from wirebench.results.bundle.cluster import ResultsServer
from wirebench.results.bundle.write import write_bundle
from wirebench.results.runs import Run
from wirebench.system.signals import Interrupted
from wirebench.targets.kubernetes import Access, kubectl

STAGING = Access("staging", None)
#: Answers as the next lines of a file say: status, and what it prints to stdout and stderr. Keeps what it is given.
STAND_IN = """\
#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__).parent
answers = json.loads((here / "answers").read_text())
status, printed, errors = answers.pop(0)
(here / "answers").write_text(json.dumps(answers))
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if "exec" in sys.argv:
    (here / "received").write_bytes(sys.stdin.buffer.read())
sys.stdout.write(printed)
sys.stderr.write(errors)
sys.exit(status)
"""
SERVER = {"metadata": {"namespace": "monitoring", "name": "observability-results"}}
FOUND = (0, json.dumps({"items": [SERVER]}), "")
NONE_FOUND = (0, json.dumps({"items": []}), "")
TAKEN = (0, "results/20261121T101500Z-quick\n", "")


@dataclass(frozen=True)
class StandIn:
    """A kubectl that isn't one."""

    folder: Path

    def answer(self, *answers: tuple[int, str, str]) -> None:
        """Say what it answers to the next calls."""
        (self.folder / "answers").write_text(json.dumps(answers))

    def calls(self) -> list[list[str]]:
        """Return the arguments of its calls so far."""
        path = self.folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def received(self) -> bytes:
        """Return what the last program in a container had as its input."""
        return (self.folder / "received").read_bytes()


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Put the stand-in where kubectl is looked for."""
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "helm").touch()
    (folder / "kubectl").write_text(STAND_IN.format(python=sys.executable))
    (folder / "kubectl").chmod(0o755)
    monkeypatch.setattr(kubectl, "TOOLS", folder)
    monkeypatch.setattr(kubectl, "_RETRY_PAUSE_S", 0.01)
    return StandIn(folder)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run of one record."""
    return RunBuilder(cells=[cell("socket")], blocks=1, samples=100).write(tmp_path / "results")


def test_a_run_goes_to_the_server_of_its_cluster(
    tmp_path: Path, stand_in: StandIn, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its bundle is the input of `wirebench import` in the server's container; a run says that it was sent."""
    stand_in.answer(FOUND, TAKEN)
    with send_when_over(run.folder, STAGING):
        pass
    find, put = stand_in.calls()
    assert ["--context", "staging", "get", "deployments", "--all-namespaces"] == find[:5]
    where = "--namespace monitoring deployment/observability-results --container serve"
    assert put == shlex.split(f"--context staging exec --stdin {where} -- wirebench import -")
    assert stand_in.received() == write_bundle(run, write_report, tmp_path / "bundle").path.read_bytes()
    said = "sent to the results of the context staging (monitoring/observability-results)\n"
    assert ("", said) == capsys.readouterr()


def test_what_was_broken_off_is_sent_again_from_its_beginning(
    tmp_path: Path, stand_in: StandIn, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """An API server that goes away for a moment costs nothing; `wirebench send` takes a run by its name."""
    stand_in.answer(FOUND, (1, "", "error: unexpected EOF\n"), TAKEN)
    send(run.info.id, kubectl=KubectlOptions("staging"), out=run.folder.parent)
    assert f"{run.info.id} is in the results of the context staging" in capsys.readouterr().out
    assert 3 == len(stand_in.calls())
    assert stand_in.received() == write_bundle(run, write_report, tmp_path / "bundle").path.read_bytes()


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (
            [FOUND, (2, "", "error: -: its schema is newer\n  next: take a later one\ncommand terminated with …\n")],
            "-: its schema is newer",
        ),
        ([FOUND, (1, "", "\nError from server: no pods\n")], "Error from server: no pods"),
        ([(1, "", 'deployments.apps is forbidden: User "x" cannot list\n')], "deployments.apps is forbidden"),
    ],
    ids=["rejected there", "no pod", "not allowed"],
)
def test_a_run_that_can_not_be_sent_is_what_it_is(
    answers: list[tuple[int, str, str]], reason: str, stand_in: StandIn, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says why, and the command that sends it; an interrupted run stays interrupted."""
    stand_in.answer(*answers)
    with pytest.raises(Interrupted), send_when_over(run.folder, STAGING):
        raise Interrupted
    warning = capsys.readouterr().err
    assert f"warning: the run isn't in the cluster's results: {reason}" in warning
    assert f"; send it by: wirebench send {run.folder} --context staging\n" in warning
    assert 1 == warning.count("\n")


def test_a_cluster_without_a_server_gets_nothing(
    stand_in: StandIn, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run doesn't mention it; who asks for it is told how to have one."""
    stand_in.answer(NONE_FOUND, NONE_FOUND)
    with send_when_over(run.folder, STAGING):
        pass
    assert ("", "") == capsys.readouterr()
    with pytest.raises(WirebenchError, match="has no results server") as caught:
        send(run.info.id, kubectl=KubectlOptions("staging"), out=run.folder.parent)
    assert "RESULTS=yes" in caught.value.hint


def test_nothing_is_sent_where_there_is_nothing(tmp_path: Path, stand_in: StandIn, run: Run) -> None:
    """No server is looked for if the run never began, was on no cluster or can't be resumed; no record, no bundle."""
    with send_when_over(tmp_path / "never", STAGING), send_when_over(run.folder, None):
        pass
    assert [] == stand_in.calls()
    with pytest.raises(UsageError), send_when_over(run.folder, STAGING):
        raise UsageError("it was measured on another cluster")
    assert [] == stand_in.calls()
    for record in (run.folder / "records").iterdir():
        record.unlink()
    stand_in.answer(FOUND)
    with send_when_over(run.folder, STAGING):
        pass
    assert 0 == sum("exec" in call for call in stand_in.calls())


def test_a_run_that_is_damaged_is_not_sent(stand_in: StandIn, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with it is said."""
    (run.folder / "run.json").write_text("{")
    stand_in.answer(FOUND)
    with send_when_over(run.folder, STAGING):
        pass
    warning = capsys.readouterr().err
    assert "warning: the run isn't in the cluster's results: " in warning
    assert "run.json: " in warning
    assert not [call for call in stand_in.calls() if "exec" in call]


def test_who_interrupts_the_sending_is_told_how_to_go_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It doesn't wait: the run is on disk."""

    def interrupt(_: Access) -> None:
        raise Interrupted

    monkeypatch.setattr(ResultsServer, "find", interrupt)
    with pytest.raises(Interrupted), send_when_over(run.folder, STAGING):
        pass
    again = f"wirebench send {run.folder} --context staging"
    assert f"the run isn't in the cluster's results; send it by: {again}" in capsys.readouterr().err


def test_no_cluster_no_send(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no cluster of ours, one has to be named."""
    monkeypatch.setattr("wirebench.targets.kubernetes.kubectl.KUBECONFIG", run.folder / "none")
    with pytest.raises(UsageError, match="no cluster of ours"):
        send(run.info.id, kubectl=KubectlOptions(), out=run.folder.parent)
