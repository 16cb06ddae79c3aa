"""Calibrating in a cluster: what load pods are asked for, what is kept of it, and what runs then look up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests.support.command_line import reject, wirebench
from tests.support.scenario_text import read
from wirebench.cli import doctor
from wirebench.errors import WirebenchError
from wirebench.measure.calibrate import Probe
from wirebench.measure.calibration import Errors, Fingerprint, Point, get_now
from wirebench.model.scenario import Load
from wirebench.plan.plan import make_plan
from wirebench.results.runs import RunWriter
from wirebench.run.calibrator import Calibrator
from wirebench.run.load_pod import main
from wirebench.run.load_pod.task import CalibrateTask, encode_answer, read_task
from wirebench.run.target_options import TargetOptions
from wirebench.system.signals import Interrupted
from wirebench.targets import Target
from wirebench.targets.target import Endpoint, Task

SCENARIO = """\
question: What are the figures of a load pod worth?
factors: {transport: rest, driver: DRIVER, concurrency: 4}
load: {warmup_s: 0.5, window_s: 1, generators: GENERATORS}
blocks: 1
"""
ERRORS = Errors(p50_ms=(0.1, 0.2), p99_ms=(0.3, 0.4))


def make_point(probe: Probe, *, coarse: bool) -> Point:
    """Return what a pod measures under a load."""
    return Point(
        driver=probe.driver,
        version=f"{probe.driver} 1",
        transport=probe.transport,
        concurrency=probe.concurrency,
        rate_asked_per_s=None,
        server_ms=probe.server_ms,
        rate_per_s=10_000,
        service=ERRORS,
        response=None,
        coarse=coarse,
        measured_at=get_now(),
    )


class LoadPods:
    """Carries out the tasks of load pods in this process: a driver has the same error under every load."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "load.json"
        self.tasks: list[CalibrateTask] = []
        self.expected_s: list[float] = []
        self.failure: BaseException | None = None

    def count_cores(self, load: Load) -> float:
        """Return the share of one core."""
        return 1 / load.generators

    def measure(self, *_: Any) -> tuple[str, ...]:  # noqa: ANN401
        """Fail: no service is loaded."""
        raise NotImplementedError

    def run_once(
        self, task: Task, cores: float = 1.0, endpoints: Sequence[Endpoint] = (), expected_s: float = 0.0
    ) -> str:
        """Carry out a task."""
        self._file.write_text(json.dumps(task), encoding="utf-8")
        asked = read_task(self._file)
        assert isinstance(asked, CalibrateTask)
        assert (2 * asked.cores, ()) == (cores, endpoints)
        self.tasks.append(asked)
        self.expected_s.append(expected_s)
        if self.failure and asked.driver:
            raise self.failure
        return encode_answer(main._carry_out(asked))


