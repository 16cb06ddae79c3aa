"""Scenarios of a user's own application: what is read and planned, and how mistakes are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import scenario_text
from tests.support.command_line import reject
from tests.support.shop import APPLICATION, PROTO, SCENARIO, read
from wirebench.errors import UsageError
from wirebench.model.contract import TargetName
from wirebench.plan.plan import Plan, make_plan
from wirebench.run.own_variants import check_variants
from wirebench.run.target_options import choose_target


def plan(folder: Path, old: str = "", new: str = "", target: TargetName = "local") -> Plan:
    """Plan the scenario with a change."""
    assert old in SCENARIO
    return make_plan(read(folder, SCENARIO.replace(old, new)), 1, target)


def test_variants_are_levels_that_bring_their_transport(tmp_path: Path) -> None:
    """They are compared as variants, or as transports; what isn't known of them is None."""
    made = plan(tmp_path)
    assert "variant" == made.scenario.compare
    assert [("rest-v1", "rest", "none"), ("rest-v2", "rest", "server")] == [
        (cell.variant, cell.transport, cell.tls) for cell in made.cells
    ]
    assert {(None, None, None, None)} == {
        (cell.runtime, cell.implementation, cell.store, cell.threads) for cell in made.cells
    }
    assert ["rest-v1-w1", "rest-v2-w1-server-tls"] == [str(service) for service in made.services]
    assert len(made.cells) == len({cell.id for cell in made.cells})
    made = make_plan(read(tmp_path, SCENARIO.replace("rest-v2", "grpc") + "compare: transport\n"), 1)
    assert [("rest-v1", "rest"), ("grpc", "grpc")] == [(cell.variant, cell.transport) for cell in made.cells]


