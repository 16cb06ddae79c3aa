"""How many users fit: by memory, by cgroups of either version, and by open files; and what is said if they don't."""

from __future__ import annotations

import resource
from pathlib import Path

import psutil
import pytest

from tests.support.command_line import reject
from tests.support.scenario_text import read
from wirebench.errors import UsageError
from wirebench.model.contract import TRANSPORTS, Transport
from wirebench.plan import driver_support
from wirebench.plan.plan import make_plan
from wirebench.run import preparation
from wirebench.run.user_limits import check_users_fit, raise_open_files, read_free_memory_mib


def check(folder: Path, factors: str, memory_mib: float = 64_000, open_files: int = 1_048_576) -> None:
    """Check that the users of a scenario fit."""
    plan = make_plan(read(folder, f"question: Do they fit?\nfactors: {{{factors}}}\n"), seed=1)
    check_users_fit(plan, memory_mib, open_files)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_as_many_users_fit_as_it_is_said(tmp_path: Path, transport: Transport) -> None:
    """With one more they don't; on a large machine, the most that a scenario can ask for does."""
    check(tmp_path, f"transport: {transport}, concurrency: 10000")
    with pytest.raises(UsageError, match="360 MiB are free") as error:
        check(tmp_path, f"transport: {transport}, concurrency: 10000", memory_mib=400)
    users = int(error.value.message.split()[-2].replace(",", ""))
    assert 5000 < users < 10_000
    assert driver_support.estimate_memory_mib("wireload", transport, users) <= 360
    check(tmp_path, f"transport: {transport}, concurrency: {users}", memory_mib=400)
    with pytest.raises(UsageError):
        check(tmp_path, f"transport: {transport}, concurrency: {users + 1}", memory_mib=400)


def test_the_tightest_cell_is_told(tmp_path: Path) -> None:
    """Of all that don't fit, the one of which the least fits: its number is enough for the others."""
    with pytest.raises(UsageError, match="5,000 wireload users of grpc take"):
        check(tmp_path, "transport: [rest, grpc, socket], concurrency: 5000", memory_mib=250)


def test_each_connection_is_an_open_file(tmp_path: Path) -> None:
    """Two where a proxy is between; some are open besides."""
    with pytest.raises(UsageError, match=r"1,200 open files, .*: 824 fit"):
        check(tmp_path, "transport: socket, concurrency: 1000", open_files=1024)
    with pytest.raises(UsageError, match=r": 412 fit"):
        check(tmp_path, "transport: socket, concurrency: 500, network: {delay_ms: 5}", open_files=1024)


def test_what_a_driver_takes_is_not_guessed(tmp_path: Path) -> None:
    """Of drivers whose users weren't measured, only files are counted."""
    check(tmp_path, "transport: grpc, driver: ghz, concurrency: 10000", memory_mib=1)


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
    free_mib = read_free_memory_mib(tmp_path / "membership", root)
    if expected_mib is None:
        assert psutil.virtual_memory().available / 2**20 == pytest.approx(free_mib, rel=0.2)
    else:
        assert expected_mib == round(free_mib)


def test_open_files_are_raised_to_what_is_allowed() -> None:
    """For all programs that are started from then on."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        assert (raise_open_files(), before[1]) == resource.getrlimit(resource.RLIMIT_NOFILE)
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
    monkeypatch.setattr(preparation, "read_free_memory_mib", lambda: 2000)
    monkeypatch.setattr(preparation, "raise_open_files", lambda: open_files)
    path = tmp_path / "many.yaml"
    path.write_text(
        f"question: Do they fit?\nfactors:\n  transport: {'rest' if 'k6' in rest else '[rest, socket]'}\n{rest}",
        encoding="utf-8",
    )
    errors = reject("run", path, "--out", tmp_path / "results")
    assert f"error: {path}:{expected}" in errors
    assert "next: lower it" in errors
    assert not (tmp_path / "results").exists()