class Cluster(Target):
    """A cluster that has load pods alone."""

    name = "kubernetes"

    def __init__(self, folder: Path) -> None:
        self.load_pods: LoadPods = LoadPods(folder)
        self.calls: list[str] = []

    def prepare(self, services: Sequence[object]) -> None:
        """Note it."""
        assert not services
        self.calls.append("prepare")

    def start(self, services: Sequence[object]) -> dict[Any, Endpoint]:
        """Note it."""
        assert not services
        self.calls.append("start")
        return {}

    def clean_up(self) -> None:
        """Note it."""
        self.calls.append("clean up")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Return a cluster for `wirebench calibrate`, whose calibrations are kept in a folder of the test."""
    monkeypatch.setenv("WIREBENCH_CALIBRATION", str(tmp_path / "state"))
    monkeypatch.setenv("GOMAXPROCS", "1")  # which load pods set
    here = {"cpu": "Some CPU, 2 cores", "kernel": "Linux 6.1", "cores": "server on core 0", "truth": "0123456789ab"}
    monkeypatch.setattr(Fingerprint, "of", lambda _cores, cpu_limit=None: Fingerprint(cpu_limit=cpu_limit, **here))
    monkeypatch.setattr(main, "identify_version", lambda driver: f"{driver} 1")
    loads = [(1, 0), (16, 0), (16, 10)]
    monkeypatch.setattr(
        main,
        "measure_loads",
        lambda driver, transport, _: [make_point(Probe(driver, transport, *each), coarse=False) for each in loads],
    )
    monkeypatch.setattr(
        main, "measure_coarsely", lambda probes, _: ([make_point(each, coarse=True) for each in probes], [])
    )
    made = Cluster(tmp_path)
    monkeypatch.setattr(TargetOptions, "make_load_target", lambda *_: made)
    return made


def calibrate_for_run(cluster: Cluster, folder: Path, driver: str = "wireload", generators: int = 1) -> Calibrator:
    """Return the calibrator of a run that has used it, which warns of nothing."""
    text = SCENARIO.replace("DRIVER", driver).replace("GENERATORS", str(generators))
    plan = make_plan(read(folder, text), seed=1, target="kubernetes")
    cluster.load_pods.tasks.clear()
    calibrator = Calibrator(plan, cluster, MagicMock(RunWriter), MagicMock())
    calibrator.calibrate()
    calibrator.writer.note.assert_not_called()  # type: ignore[attr-defined]
    return calibrator


def test_a_run_looks_up_what_was_calibrated_in_load_pods(cluster: Cluster, tmp_path: Path) -> None:
    """Each driver has a pod a transport, nothing else is asked of the cluster meanwhile, and a run measures nothing."""
    status, rows, stderr = wirebench("calibrate", "--target", "kubernetes", "--driver", "wireload", "--driver", "ghz")
    assert 0 == status, stderr
    wireload = [("wireload", transport) for transport in ("rest", "grpc", "socket")]
    assert [None, *wireload, ("ghz", "grpc")] == [task.driver for task in cluster.load_pods.tasks]
    assert 0 == cluster.load_pods.expected_s[0]
    assert min(cluster.load_pods.expected_s[1:]) > 10
    assert ["prepare", "start", "clean up"] == cluster.calls
    assert 1 + 4 * 3 == len(rows.splitlines())
    assert "in load pods with a CPU limit of 1 on Some CPU, 2 cores" in stderr
    assert "4/4: ghz grpc" in stderr
    (path,) = (tmp_path / "state").iterdir()
    assert "load-pod-1-some-cpu-2-cores.json" == path.name
    assert f"{path} is written" in stderr

    found = calibrate_for_run(cluster, tmp_path)
    assert [()] == [task.probes for task in cluster.load_pods.tasks]
    assert found.calibration
    (instrument,) = {found.calibration.look_up(cell, 1_000) for cell in found.plan.cells}
    assert instrument
    assert ((0.1, 0.2), False) == (instrument.p50_error_ms, instrument.coarse)


@pytest.mark.parametrize(("driver", "generators"), [("k6", 1), ("wireload", 2)])
def test_a_run_measures_what_was_not_calibrated_for_itself(
    cluster: Cluster, tmp_path: Path, driver: str, generators: int
) -> None:
    """Another driver, or half of the CPU limit; it is coarse, and not kept."""
    wirebench("calibrate", "--target", "kubernetes", "--driver", "wireload")
    kept = [path.read_bytes() for path in (tmp_path / "state").iterdir()]
    found = calibrate_for_run(cluster, tmp_path, driver, generators)
    assert [False, True] == [bool(task.probes) for task in cluster.load_pods.tasks]
    assert found.calibration
    (instrument,) = {found.calibration.look_up(cell, 1_000, generators) for cell in found.plan.cells}
    assert instrument
    assert instrument.coarse
    assert kept == [path.read_bytes() for path in (tmp_path / "state").iterdir()]


def test_another_build_of_a_driver_in_the_image_is_stale(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pod says which one it has; both commands say so."""
    wirebench("calibrate", "--target", "kubernetes", "--driver", "wireload")
    monkeypatch.setattr(main, "identify_version", lambda driver: f"{driver} 2")
    found = calibrate_for_run(cluster, tmp_path)
    (step,) = found.progress.step.call_args[0]  # type: ignore[attr-defined]
    stale = "the calibration is stale: wireload changed"
    assert step.startswith(f"in a load pod: {stale}; calibrating wireload, about ")
    assert stale in wirebench("calibrate", "--target", "kubernetes", "--driver", "wireload")[2]


@pytest.mark.parametrize(
    ("failure", "status", "said"),
    [
        (Interrupted("SIGINT"), 130, "nothing was kept"),
        (WirebenchError("the pod load-2 has gone", "see its node"), 1, "not calibrated: ghz grpc (the pod load-2 has"),
    ],
)
def test_nothing_is_left_in_the_cluster(
    cluster: Cluster, tmp_path: Path, failure: BaseException, status: int, said: str
) -> None:
    """Nor kept, however it ends."""
    cluster.load_pods.failure = failure
    ended, _, stderr = wirebench("calibrate", "--target", "kubernetes", "--driver", "ghz")
    assert (status, "clean up") == (ended, cluster.calls[-1])
    assert said in stderr
    assert [] == list((tmp_path / "state").iterdir())


@pytest.mark.usefixtures("cluster")
def test_doctor_shows_what_is_known_of_load_pods(tmp_path: Path) -> None:
    """A file that can't be read is passed over."""
    wirebench("calibrate", "--target", "kubernetes", "--driver", "ghz")
    (tmp_path / "state" / "load-pod-2-broken.json").write_text("{")
    (finding,) = doctor._list_load_pod_calibrations()
    assert finding.text.startswith("load pods with a CPU limit of 1 on Some CPU, 2 cores: ghz grpc: up to 10,000 ")
    assert finding.good


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "moon"], "no target 'moon'"),
        (["--target", "external"], "--target external: its drivers run on this machine"),
        (["--context", "kind-wirebench"], "--context, --kubeconfig and --values are for clusters"),
        (["--target", "kubernetes", "--driver", "oha"], "oha is not in the image of the load pods"),
        (["--target", "kubernetes", "--driver", "nothing"], "no driver 'nothing'"),
        (["--target", "kubernetes", "--driver", "ghz", "--transport", "rest"], "none of these drivers speaks"),
        (["--target", "kubernetes", "--kubeconfig", "/nowhere", "--context", "a"], "/nowhere: no such file"),
    ],
)
def test_wrong_usage_is_rejected_before_anything_starts(arguments: list[str], said: str) -> None:
    """In one line with a next step, and exit status 2."""
    error, _ = reject("calibrate", *arguments).splitlines()
    assert said in error
