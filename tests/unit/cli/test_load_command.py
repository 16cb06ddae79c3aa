"""`wirebench load`: what it takes, what it reads out of the cluster, and what it prints."""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import reject, wirebench
from tests.support.judged_window import FAILING
from tests.support.report_run import GENERATOR_GATE, WINDOW_S, RunBuilder, cell, passed
from wirebench.cli.load import print_load
from wirebench.cli.options import parse_duration_s
from wirebench.cli.output import make_console
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.cell import Cell, ServiceSpec
from wirebench.model.histogram_file import ErrorText
from wirebench.model.record import Gate, Server
from wirebench.model.scenario import Load
from wirebench.plan.overrides import Override
from wirebench.plan.plain_load import plan_load
from wirebench.run.plain_load import PlainLoad, ReplicaPhase, ReplicaWatch
from wirebench.system.paths import ROOT
from wirebench.targets.kubernetes import deployed, namespace
from wirebench.targets.kubernetes.deployed import DeployedServices, read_service
from wirebench.targets.kubernetes.helm import Helm
from wirebench.targets.kubernetes.kubectl import Access, Kubectl
from wirebench.targets.kubernetes.workloads import is_rolled_out


@pytest.mark.parametrize(
    ("text", "expected"), [("30s", 30), ("30", 30), ("1m", 60), ("1m30s", 90), ("2.5s", 2.5), ("30m", 1800)]
)
def test_a_duration_is_written_as_load_tools_take_it(text: str, expected: float) -> None:
    """Minutes and seconds, or seconds alone."""
    assert expected == parse_duration_s(text)


@pytest.mark.parametrize("text", ["", "s", "m", "0s", "-5s", "5x", "1h", "31m", "nan", "1e9s"])
def test_what_is_no_duration_is_rejected(text: str) -> None:
    """With what it should look like, and how long it may be."""
    with pytest.raises(UsageError, match="isn't between 1 s and 30 min"):
        parse_duration_s(text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rest", "--rate", "0"], "--rate 0: factors.rate_per_s: must be at least 1"),
        (["grpc", "--driver", "ghz", "--connection", "reopen"], "ghz keeps its connections"),
        (["rest", "--replicas", "0"], "--replicas 0: factors.replicas: must be at least 1"),
        (["rest", "--payload", "5"], "--payload 5: factors.payload: users.get has no payload 5"),
        (["rest", "--payload", "5,6"], "--payload 5,6: a load takes one value"),
        (["rest", "--operation", "users.grab"], "--operation users.grab: no operation of a load"),
        (["rest", "--placement", "here"], "'here' is not one of 'same-pod'"),
        (["rest", "--placement", "same-pod", "--replicas", "2"], "has one service to go to, and not 2"),
        (["rest", "--driver", "ghz"], "--driver ghz: no driver of rest in load pods"),
        (["tcp"], "'tcp'"),
        (["rest", "--values", "/nowhere.yaml"], "/nowhere.yaml: no such file"),
    ],
)
def test_wrong_usage_is_rejected_before_anything_starts(arguments: list[str], said: str) -> None:
    """In one line with a next step, and exit status 2."""
    error, _ = reject("load", *arguments).splitlines()
    assert said in error


def shown(
    tmp_path: Path,
    of: Cell,
    *notes: str,
    phases: tuple[ReplicaPhase, ...] = (),
    asked: Load = Load(window_s=WINDOW_S),  # noqa: B008 - it is frozen
    **changes: Any,  # noqa: ANN401 - fields of Record
) -> list[str]:
    """Return the lines that are printed of a load."""
    run = RunBuilder(cells=[of], blocks=1, record=changes).write(tmp_path)
    text = io.StringIO()
    print_load(PlainLoad(run.records[0], phases, notes), asked, make_console(text))
    return text.getvalue().splitlines()


