"""Load pods: tasks and answers, acting together, and sharing a load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.histogram_files import make_histogram_file
from tests.support.jobs import JOB
from wirebench.drivers.driver import MetricsPush
from wirebench.measure.calibration import Probe
from wirebench.measure.observe import Observation
from wirebench.model.cell import ServiceSpec
from wirebench.model.recording import Recording
from wirebench.run.load_pod import main
from wirebench.run.load_pod.task import AnyTask, CalibrateTask, MeasureTask, decode_answer, encode_answer, read_task
from wirebench.run.load_source import make_pod_job
from wirebench.targets.endpoint import Containers, Endpoint, Replica

MEASURE = MeasureTask(
    job=JOB,
    replicas=(Replica("a", "http://10.0.0.1:6000", containers=Containers("http://10.0.1.1:9110", "uid", ("c",))),),
    cores=1.0,
)
CALIBRATE = CalibrateTask(
    probes=(Probe(driver="k6", transport="rest", concurrency=64, server_ms=0.5, rate_asked_per_s=500),)
)


REPLAY = MeasureTask(job=JOB, replicas=(), recording=Recording((0, 1_000_000_000, 2_500_000_000)), cores=1.0)


@pytest.mark.parametrize("task", [MEASURE, CALIBRATE, REPLAY])
def test_a_task_is_read_as_it_was_written(tmp_path: Path, task: AnyTask) -> None:
    """What the harness asks for is what the pod does."""
    path = tmp_path / "load.json"
    path.write_text(task.model_dump_json(), encoding="utf-8")
    assert task == read_task(path)


def test_a_task_holds_nothing_of_the_machine_that_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither paths nor names of the machine are put into the cluster; the pod puts its own in their place."""
    push = MetricsPush("http://10.0.0.9:9090", {"node": "here"})
    output, log = tmp_path / "histograms.json", tmp_path / "driver.log"
    local = replace(JOB, output=output, log=log, cores=frozenset({1}), metrics_push=push)
    endpoint = Endpoint(ServiceSpec(transport="rest", store=None), "10.0.0.1:5000", ())
    task = MeasureTask(job=make_pod_job(local, endpoint), replicas=(), cores=1.0).model_dump_json()
    assert push.url in task
    assert str(tmp_path) not in task
    assert "here" not in task
    for name in ("NAMESPACE", "POD", "NODE"):
        monkeypatch.setenv(f"WIREBENCH_{name}", f"a {name}")
    job = main.make_job(MeasureTask.model_validate_json(task))
    assert (main.OUTPUT / "histograms.json", None) == (job.output, job.cores)
    labels = {"namespace": "a NAMESPACE", "pod": "a POD", "node": "a NODE", "transport": JOB.cell.transport}
    assert MetricsPush(push.url, labels) == job.metrics_push


def test_an_answer_is_found_among_what_a_pod_printed() -> None:
    """Histograms are longer than a line of a log may be; other lines are passed over."""
    observation = Observation(
        file=make_histogram_file(100, list(range(1, 5000)), (1, 2)),
        window_s=2.0,
        generator_cpu_s=1.0,
        generator_share=0.5,
        server_requests={"a": {"0": 5}},
    )
    printed = f"a warning\n{encode_answer(observation)}another line\n"
    assert max(map(len, printed.splitlines())) < 16_000
    assert observation == decode_answer(MEASURE, printed)
