"""Settings, limits, metrics and resources of a service."""

from __future__ import annotations

import logging
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from services.platform.limits import CONNECTIONS_MAX, Notice
from services.platform.resources import ResourceCollector
from services.platform.settings import Defaults, parse
from services.platform.usage import ProcessTree
from wirebench.scenario.model import CONCURRENCY_MAX

DEFAULTS = Defaults(transport="rest", port=5000, runtimes=("gunicorn-gthread", "uvicorn"), threads=8)


def test_defaults_are_loopback_and_the_admin_port_beside() -> None:
    """A service started by hand listens on this machine only."""
    settings = parse(DEFAULTS, [], {})
    assert ("127.0.0.1", 5000, 6000) == (settings.host, settings.port, settings.admin_port)
    assert ("gunicorn-gthread", 1, "memory") == (settings.runtime, settings.workers, str(settings.store))


def test_every_flag_is_an_environment_variable_too() -> None:
    """A flag wins over its variable."""
    environment = {"WIREBENCH_PORT": "7000", "WIREBENCH_WORKERS": "3", "WIREBENCH_RUNTIME": "uvicorn"}
    settings = parse(DEFAULTS, ["--workers", "2"], environment)
    assert (7000, 8000, 2, "uvicorn") == (settings.port, settings.admin_port, settings.workers, settings.runtime)


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        (["--port", "http"], {}, "'http' is not a whole number"),
        (["--port", "70000"], {}, "70000 is not between 0 and 65535"),
        (["--port", "65000"], {}, "--admin-port: 66000 is over 65535"),
        (["--admin-port", "5000"], {}, "must differ"),
        (["--resources-from", "host"], {}, "'host' is not one of process-tree, cgroup"),
        (["--runtime", "flask"], {}, "'flask' is not one of gunicorn-gthread, uvicorn"),
        (["--store", "redis"], {}, "--store"),
        (["--store-when-empty", "drop"], {}, "'drop' is not one of wait, fill"),
        (["--workers", "0"], {}, "0 is not between 1 and 64"),
        (["--read-timeout-s", "nan"], {}, "not between"),
        ([], {"WIREBENCH_WORKERS": "many"}, "'many' is not a whole number"),
    ],
)
def test_a_wrong_setting_ends_with_status_2(
    arguments: list[str], environment: dict[str, str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names the flag and what it takes."""
    with pytest.raises(SystemExit) as stop:
        parse(DEFAULTS, arguments, environment)
    assert 2 == stop.value.code
    assert expected in capsys.readouterr().err


RECORD = """
import threading
from services.platform.metrics import Recorder

recorder = Recorder("rest", 1)

def work():
    for _ in range(1000):
        recorder.started()
        recorder.finished("users.get", "ok", 0.0003, 10, 20)

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
recorder.started()
recorder.finished("users.get", "not_found", 20.0, 10, 5)
recorder.close()

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
registry = CollectorRegistry()
MultiProcessCollector(registry)
print(generate_latest(registry).decode())
"""


def test_metrics_count_every_request_of_every_thread(tmp_path: Path) -> None:
    """Counts, buckets, sums and sizes reach Prometheus' format whole, under the contract's names."""
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", RECORD], env=environment, capture_output=True, text=True, check=True)
    lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines() if " " in line and line[0] != "#")
    labels = 'operation="users.get",transport="rest"'
    assert "4000.0" == lines[f'wirebench_requests_total{{code="ok",{labels},worker="1"}}']
    assert "1.0" == lines[f'wirebench_requests_total{{code="not_found",{labels},worker="1"}}']
    assert "0.0" == lines[f'wirebench_request_duration_seconds_bucket{{le="0.0002",{labels}}}']
    assert "4000.0" == lines[f'wirebench_request_duration_seconds_bucket{{le="0.0005",{labels}}}']
    assert "4001.0" == lines[f'wirebench_request_duration_seconds_bucket{{le="+Inf",{labels}}}']
    assert 21.2 == pytest.approx(float(lines[f"wirebench_request_duration_seconds_sum{{{labels}}}"]))
    assert "40010.0" == lines[f"wirebench_request_bytes_sum{{{labels}}}"]
    assert "80005.0" == lines[f"wirebench_response_bytes_sum{{{labels}}}"]
    assert "0.0" == lines['wirebench_in_flight_requests{transport="rest"}']


def metrics(*arguments: str) -> dict[str, float]:
    """Return the values of what a service of this process would say that it uses."""
    collector = ResourceCollector(os.getpid(), parse(DEFAULTS, arguments, {}))
    return {sample.name: sample.value for metric in collector.collect() for sample in metric.samples}


def test_resources_are_those_of_the_process_tree() -> None:
    """A process has CPU time and memory, and so have its children."""
    alone = metrics()
    with subprocess.Popen(["sleep", "60"]) as child:
        assert [os.getpid(), child.pid] == ProcessTree(os.getpid()).pids
        together = metrics()
        child.kill()

    assert 0 < alone["wirebench_cpu_seconds_total"] < together["wirebench_cpu_seconds_total"]
    assert 1_000_000 < alone["wirebench_memory_bytes"]


def test_a_clock_that_can_not_be_read_is_no_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CPU time can't be read there is no such metric, and not one that never grows."""

    def clock_gettime(_clock: int) -> float:
        raise OSError

    monkeypatch.setattr(time, "clock_gettime", clock_gettime)

    assert "wirebench_cpu_seconds_total" not in metrics()
    assert "wirebench_build_info" in metrics()


def test_a_process_that_has_ended_makes_the_sum_unknown() -> None:
    """A sum that shrinks would look like a counter that began anew."""
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    tree = ProcessTree(os.getpid())
    tree.pids.append(gone)

    assert (None, None) == (tree.cpu_seconds(), tree.memory_bytes())


def test_as_many_connections_as_the_harness_opens() -> None:
    """No runtime leaves clients waiting that the harness may send, nor those that look on meanwhile."""
    assert CONCURRENCY_MAX < CONNECTIONS_MAX


def test_a_notice_is_given_once(caplog: pytest.LogCaptureFixture) -> None:
    """What happens a thousand times a second is logged once."""
    notice = Notice()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            notice.give("%d are open", 2)

    assert ["2 are open"] == [record.message for record in caplog.records]


def test_a_service_may_open_as_many_files_as_the_system_lets_it() -> None:
    """The soft limit that shells set doesn't limit the connections."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    program = "\n".join(
        [
            "import resource",
            f"resource.setrlimit(resource.RLIMIT_NOFILE, (256, {most}))",
            "from services.platform.limits import allow_open_files",
            "allow_open_files()",
            "print(*resource.getrlimit(resource.RLIMIT_NOFILE))",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert f"{most} {most}" == done.stdout.strip()