def test_all_variants_are_measured_where_none_is_chosen(tmp_path: Path) -> None:
    """Without an operation, the file's first is measured; a transport can have levels of its own."""
    text = SCENARIO.replace("variant: [rest-v1, rest-v2]", "variant: [rest-v1, grpc]\n  workers: {rest: [1, 2]}")
    made = make_plan(read(tmp_path, text.replace("  operation: item\n", "")), 1)
    assert {("rest-v1", 1), ("rest-v1", 2), ("grpc", 1)} == {(cell.variant, cell.workers) for cell in made.cells}
    assert {"item"} == {cell.operation for cell in made.cells}
    every = read(tmp_path, "question: x\napplication: shop.yaml\nfactors: {}\n")
    assert ["rest-v1", "rest-v2", "grpc", "lines"] == list(every.variants)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("shop.yaml", "shup.yaml", "2: application: there is no application 'shup.yaml'"),
        ("application: shop.yaml\n", "", "3: factors.variant: the built-in application has no variants"),
        ("operation: item", "operation: itme", "5: factors.operation: there is no operation or workload 'itme'"),
        ("operation: item", "operation: feed", "5: factors.operation: feed has no rest request"),
        ("operation: item", "transport: rest", "5: factors.transport: it is for the built-in application"),
        ("operation: item", "workers: [1, 2]", "5: factors.workers: it can't be set on the variant rest-v2"),
        ("operation: item", "driver: {rest: oha}", "5: factors.driver.rest: oha can't drive item: values of environ"),
        ("{window_s: 1}", "{workloads: {item: {sequence: [note]}}}", "6: load.workloads.item: an operation has the"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """The scenario is rejected before anything starts, with a next step."""
    (tmp_path / "shop.yaml").write_text(APPLICATION)
    (tmp_path / "shop.proto").write_text(PROTO)
    scenario_text.reject(tmp_path, SCENARIO.replace(old, new), expected)


@pytest.mark.parametrize("command", ["run", "verify"])
def test_an_application_file_is_no_scenario(tmp_path: Path, command: str) -> None:
    """One line says what it is, and one what to write and run."""
    path = tmp_path / "shop.yaml"
    path.write_text(APPLICATION, encoding="utf-8")
    said = reject(command, path)
    assert f"{path}: this is an application file, not a scenario\n" in said
    assert "`application: shop.yaml`" in said
    assert "wirebench run SCENARIO" in said
    assert 2 == said.count("\n")


def test_the_target_is_where_all_variants_are(tmp_path: Path) -> None:
    """Those with a command run here; those that have an address alone are somewhere."""
    assert "local" == choose_target(read(tmp_path))
    addresses = APPLICATION.replace('start: "shop --port {port} --workers {workers}"', 'address: "127.0.0.1:81"')
    addresses = addresses.replace('start: "shop2 --port {port}", ', "")
    assert "external" == choose_target(read(tmp_path, application=addresses))
    with pytest.raises(UsageError, match=r"the variant rest-v1 has no start .*, which the target local needs") as error:
        make_plan(read(tmp_path, application=addresses), 1, "local")
    assert error.value.hint.endswith("or add --target external")


@pytest.mark.parametrize(
    ("limit", "load", "expected"),
    [
        (
            "",
            "{model: open}",
            "factors.variant: the variant grpc is at shop.example.com:443, not at a loopback address,",
        ),
        ("limit: {rate_per_s: 5, connections: 2}, ", "{}", "load.model: the variant grpc .* only an open load keeps"),
        ("limit: {rate_per_s: 4, connections: 2}, ", "{model: open}", "factors.rate_per_s: .* its limit is 4"),
        ("limit: {rate_per_s: 5, connections: 1}, ", "{model: open}", "factors.concurrency: .* its limit is 1"),
        ("limit: {rate_per_s: 5, connections: 2}, ", "{model: open, concurrency_max: 3}", "load.concurrency_max: "),
        ("limit: {rate_per_s: 5, connections: 2}, ", "{model: open}", ""),
    ],
)
def test_a_foreign_service_has_a_limit(tmp_path: Path, limit: str, load: str, expected: str) -> None:
    """No load is planned that would ask more of it."""
    rate = "rate_per_s: 5, " if "open" in load else ""
    text = f"question: x\napplication: shop.yaml\nload: {load}\n"
    text += f"factors: {{variant: grpc, {rate}concurrency: 2}}\n"
    scenario = read(tmp_path, text, APPLICATION.replace("schema: shop.proto", f"{limit}schema: shop.proto"))
    if not expected:
        assert make_plan(scenario, 1, "external").cells
        return
    with pytest.raises(UsageError, match=expected):
        make_plan(scenario, 1, "external")


def test_a_variable_that_is_not_set_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the line that needs it; variables that aren't sent aren't needed."""
    monkeypatch.delenv("SHOP_TOKEN", raising=False)
    with pytest.raises(UsageError, match=r"shop\.yaml:5: .*Authorization: the environment variable SHOP_TOKEN is not"):
        check_variants(read(tmp_path))
    check_variants(
        read(tmp_path, SCENARIO.replace("[rest-v1, rest-v2]\n  operation: item", "rest-v1\n  operation: note"))
    )
    monkeypatch.setenv("SHOP_TOKEN", "secret")
    check_variants(read(tmp_path, SCENARIO.replace("[rest-v1, rest-v2]", "rest-v1")))


IN_CLUSTER = """\
operations:
  get: {rest: {request: GET /}}
variants:
  theirs:
    transport: rest
    kubernetes: {service: shop, port: 80, namespace: lab}
    limit: {rate_per_s: 10, connections: 2}
"""


def plan_in_cluster(folder: Path, factors: str, load: str = "{window_s: 1}") -> Plan:
    """Plan a scenario with these factors for a cluster."""
    text = f"question: Which?\napplication: shop.yaml\nfactors: {{variant: theirs, {factors}}}\nload: {load}\n"
    return make_plan(read(folder, text, IN_CLUSTER), 1, "kubernetes")


def test_a_run_takes_a_service_in_a_cluster_as_it_is(tmp_path: Path) -> None:
    """What a cell can't set isn't known of it, and what it could is named with the scenario's line."""
    (cell,) = plan_in_cluster(tmp_path, "rate_per_s: 10", "{model: open, window_s: 1}").cells
    assert (None, None) == (cell.replicas, cell.cpu_limit_millicores)
    assert ("service", "cross-node") == (cell.balancing, cell.placement)
    for level in ("cpu_limit_millicores: 100", "placement: same-pod", "replicas: 2"):
        with pytest.raises(UsageError, match=rf"yaml:3: factors\.{level.partition(':')[0]}: it can't be set on"):
            plan_in_cluster(tmp_path, level)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("metrics: nowhere", r"metrics: must be a URL of http or https \(it is 'nowhere'\)"),
        ("ready: /live", r"ready: must be GET /path or health \(it is '/live'\)"),
        ("limit: {rate: 5}", r"rate_per_s: is missing"),
        ("kubernetes: shop", r"kubernetes: must be a mapping of keys \(it is 'shop'\)"),
    ],
)
def test_a_mistake_in_a_variant_is_named_in_words(tmp_path: Path, key: str, expected: str) -> None:
    """No pattern, and no word of a library."""
    with pytest.raises(UsageError, match=rf"shop\.yaml:\d+: variants\.grpc\..*{expected}"):
        read(tmp_path, application=APPLICATION.replace("schema: shop.proto", f"{key}, schema: shop.proto"))