def test_an_open_load_says_what_was_asked_for_and_what_users_waited(tmp_path: Path) -> None:
    """Its latencies count from when requests were due, and those that were never sent are found."""
    lines = shown(tmp_path, cell("rest", rate_per_s=200), rate_achieved_per_s=150.0, dropped_iterations=80)
    assert (
        "rest users.get by wireload: 200/s on 16 connections for 1.6 s; 1 replica × 1 worker (gunicorn-gthread)"
        == lines[0]
    )
    assert any("150.0/s succeeded of 200/s asked for (75.0%)" in line for line in lines)
    assert any("dropped" in line and "80 that were due" in line for line in lines)
    assert any("p99" in line and line.endswith("from when each was due") for line in lines)
    lines = shown(tmp_path / "closed", cell("grpc", driver="ghz"))
    assert not any("asked" in line or "dropped" in line for line in lines)
    assert any("p99" in line and line.endswith("from when each was sent") for line in lines)


def test_failures_are_told_with_their_words(tmp_path: Path) -> None:
    """By outcome, with the most frequent texts, which can't steer the terminal."""
    texts = tuple(ErrorText(code="internal", message=f"\x1b[2J {n}", count=9 - n) for n in range(6))
    errors = {"internal": 60, "not_found": 40}
    lines = shown(tmp_path, cell("rest"), requests=1000, errors=errors, error_texts=texts, service=None)
    assert any("100 (10.00%): 60 internal, 40 not_found" in line for line in lines)
    assert 5 == sum("internal: \\x1b[2J" in line for line in lines)
    assert any("no request succeeded" in line for line in lines)


def test_requests_are_told_by_replica_and_worker(tmp_path: Path) -> None:
    """A worker without a request is there, too."""
    server = Server(
        cpu_us_per_request=100.0,
        cpu_s=1.0,
        memory_bytes=None,
        throttled_periods=None,
        requests_by_worker={"a/1": 60, "a/2": 40, "b/7": 100},
        fairness=0.5,
        requests_by_replica={"a": 100, "b": 100},
    )
    lines = shown(tmp_path, cell("rest", replicas=2, workers=2), server=server)
    assert "  replicas    a: 100 with warm-up (50%); by worker 60, 40" in lines
    assert "              b: 100 with warm-up (50%); by worker 100, 0" in lines
    lost = passed("counts", passed=False)
    lines = shown(tmp_path / "lost", cell("rest", replicas=2), server=server, gates=(lost,), requests_total=400)
    assert "              b: 100 with warm-up (25%)" in lines
    assert "              not known to these: 200" in lines


def test_replicas_that_came_are_told_with_the_rates_before_and_after(tmp_path: Path) -> None:
    """As README shows: steps too short for a rate are left out; CPU time of other replicas is unknown."""
    phases = (
        ReplicaPhase(0, 31, {"rest-x-9xkvd": 99.6}),
        ReplicaPhase(33, 35, {"rest-x-9xkvd": 70, "rest-x-hm6tq": 0}),
        ReplicaPhase(38, 89, {"rest-x-9xkvd": 33.4, "rest-x-hm6tq": 33.7, "rest-x-zk2pw": 33.1}),
    )
    lines = shown(tmp_path, cell("rest"), phases=phases)
    found = [line for line in lines if "/s" in line and "replica" in line]
    assert 2 == len(found)
    assert "\n".join(found) in (ROOT / "README.md").read_text("utf-8")
    assert "  CPU/req     unknown: replicas came or went" in lines
    assert "; 1 -> 2 -> 3 replicas × 1 worker (" in lines[0]
    assert " for 1.6 s of 8 s; " in shown(tmp_path / "less", cell("rest"), asked=Load(window_s=8))[0]
    (said,) = (line for line in shown(tmp_path / "short", cell("rest"), phases=phases[1:2] * 2) if "replicas  " in line)
    assert said.endswith("none of these was there for 10 s, which rates need")


