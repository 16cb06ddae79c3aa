"""`wirebench-load`: carries out the task of a load pod, and prints the answer.

It takes no arguments: where it is and which of several it is, Kubernetes tells it by the environment and the host name.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import sys
import time
from pathlib import Path

from pydantic import BaseModel

from wirebench.clients.address import parse_address
from wirebench.drivers import Job
from wirebench.drivers.live import Live
from wirebench.errors import WirebenchError
from wirebench.generator.task import (
    Calibrated,
    CalibrateTask,
    MeasureTask,
    Task,
    Verified,
    VerifyTask,
    encode_answer,
    read_task,
)
from wirebench.generator.together import together
from wirebench.interrupts import Interrupted, interruptible
from wirebench.measure import observe
from wirebench.measure.calibrate import measure_coarsely
from wirebench.measure.calibration import Calibration, Conditions
from wirebench.measure.conformance import check_services
from wirebench.measure.containers import find_containers_beside
from wirebench.targets import divide_cores
from wirebench.targets.target import Containers, Replica

TASK = Path("/etc/wirebench/load.json")
OUTPUT = Path("/out")
#: A name server may remember for half a minute who stood behind a name.
_NAME_TIMEOUT_S = 60.0
_NAME_POLL_S = 0.2


def main() -> None:
    """Carry out the task; exit status 0 if the answer is printed."""
    try:
        with interruptible():
            print(encode_answer(_carry_out(read_task(TASK))), end="", flush=True)  # noqa: T201 - its output
    except Interrupted:
        sys.exit(130)
    except WirebenchError as error:
        details = f"{error.details}\n" if error.details else ""
        sys.exit(f"{details}wirebench-load: {error.message}\n  next: {error.hint}")


def _carry_out(task: Task) -> BaseModel:
    match task:
        case MeasureTask():
            return _measure(task)
        case VerifyTask():
            outcome = check_services(task.services, task.seed)
            return Verified(requests=outcome.requests, mismatches=outcome.mismatches)
        case CalibrateTask():
            return _calibrate(task)


def _calibrate(task: CalibrateTask) -> Calibrated:
    _limit_threads(task.cores)
    cores = divide_cores()
    calibration = Calibration(conditions=Conditions.of(cores))
    points, problems = measure_coarsely(task.probes, cores)
    return Calibrated(calibration=calibration.with_points(points), problems=tuple(problems))


def _measure(task: MeasureTask) -> BaseModel:
    index, count = int(os.environ["JOB_COMPLETION_INDEX"]), task.load.generators
    # The host name of pod 2 of the Job `load` is load-2, and load-2.load is how others find it.
    job_name = socket.gethostname().rpartition("-")[0]
    live = _live(task)
    with together(index, count, f"{job_name}-0.{job_name}") as acting:
        _wait_for_name(task)
        job = Job(
            cell=task.cell,
            load=task.load.replaying(task.recording),
            address=task.address,
            seed=task.seed,
            id_base=task.id_base,
            output=OUTPUT / "histograms.json",
            log=OUTPUT / "driver.log",
            cores=None,
            replicas=task.addresses,
            generator=(index, count),
            tls=task.tls,
            live=live,
        )
        _limit_threads(task.cores)
        observed = observe(job, _replicas(task) if index == 0 else (), task.cores, acting)
    return observed.model_copy(update={"live_problem": live.problem}) if live else observed


def _limit_threads(cores: float) -> None:
    """Have drivers run on as many threads as they have cores: with more they would meet the pod's limit in bursts."""
    os.environ["GOMAXPROCS"] = str(max(1, int(cores)))


def _replicas(task: MeasureTask) -> tuple[Replica, ...]:
    """Return the replicas to look at; of one in this pod, nobody has known the containers before it ran."""
    url, pod_uid = task.agents.get(os.environ["WIREBENCH_NODE"]), os.environ["WIREBENCH_POD_UID"]
    if url is None:
        return task.replicas
    beside = find_containers_beside(url, pod_uid)
    containers = Containers(url, pod_uid, beside) if beside else None
    return tuple(dataclasses.replace(each, containers=containers) for each in task.replicas)


def _live(task: MeasureTask) -> Live | None:
    """Return what is told how the load goes; the labels are those that the services' own metrics have."""
    if task.prometheus is None:
        return None
    own = {name: os.environ[f"WIREBENCH_{name.upper()}"] for name in ("namespace", "pod", "node")}
    return Live(task.prometheus, {**own, "transport": task.cell.transport})


def _wait_for_name(task: MeasureTask) -> None:
    """Wait until the name that is balanced over stands for the replicas that there are, and for no others."""
    if not task.addresses:
        return
    host, port = parse_address(task.address)
    # Pods have names where they speak TLS, and else addresses, which stand for themselves.
    expected = set().union(*(_resolve(*parse_address(each)) for each in task.addresses))
    deadline = time.monotonic() + _NAME_TIMEOUT_S
    while (found := _resolve(host, port)) != expected:
        if time.monotonic() > deadline:
            raise WirebenchError(
                f"{host} stands for {', '.join(sorted(found)) or 'nothing'} and not for {', '.join(sorted(expected))}",
                "see whether the cluster's DNS is well",
            )
        time.sleep(_NAME_POLL_S)


def _resolve(host: str, port: int) -> set[str]:
    try:
        return {str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError:
        return set()
