"""How many users fit: by memory, by cgroups of either version, and by open files; and what is said if they don't."""

from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.support.command_line import reject
from tests.support.jobs import cell
from wirebench.drivers import capacity
from wirebench.drivers.capacity import Capacity, find_shortfall, raise_open_files, read_capacity
from wirebench.model.contract import TRANSPORTS, Transport
from wirebench.plan import driver_support

AMPLE = Capacity(memory_mib=64_000, open_files=1_048_576)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_as_many_users_fit_as_it_is_said(transport: Transport) -> None:
    """With one more they don't; on a large machine, the most that a scenario can ask for does."""
    assert find_shortfall([cell(transport, "wireload", concurrency=10_000)], AMPLE) is None
    short = replace(AMPLE, memory_mib=400)
    shortfall = find_shortfall([cell(transport, "wireload", concurrency=10_000)], short)
    assert shortfall is not None
    assert 5000 < shortfall.users_max < 10_000
    assert find_shortfall([cell(transport, "wireload", concurrency=shortfall.users_max)], short) is None
    assert find_shortfall([cell(transport, "wireload", concurrency=shortfall.users_max + 1)], short) is not None
    assert driver_support.estimate_memory_mib("wireload", transport, shortfall.users_max) <= 360


def test_the_tightest_cell_is_told() -> None:
    """Of all that don't fit, the one of which the least fits: its number is enough for the others."""
    short = replace(AMPLE, memory_mib=250)
    cells = [cell(transport, "wireload", concurrency=5000) for transport in TRANSPORTS]
    shortfall = find_shortfall(cells, short)
    assert shortfall is not None
    assert "grpc" == shortfall.cell.transport


def test_each_connection_is_an_open_file() -> None:
    """Two where a proxy is between; some are open besides."""
    few = replace(AMPLE, open_files=1024)
    shortfall = find_shortfall([cell("socket", "wireload", concurrency=1000)], few)
    assert shortfall is not None
    assert (824, "1,200 open files") == (shortfall.users_max, shortfall.needed)
    behind_proxy = replace(cell("socket", "wireload", concurrency=500), delay_ms=5)
    shortfall = find_shortfall([behind_proxy], few)
    assert shortfall is not None
    assert 412 == shortfall.users_max


def test_what_a_driver_takes_is_not_guessed() -> None:
    """Of drivers whose users weren't measured, only files are counted."""
    assert find_shortfall([cell("grpc", "ghz", concurrency=10_000)], replace(AMPLE, memory_mib=1)) is None


@pytest.mark.parametrize(
    ("membership", "files", "expected_mib"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/b/memory.current": "5"}, None),
        ("0::/a/b\n", {"a/b/memory.max": str(500 * 2**20), "a/b/memory.current": str(100 * 2**20)}, 400),
        # The limit of the one that it is in; and what is cached gives way.
        (
            "0::/a/b\n",
            {
                "a/memory.max": str(300 * 2**20),
                "a/memory.current": str(200 * 2**20),
                "a/memory.stat": f"anon 5\ninactive_file {50 * 2**20}\n",
            },
            150,
        ),
        # In a container only its own cgroup is mounted, at the root.
        ("0::/host/path\n", {"memory.max": str(64 * 2**20), "memory.current": str(2**20)}, 63),
        (
            "4:memory:/x\n3:cpu:/x\n",
            {"memory/x/memory.limit_in_bytes": str(70 * 2**20), "memory/x/memory.usage_in_bytes": str(60 * 2**20)},
            10,
        ),
        ("4:memory:/x\n", {"memory/x/memory.limit_in_bytes": str(2**63 - 4096)}, None),
    ],
)
def test_a_cgroup_s_limit_counts(
    tmp_path: Path, membership: str, files: dict[str, str], expected_mib: int | None
) -> None:
    """What is left of it, if that is less than what the machine has."""
    root = tmp_path / "cgroup"
    (tmp_path / "membership").write_text(membership, encoding="ascii")
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="ascii")
    free_mib = read_capacity(tmp_path / "membership", root).memory_mib
    if expected_mib is None:
        assert psutil.virtual_memory().available / 2**20 == pytest.approx(free_mib, rel=0.2)
    else:
        assert expected_mib == round(free_mib)


def test_open_files_are_raised_to_what_is_allowed() -> None:
    """For all programs that are started from then on."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        found = read_capacity()
        raise_open_files(found)
        assert (found.open_files, before[1]) == resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (
            "  concurrency: [1, 10000]\n  driver: k6\n",
            (
                "4: factors.concurrency: 10,000 k6 users of rest take 6,310 MiB of memory, and 1,800 MiB are free "
                "for them: 2,784 fit"
            ),
        ),
        (
            "  rate_per_s: 10\nload: {model: open, concurrency_max: 10000}\n",
            (
                "5: load.concurrency_max: 10,000 wireload users of rest take 10,200 open files, and a process may have "
                "2,000 (ulimit -Hn): 1,800 fit"
            ),
        ),
    ],
)
def test_a_run_that_does_not_fit_is_rejected_with_how_many_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str, expected: str
) -> None:
    """With the line of the scenario; nothing is started or written."""
    open_files = 20_000 if "k6" in rest else 2000
    monkeypatch.setattr(capacity, "read_capacity", lambda: Capacity(memory_mib=2000, open_files=open_files))
    path = tmp_path / "many.yaml"
    path.write_text(
        f"question: Do they fit?\nfactors:\n  transport: {'rest' if 'k6' in rest else '[rest, socket]'}\n{rest}",
        encoding="utf-8",
    )
    errors = reject("run", path, "--out", tmp_path / "results")
    assert f"error: {path}:{expected}" in errors
    assert "next: lower it" in errors
    assert not (tmp_path / "results").exists()