def test_what_errors_and_other_replicas_explain_is_no_advice(tmp_path: Path) -> None:
    """A rollout that was asked for changes counts and rates, and requests that fail change rates."""
    gates = tuple(passed(name, passed=False) for name in ("counts", "rate_error"))
    phases = (ReplicaPhase(0, 31, {"a": 1.0}), ReplicaPhase(32, 60, {"a": 1.0, "b": 1.0}))

    def list_warned(*more: Gate, phases: tuple[ReplicaPhase, ...] = ()) -> list[str]:
        folder = tmp_path / f"{len(more)}-{len(phases)}"
        lines = shown(folder, cell("rest"), gates=(*gates, *more), phases=phases)
        return [line.split(" (")[0] for line in lines if line.startswith("!")]

    assert ["! counts", "! rate error"] == list_warned()
    assert ["! rate error"] == list_warned(phases=phases)
    assert ["! counts"] == list_warned(passed("error_rate", passed=False))


def test_replicas_are_watched_until_others_are_there() -> None:
    """Each change begins a phase, with its last rates, once all that are expected are seen; failures are left out."""
    seen: list[dict[str, float] | None] = [
        {},
        {"b": 9},
        {"a": 1},
        {"a": 2},
        None,
        {"a": 3, "b": 0},
        {"a": 2, "b": 2},
        {},
    ]
    shown_rates: list[tuple[Any, int | None]] = []
    phases: list[ReplicaPhase] = []

    def read() -> dict[str, float]:
        if (rates := seen.pop(0)) is None:
            raise WirebenchError("the API server is away")
        return rates

    moments = itertools.count(100)
    watch = ReplicaWatch(read, lambda *args: shown_rates.append(args), phases, frozenset("a"), lambda: next(moments))
    while seen:
        watch.poll()
    assert [ReplicaPhase(0, 1, {"a": 2}), ReplicaPhase(2, 3, {"a": 2, "b": 2}), ReplicaPhase(4, 4, {})] == phases
    assert [None, None, 1, None, 2] == [before for _, before in shown_rates]


def test_a_load_is_planned_as_a_cell_is() -> None:
    """A steady rate is kept by ghz, which no scenario takes; where the load runs is open unless it is asked for."""
    rate = Override("--rate 9", ("factors", "rate_per_s"), 9)
    named = [
        Override("", ("factors", "transport"), "grpc"),
        Override("", ("factors", "driver"), "ghz"),
        Override("", ("factors", "payload"), 7),
        Override("", ("factors", "operation"), "users.list"),
    ]
    planned, asked = plan_load([*named, rate])
    assert ("open", 9, 7, None) == (asked.model, planned.rate_per_s, planned.payload, planned.placement)
    planned, asked = plan_load([*named, Override("", ("factors", "placement"), "same-node")])
    assert ("closed", None, "same-node") == (asked.model, planned.rate_per_s, planned.placement)


def test_gates_that_failed_are_told_and_notes_come_last(tmp_path: Path) -> None:
    """A gate that passed says nothing, nor does one whose figure has a line of its own."""
    gates = (passed(), GENERATOR_GATE, passed("dropped_iterations", passed=False))
    lines = shown(tmp_path, cell("rest"), "prometheus: here", gates=gates)
    advice = "the generator was the bottleneck: lower --concurrency or --rate"
    warnings = [line for line in lines if line.startswith("!")]
    assert [f"! generator CPU (0.97 of its cores, limit 0.9): {advice}"] == warnings
    assert "prometheus: here" == lines[-1]


def test_what_to_do_about_a_gate_is_said_in_options_that_a_load_has(tmp_path: Path) -> None:
    """No keys of scenarios, which a load has none of, and no option that isn't there."""
    judged = (window.judge(tmp_path) for _, window in FAILING)
    gates = {name: gate for each in judged for name, gate in each.items() if not gate.passed}
    del gates["resolution"]  # which only a scenario can ask for
    del gates["error_rate"]  # which explains others
    lines = shown(tmp_path, cell("rest"), gates=tuple(gates.values()))
    warnings = [line for line in lines if line.startswith("! ")]
    options = set(re.findall(r"--[a-z]+", wirebench("load", "--help")[1]))
    assert len(gates) - 1 == len(warnings)  # dropped iterations have a line of their own
    assert 1 == sum("make load-* takes these options as RATE" in line for line in lines)
    for line in warnings:
        assert "load." not in line
        assert set(re.findall(r"--[a-z]+", line)) <= options


