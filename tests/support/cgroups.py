"""Cgroups of pods as files, of both versions."""

from __future__ import annotations

from pathlib import Path

UID = "0a1b2c3d-0123-4567-89ab-0123456789ab"
ANOTHER = "ffffffff-0123-4567-89ab-0123456789ab"
SERVICE, PAUSE = "a" * 64, "b" * 64
SYSTEMD_UID = UID.replace("-", "_")
#: Where a pod's cgroup is: by the kubelet's driver, its cgroup root (kind has one) and the pod's class.
CGROUPFS = (f"kubepods/pod{UID}", f"kubelet/kubepods/burstable/pod{UID}")
BURSTABLE = "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice"
SYSTEMD = (
    f"kubepods.slice/kubepods-pod{SYSTEMD_UID}.slice",
    f"{BURSTABLE}/kubelet-kubepods-burstable-pod{SYSTEMD_UID}.slice",
)


def write(folder: Path, **files: str) -> None:
    """Write files of a cgroup; an underscore doubled is a dot."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def write_v2(folder: Path, cpu_us: int) -> None:
    """Write a container's cgroup of version 2."""
    write(
        folder,
        cpu__stat=f"usage_usec {cpu_us}\nuser_usec 1\nnr_periods 9\nnr_throttled 3\n",
        memory__current="70000000\n",
        memory__stat="anon 1\ninactive_file 9000000\n",
    )


def write_v1(root: Path, place: str, cpu_ns: int) -> None:
    """Write a container's cgroup of version 1, where `cpu` and `cpuacct` are one hierarchy."""
    write(root / "cpu,cpuacct" / place, cpuacct__usage=f"{cpu_ns}\n", cpu__stat="nr_periods 9\nnr_throttled 3\n")
    write(
        root / "memory" / place,
        memory__usage_in_bytes="70000000\n",
        memory__stat="inactive_file 1\ntotal_inactive_file 9000000\n",
    )
