"""The program of a load pod, `python -m wirebench.run.load_pod.main`: carries out its task, and prints the answer.

It takes no arguments. Its place comes from the environment that Kubernetes sets.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import sys
import time
from pathlib import Path

from wirebench.drivers import Job
from wirebench.drivers.driver import MetricsPush
from wirebench.errors import WirebenchError
from wirebench.measure.usage import read_pod
from wirebench.model.address import parse_address
from wirebench.run.load_pod.task import AnyTask, JobTask, MeasureTask, SendTask, encode_answer, read_task
from wirebench.system import cgroup
from wirebench.system.signals import Interrupted, handle_interrupts
from wirebench.targets.cluster.load_pods import LOAD_CORES
from wirebench.targets.endpoint import Containers, Replica

TASK = Path("/etc/wirebench/load.json")
OUTPUT = Path("/out")
#: A name server may remember for half a minute who stood behind a name.
_NAME_TIMEOUT_S = 60.0
_NAME_POLL_S = 0.2
#: How often, and how long in between, a pod's containers are looked at until ours is known.
_ATTEMPTS = 20
_RETRY_PAUSE_S = 0.1


def main() -> None:
    """Carry out the task; exit status 0 if the answer is printed."""
    try:
        with handle_interrupts():
            print(encode_answer(_take(read_task(TASK)).run()), end="", flush=True)  # noqa: T201 - its output
    except Interrupted:
        sys.exit(130)
    except WirebenchError as error:
        details = f"{error.details}\n" if error.details else ""
        sys.exit(f"{details}load: {error.message}\n  next: {error.hint}")


def _take(task: AnyTask) -> AnyTask:
    """Return a task as this pod carries it out: with its own files, labels and containers."""
    # With more threads than cores, drivers would meet the pod's limit in bursts.
    os.environ["GOMAXPROCS"] = str(max(1, int(LOAD_CORES)))
    if isinstance(task, JobTask):
        task = task.model_copy(update={"job": make_job(task)})
    if isinstance(task, MeasureTask):
        _wait_for_name(task.job)
        task = task.model_copy(update={"replicas": _find_replicas(task)})
    return task


def make_job(task: MeasureTask | SendTask) -> Job:
    """Return the job of a task with this pod's files, and the labels of services' own metrics."""
    job = dataclasses.replace(task.job, output=OUTPUT / "histograms.json", log=OUTPUT / "driver.log")
    if task.files:
        application, descriptors = task.files.write(OUTPUT)
        job = dataclasses.replace(job, application=application, descriptors=descriptors)
    if isinstance(task, MeasureTask):
        job = dataclasses.replace(job, load=job.load.model_copy(update={"recording": task.recording}))
    if job.metrics_push:
        labels = {name: os.environ[f"WIREBENCH_{name.upper()}"] for name in ("namespace", "pod", "node")}
        push = MetricsPush(job.metrics_push.url, {**labels, "transport": job.cell.transport})
        job = dataclasses.replace(job, metrics_push=push)
    return job


def _find_replicas(task: MeasureTask) -> tuple[Replica, ...]:
    """Return the replicas to look at; the containers of this pod are known only once it runs."""
    url, pod_uid = task.agents.get(os.environ["WIREBENCH_NODE"]), os.environ["WIREBENCH_POD_UID"]
    if url is None:
        return task.replicas
    beside = find_containers_beside(url, pod_uid)
    containers = Containers(url, pod_uid, beside) if beside else None
    return tuple(dataclasses.replace(each, containers=containers) for each in task.replicas)


def find_containers_beside(agent_url: str, pod_uid: str) -> tuple[str, ...]:
    """Return the ids of the containers that run in this process's pod, without its own; empty if they can't be told.

    A container can't always see its own id. But it sees its own CPU time, and no other container has the same.
    """
    for _ in range(_ATTEMPTS):
        before, there, after = read_own_cpu_s(), read_pod(agent_url, pod_uid), read_own_cpu_s()
        if before is not None and after is not None:
            own = [each for each, used in there.items() if used.cpu_s is not None and before <= used.cpu_s <= after]
            if len(own) == 1:
                return tuple(sorted(there.keys() - own))
        time.sleep(_RETRY_PAUSE_S)
    return ()


def read_own_cpu_s() -> float | None:
    known = map(cgroup.read_cpu_s, cgroup.list_folders("cpuacct"))
    return next((value for value in known if value is not None), None)


def _wait_for_name(job: Job) -> None:
    """Wait until the name that is balanced over stands for the replicas that there are, and for no others."""
    if not job.replicas or job.address in job.replicas:
        return
    host, port = parse_address(job.address)
    # Pods have names where they speak TLS, and else addresses, which stand for themselves.
    expected = set().union(*(_resolve(*parse_address(each)) for each in job.replicas))
    deadline = time.monotonic() + _NAME_TIMEOUT_S
    while (found := _resolve(host, port)) != expected:
        if time.monotonic() > deadline:
            raise WirebenchError(
                f"{host} stands for {', '.join(sorted(found)) or 'nothing'} and not for {', '.join(sorted(expected))}",
                "check that cluster DNS works",
            )
        time.sleep(_NAME_POLL_S)


def _resolve(host: str, port: int) -> set[str]:
    try:
        return {str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError:
        return set()


if __name__ == "__main__":
    main()