def a_deployment(**status: int) -> dict[str, Any]:
    """Return a Deployment of our chart with two replicas, as the API server tells it."""
    settings = {"RUNTIME": "sync", "WORKERS": "4", "THREADS": "10", "STORE": "postgres", "STORE_CONNECTIONS": "7"}
    container = {
        "name": "grpc",
        "command": ["wirebench-grpc"],
        "env": [{"name": f"WIREBENCH_{name}", "value": value} for name, value in settings.items()],
        "resources": {"limits": {"cpu": "250m", "memory": "512Mi"}},
    }
    return {
        "metadata": {"generation": 3},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
        "status": {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, **status},
    }


def test_a_service_is_loaded_as_it_is() -> None:
    """Runtime, workers, store, its pool and the limit are those that the chart has found the container."""
    expected = ServiceSpec("grpc", "sync", 4, 10, "postgres", 2, 250, store_connections=7)
    assert expected == read_service("grpc", a_deployment())


@pytest.mark.parametrize(
    "status", [{"observedGeneration": 2}, {"replicas": 3}, {"updatedReplicas": 1}, {"readyReplicas": 1}]
)
def test_a_rollout_is_waited_for(status: dict[str, int]) -> None:
    """A change that the controller hasn't seen, an old pod, and one that isn't ready all count against it."""
    assert is_rolled_out(a_deployment())
    assert not is_rolled_out(a_deployment(**status))


def test_a_service_that_is_not_there_is_told_from_one_without_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its own next step."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(Kubectl, "get", lambda *_: found)
    cluster = DeployedServices(Access(None, None), [])
    with pytest.raises(WirebenchError, match="grpc is not deployed in the namespace wirebench") as missing:
        cluster.find_endpoint("grpc")
    assert "make deploy" in missing.value.hint
    deployment = a_deployment()
    found.append({**deployment, "spec": {**deployment["spec"], "replicas": 0}})
    with pytest.raises(WirebenchError, match="grpc is scaled to no replica"):
        cluster.find_endpoint("grpc")
    for module, name in ((deployed, "require_tools"), (Kubectl, "check"), (namespace, "check_no_other_run")):
        monkeypatch.setattr(module, name, lambda *_: None)
    cluster.check("grpc", scales=True)
    with pytest.raises(WirebenchError, match="grpc is scaled to no replica"):
        cluster.check("grpc")


@pytest.mark.parametrize("answer", ["", "[]", '{"data": null}', '{"data": {"result": [{"metric": {}}]}}'])
def test_rates_that_are_none_do_not_end_a_load(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """Whatever answers in Prometheus' place: the load needs no rates."""
    monkeypatch.setattr(Kubectl, "read", lambda *_: answer)
    cluster = DeployedServices(Access(None, None), [])
    shown: list[object] = []
    watch = ReplicaWatch(
        lambda: cluster.read_rates("rest", "http://prometheus.monitoring:9090"), lambda *given: shown.append(given), []
    )
    with pytest.raises(WirebenchError, match=r"prometheus\.monitoring:9090 gave no rates"):
        watch.read()
    watch.poll()
    assert [] == shown == watch.phases


def test_a_service_that_cannot_be_scaled_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster without room isn't left with pods that wait for it."""
    monkeypatch.setattr(Kubectl, "get", lambda *_: [a_deployment()])
    changes: list[Any] = []
    monkeypatch.setattr(Helm, "change", lambda _self, _release, values: changes.append(values))

    def find_no_room(*_: object) -> None:
        raise WirebenchError("no node takes it")

    monkeypatch.setattr(deployed, "wait_ready", find_no_room)
    with pytest.raises(WirebenchError, match="no node takes it"):
        DeployedServices(Access(None, None), []).scale("grpc", 100, None)
    assert [{"grpc": {"replicas": 100}}, {"grpc": {"replicas": 2}}] == changes
