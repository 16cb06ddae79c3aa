"""What load pods read of containers: those of a replica, and those beside them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cgroups import CGROUPFS, PAUSE, SERVICE, UID, write_v2
from tests.support.http_servers import serving
from wirebench.measure.usage import Usage, read_containers
from wirebench.run.load_pod import main
from wirebench.run.load_pod.main import find_containers_beside
from wirebench.system.cgroup_agent import make_server
from wirebench.targets.endpoint import Containers

LOAD = "c" * 64


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    """Return the cgroup of a pod with a service, a load generator, and the container that holds its network."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    folder = tmp_path / CGROUPFS[0]
    for name, cpu_us in ((SERVICE, 1_500_000), (LOAD, 2_000_000), (PAUSE, 20_000)):
        write_v2(folder / name, cpu_us)
    return folder


@pytest.fixture
def url(pod: Path) -> Iterator[str]:
    """Return the address of the agent of the pod's node."""
    with serving(make_server(pod.parents[1], "127.0.0.1", 0)) as address:
        yield f"http://{address}"


@pytest.mark.parametrize(
    ("ids", "expected"), [((SERVICE,), (1.5, 3, 61_000_000)), ((SERVICE, PAUSE), (1.52, 6, 122_000_000))]
)
def test_containers_are_read_and_added_up(url: str, ids: tuple[str, ...], expected: tuple[float, int, int]) -> None:
    """CPU time, throttled periods and memory."""
    used = read_containers(Containers(url, UID, ids))
    assert isinstance(used, Usage)
    assert expected == (used.cpu_s, used.throttled_periods, used.memory_bytes)


def test_what_is_not_whole_is_not_known(url: str) -> None:
    """A replica's figures without one of its containers would be too small."""
    assert read_containers(Containers(url, UID, (SERVICE, "d" * 64))) is None
    assert read_containers(Containers(url, UID.replace("0", "1"), (SERVICE,))) is None
    assert read_containers(Containers("http://127.0.0.1:1", UID, (SERVICE,))) is None
    assert read_containers(Containers(url, UID, ())) is None


@pytest.mark.parametrize(
    ("own_s", "expected"),
    [
        # Before and after, time passes. Those that are left are the service's.
        ((1.9999, 2.0001), (SERVICE, PAUSE)),
        # Two have used as much: they are told apart later.
        ((1.4, 2.1, 1.999, 2.001), (SERVICE, PAUSE)),
        # What is not found is not guessed.
        ((77.0,), ()),
        ((None,), ()),
    ],
)
def test_a_container_is_known_by_its_own_cpu_time(
    url: str, monkeypatch: pytest.MonkeyPatch, own_s: tuple[float | None, ...], expected: tuple[str, ...]
) -> None:
    """A container that isn't told from the others isn't read."""
    readings = itertools.chain(own_s, itertools.repeat(own_s[-1]))
    monkeypatch.setattr(main, "read_own_cpu_s", lambda: next(readings))
    monkeypatch.setattr(main, "_RETRY_PAUSE_S", 0.0)
    assert expected == find_containers_beside(url, UID)
