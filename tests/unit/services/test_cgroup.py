"""Whose CPU time and memory a container's service reads, with folders laid out as the kernel lays them out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from services.platform.cgroup import Cgroup

V2_FILES = {
    "cpu.stat": "usage_usec 2500000\nuser_usec 2000000\nnr_periods 9\nnr_throttled 4\nthrottled_usec 12\n",
    "memory.current": "1000000\n",
    "memory.stat": "anon 600000\ninactive_file 300000\n",
}
CPU_FILES = {"cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_time 12\n"}
CPUACCT_FILES = {"cpuacct.usage": "2500000000\n"}
MEMORY_FILES = {
    "memory.usage_in_bytes": "1000000\n",
    "memory.stat": "inactive_file 7\ntotal_rss 600000\ntotal_inactive_file 300000\n",
}
#: Of another group, which must not be read.
OTHER_FILES = {
    "cpu.stat": "usage_usec 99\nnr_throttled 99\n",
    "cpuacct.usage": "99\n",
    "memory.current": "99\n",
    "memory.usage_in_bytes": "99\n",
}
FIGURES = (2.5, 4, 700_000)

V1_HOST = "12:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/docker/abc\n"
V1_APART = "4:memory:/kubepods/pod1/abc\n2:cpuacct:/kubepods/pod1/abc\n1:cpu:/kubepods/pod1/abc\n0::/\n"
V1_NAMESPACE = "12:cpu,cpuacct:/\n4:memory:/\n0::/\n"


class System:
    """A system's files: /proc/self and the mounts."""

    def __init__(self, folder: Path, groups: str) -> None:
        self.proc = folder / "proc"
        self._root = folder / "sys"
        self.proc.mkdir()
        (self.proc / "cgroup").write_text(groups)
        self._mounts = ["22 27 0:21 / /proc rw,relatime - proc proc rw"]

    def mount(self, name: str, kind: str, options: str, top: str, groups: Mapping[str, Mapping[str, str]]) -> None:
        """Mount a hierarchy from the group `top` down, with the files of groups by their paths in the mount."""
        place = self._root / name
        for group, files in groups.items():
            (place / group).mkdir(parents=True, exist_ok=True)
            for file, text in files.items():
                (place / group / file).write_text(text)
        self._mounts.append(f"32 31 0:29 {top} {place} rw,nosuid shared:9 - {kind} cgroup {options}")
        (self.proc / "mountinfo").write_text("\n".join(self._mounts) + "\n")

    def figures(self) -> tuple[float | None, int | None, int | None]:
        """Return what is read: CPU seconds, throttled periods, bytes of memory."""
        cgroup = Cgroup(self.proc)
        return cgroup.cpu_seconds(), cgroup.throttled_periods(), cgroup.memory_bytes()


def test_v1_in_a_container(tmp_path: Path) -> None:
    """The path is the host's, and the mount is the container's own group."""
    system = System(tmp_path, V1_HOST)
    system.mount("cpu,cpuacct", "cgroup", "rw,cpu,cpuacct", "/docker/abc", {"": {**CPU_FILES, **CPUACCT_FILES}})
    system.mount("memory", "cgroup", "rw,memory", "/docker/abc", {"": MEMORY_FILES})

    assert FIGURES == system.figures()


def test_v1_in_a_container_with_controllers_apart(tmp_path: Path) -> None:
    """Each controller has a hierarchy of its own, beside an empty one of version 2."""
    system = System(tmp_path, V1_APART)
    for name, files in {"cpu": CPU_FILES, "cpuacct": CPUACCT_FILES, "memory": MEMORY_FILES}.items():
        system.mount(name, "cgroup", f"rw,{name}", "/kubepods/pod1/abc", {"": files})
    system.mount("unified", "cgroup2", "rw", "/", {"": OTHER_FILES})

    assert FIGURES == system.figures()


def test_v1_in_a_container_with_a_namespace(tmp_path: Path) -> None:
    """The container's group is the top of all that it sees."""
    system = System(tmp_path, V1_NAMESPACE)
    system.mount("cpu,cpuacct", "cgroup", "ro,cpu,cpuacct", "/", {"": {**CPU_FILES, **CPUACCT_FILES}})
    system.mount("memory", "cgroup", "ro,memory", "/", {"": MEMORY_FILES})

    assert FIGURES == system.figures()


def test_v1_outside_of_containers(tmp_path: Path) -> None:
    """The whole tree is mounted, and the group lies in it."""
    system = System(tmp_path, V1_HOST)
    files = {**CPU_FILES, **CPUACCT_FILES}
    system.mount("cpu,cpuacct", "cgroup", "rw,cpu,cpuacct", "/", {"": OTHER_FILES, "docker/abc": files})
    system.mount("memory", "cgroup", "rw,memory", "/", {"": OTHER_FILES, "docker/abc": MEMORY_FILES})

    assert FIGURES == system.figures()


def test_v1_with_a_mount_that_does_not_show_the_path(tmp_path: Path) -> None:
    """A mount that claims to be the top and isn't is the container's own group, as older engines have it."""
    system = System(tmp_path, V1_HOST)
    system.mount("cpu,cpuacct", "cgroup", "rw,cpu,cpuacct", "/", {"": {**CPU_FILES, **CPUACCT_FILES}})
    system.mount("memory", "cgroup", "rw,memory", "/", {"": MEMORY_FILES})

    assert FIGURES == system.figures()


@pytest.mark.parametrize(
    ("group", "top", "place"),
    [
        ("/", "/", ""),
        ("/user.slice/a.scope", "/", "user.slice/a.scope"),
        ("/kubepods/abc", "/kubepods/abc", ""),
        ("/kubepods/abc", "/kubepods", "abc"),
    ],
    ids=["namespace", "outside", "container", "pod"],
)
def test_v2(tmp_path: Path, group: str, top: str, place: str) -> None:
    """One hierarchy has everything, wherever the mount begins."""
    system = System(tmp_path, f"0::{group}\n")
    system.mount("", "cgroup2", "rw,nsdelegate", top, {"": OTHER_FILES, place: V2_FILES})

    assert FIGURES == system.figures()


def test_the_top_of_v2_counts_cpu_time_only(tmp_path: Path) -> None:
    """It has no limits to meet, and no memory file."""
    system = System(tmp_path, "0::/\n")
    system.mount("", "cgroup2", "rw", "/", {"": {"cpu.stat": "usage_usec 2500000\nuser_usec 2000000\n"}})

    assert (2.5, None, None) == system.figures()


def test_figures_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    """Nothing is remembered: a window's edges need the counter of that moment."""
    system = System(tmp_path, "0::/\n")
    system.mount("", "cgroup2", "rw", "/", {"": {"cpu.stat": "usage_usec 1000000\n"}})
    cgroup = Cgroup(system.proc)
    before = cgroup.cpu_seconds()
    system.mount("", "cgroup2", "rw", "/", {"": {"cpu.stat": "usage_usec 3000000\n"}})

    assert (1.0, 3.0) == (before, cgroup.cpu_seconds())


def test_no_cgroups(tmp_path: Path) -> None:
    """Another system has nothing to read, and says nothing."""
    cgroup = Cgroup(tmp_path)

    assert (None, None, None) == (cgroup.cpu_seconds(), cgroup.throttled_periods(), cgroup.memory_bytes())
