"""The application file: mistakes are named with their line, and inputs and requests are made as it says."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.model.application import Application, load_builtin, read_application
from wirebench.model.inputs import InputContext, read_choices
from wirebench.model.template import render

OPERATION = """\
seeded:
  things: {first: 10, count: 5}
operations:
  things.get:
    inputs:
      id: {seeded: things}
    rest: {request: "GET /things/{id}?full={full}", expect: {json: {id: "{id}"}}}
"""
GOOD = OPERATION.replace("{seeded: things}", "{seeded: things}\n      full: {value: null}")


def read(folder: Path, text: str) -> Application:
    """Return the application of a text."""
    (folder / "a.yaml").write_text(text)
    return read_application(folder / "a.yaml")


def draw(folder: Path, inputs: str, **known: object) -> dict[str, object]:
    """Return the values of inputs."""
    text = f"seeded: {{things: {{first: 10, count: 5}}}}\noperations: {{x: {{inputs: {{{inputs}}}}}}}\n"
    return read(folder, text).draw("x", InputContext(random.Random(1), **known))  # type: ignore[arg-type]  # noqa: S311


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("{seeded: things}", "{seeded: others}", "3: operations: things.get: nothing is seeded as 'others'"),
        ("{seeded: things}", "{repeat: 2, of: {seeded: others}}", "things.get: nothing is seeded as 'others'"),
        ("{seeded: things}", "{repeat: 2, of: {fresh: things}}", "inputs.id: of: fresh can't be repeated"),
        ("{seeded: things}", "{range: }", "6: operations.things.get.inputs.id: range: needs a value"),
        ("{seeded: things}", '{payload: {"a/b": 1}}', "6: operations.things.get.inputs.id.payload.a/b"),
        ("{seeded: things}", "{seedet: things}", "6: operations.things.get.inputs.id.seedet: no such key"),
        ("{seeded: things}", "{range: [1, 2], list: [3]}", "6: operations.things.get.inputs.id: needs exactly one of"),
        ("{seeded: things}", "{list: [3, null]}", "6: operations.things.get.inputs.id: list: an item can't be null"),
        ("{seeded: things}", "{file: none.csv, column: id}", "6: operations.things.get.inputs.id: can't read"),
        ("{seeded: things}", '{text: "{size}"}', "inputs.id: there is no input 'size' before it"),
        ("/things/{id}", "/things/{ident}", "4: operations.things.get: rest: there is no input 'ident'"),
        ("/things/{id}", "/things/{id|sideways}", "4: operations.things.get: rest: there is no form 'sideways'"),
        ("{seeded: things}", "{range: [2, 1]}", "inputs.id: range: its first number is greater than its last"),
        ("/things/{id}", "/things/{id}?key=${A_KEY}", "4: operations.things.get: rest: ${A_KEY}: only headers"),
        ("GET /", "FETCH /", "8: operations.things.get.rest.request: must match"),
        (
            "expect:",
            "end: done, expect:",
            "4: operations.things.get: rest.end: only a stream has an event that ends it",
        ),
        ("things.get:", "things.get: 5\n  x:", "4: operations.things.get: must be a mapping"),
        ("operations:", "operation:", "3: operation: no such key"),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """What is wrong is said in one line each, with the key and where it stands."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    said = f"{error.value.message}\n{error.value.details}"
    assert expected in said


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ('rest: {request: GET /, headers: {"X A": b}}', "5: operations.a.rest.headers: 'X A' can't be the name"),
        ('rest: {request: GET /, headers: {X-A: "a\\r\\nX-B: c"}}', "X-A: its value has a line break"),
        ('grpc: {call: a.B/C, metadata: {"a!": b}}', "5: operations.a.grpc.metadata: 'a!' can't be a key"),
        ("grpc: {call: a.B/C, metadata: {grpc-timeout: 1S}}", "grpc-timeout: drivers send it by themselves"),
        ("grpc: {call: a.B/C, metadata: {a: é}}", "a: its value isn't ASCII"),
        ('grpc: {call: a.B/C, metadata: {a-bin: "a!"}}', "a-bin: its value isn't base64"),
        ('rest: {request: GET /, headers: {User-Agent: é, Host: "${A}", X-N: "{n}"}}', ""),
        ('grpc: {call: a.B/C, metadata: {A: "${A}", b-bin: "${A}", c-bin: "{n}", d-bin: AAE}}', ""),
    ],
)
def test_headers_that_cannot_be_sent_have_a_line(tmp_path: Path, request_: str, expected: str) -> None:
    """Drivers would reject them after services have started."""
    text = f"operations:\n  a:\n    inputs: {{n: {{value: x}}}}\n    # as drivers do\n    {request_}\n"
    if not expected:
        assert read(tmp_path, text).operations
        return
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert expected in error.value.message
    assert "é" not in error.value.message


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ('start: "serve {port} --key ${A_KEY}"', "variants.v: start: ${A_KEY} would stand in an argument list"),
        ('start: "serve {port}", ready: "GET {admin_port}/ready"', "variants.v: ready: {admin_port} isn't in start"),
        ("start: serve {port}", "not valid YAML"),
        ("address: '127.0.0.1:99999'", "variants.v.address: Port out of range"),
        ("address: '[::1]:65535', metrics: 'http://[::1]:70000/metrics'", "variants.v.metrics: Port out of range"),
    ],
)
def test_commands_and_ports_that_cannot_be_what_is_meant_have_a_line(
    tmp_path: Path, variant: str, expected: str
) -> None:
    """Commands would start, and then fail for a reason that is hard to see; ports go up to 65535."""
    text = f"operations: {{a: {{rest: {{request: GET /}}}}}}\nvariants:\n  v: {{transport: rest, {variant}}}\n"
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert f"a.yaml:3: {expected}" in error.value.message
    assert ("YAML" in expected) == (error.value.hint == 'quote texts with braces: "serve {port}"')


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("done", ""),
        ("error", "rest.end: events named message are items"),
        ('"a b"', "rest.end: must match"),
        ("''", "end"),
    ],
)
def test_a_stream_may_name_the_event_that_ends_it(tmp_path: Path, end: str, expected: str) -> None:
    """Its name is one that no other event of the stream has."""
    text = f"operations:\n  a: {{stream: true, rest: {{request: GET /, end: {end}}}}}\n"
    if not expected:
        rest = read(tmp_path, text).operations["a"].rest
        assert rest
        assert end == rest.end
        return
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert expected in error.value.message


def test_headers_of_variants_are_checked_too(tmp_path: Path) -> None:
    """What can be sent depends on the transport."""
    text = "operations: {a: {rest: {request: GET /}, grpc: {call: a.B/C}}}\nvariants:\n"
    variant = "  v: {{transport: {}, address: '127.0.0.1:1', headers: {{Host: a}}}}\n"
    assert read(tmp_path, text + variant.format("rest")).variants
    with pytest.raises(UsageError, match=r"3: variants\.v: Host: drivers send it by themselves"):
        read(tmp_path, text + variant.format("grpc"))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ('{X-A: "Bearer ${tok}"}', "a.yaml:3: variants.v.headers.X-A: there is no input 'tok' of a"),
        ('{X-A: "{id}"}', "a.yaml:3: variants.v.headers.X-A: there is no input 'id' of b"),
        ('{X-A: "{n|sideways}"}', "a.yaml:3: variants.v.headers.X-A: there is no form 'sideways'"),
        ('{X-A: "{n} ${A_TOKEN} {}", X-B: "{id}"}', ""),
    ],
)
def test_headers_of_variants_take_inputs_that_all_operations_have(tmp_path: Path, headers: str, expected: str) -> None:
    """Those of the variant's transport, unless they have the header themselves; names of variables are upper-case."""
    a = "{inputs: {n: {value: 1}, id: {value: 2}}, rest: {request: GET /a}}"
    b = "{inputs: {n: {value: 1}}, rest: {request: GET /b, headers: {x-b: own}}}"
    text = f"operations: {{a: {a}, b: {b}, c: {{socket: {{line: x}}}}}}\nvariants:\n"
    text += f"  v: {{transport: rest, address: '127.0.0.1:80', headers: {headers}}}\n"
    if not expected:
        assert {"X-A", "x-b"} == read(tmp_path, text).select_variant("v").operations["b"].rest.headers.keys()  # type: ignore[union-attr]
        return
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert expected in error.value.message
    assert "${NAME}" in error.value.hint


def test_parameters_without_a_value_are_left_out(tmp_path: Path) -> None:
    """A query has what is given."""
    operation = read(tmp_path, GOOD).operations["things.get"]
    assert ("GET", "/things/7", None) == operation.request_rest({"id": 7, "full": None})
    assert ("GET", "/things/a%2Fb?full=x%26y", None) == operation.request_rest({"id": "a/b", "full": "x&y"})


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ("a: {seeded: things}", range(10, 15)),
        ("a: {seeded: things, count: 5, offset: -1}", [9]),
        ("a: {range: [3, 4]}", [3, 4]),
        ("a: {list: [x, y]}", ["x", "y"]),
        ("a: {fresh: things}", [77]),
        ("a: {counter: 5}", [5]),
        ("a: {text: 12}", ["wirebench wi"]),
        ("b: {value: 3}, a: {text: '{b}'}", ["wir"]),
        ("a: {payload: {small: 1, large: 2}}", [2]),
        ("a: {payload: {small: 1, huge: 3}}", [1]),
        ("b: {fresh: things}, a: {repeat: 2, counting: b, of: {value: {id: '{b}'}}}", [[{"id": 77}, {"id": 78}]]),
        ("b: {value: ab}, a: {value: '{b|upper}-{b|length}'}", ["AB-2"]),
        ("b: {value: true}, a: {value: '{b}!'}", ["true!"]),
        ("a: {stream: items}", [9]),
    ],
)
def test_inputs(tmp_path: Path, inputs: str, expected: list[object]) -> None:
    """Each generator makes what docs/applications.md says."""
    assert draw(tmp_path, inputs, fresh=77, payload="large", stream={"items": 9})["a"] in expected


def test_inputs_from_files(tmp_path: Path) -> None:
    """A column of a CSV file, or a JSON list, beside the application file."""
    (tmp_path / "ids.csv").write_text("id,name\n5,Ann\n")
    (tmp_path / "ids.json").write_text(json.dumps([6]))
    assert {"a": "Ann", "b": 6} == draw(tmp_path, "a: {file: ids.csv, column: name}, b: {file: ids.json}")


def test_numbers_are_payloads_up_to_a_limit() -> None:
    """A scenario may say how many users a list has, but not more than the service gives."""
    listing = load_builtin().operations["users.list"]
    assert [True, False] == [listing.takes(size) for size in (10_000, 10_001)]
    drawings = [InputContext(random.Random(1), payload=size) for size in (None, "list", 7)]  # noqa: S311
    assert [20, 500, 7] == [load_builtin().draw("users.list", each)["limit"] for each in drawings]


def test_creating_operations_take_ids() -> None:
    """As many as a request creates records."""
    operations = ("users.create", "users.create_batch", "users.get")
    assert [1, 500, 0] == [load_builtin().count_ids(each, None) for each in operations]


def test_columns_are_read_as_they_are(tmp_path: Path) -> None:
    """A spreadsheet's mark at the beginning is no part of a name, and a text may have several lines."""
    path = tmp_path / "texts.csv"
    path.write_text('\ufeffid,text\n1,"one\ntwo"\n', encoding="utf-8")
    assert (["1"], ["one\ntwo"]) == (read_choices(path, "id"), read_choices(path, "text"))
    path.write_text(f"id\n{'x' * 200_000}\n")
    with pytest.raises(ValueError, match="can't read"):
        read_choices(path, "id")


def test_a_number_has_no_upper_case() -> None:
    """A form that a value can't have is named."""
    with pytest.raises(ValueError, match="has no form 'upper'"):
        render("{id|upper}", {"id": 5})


def test_same_may_be_of_requests_of_variants(tmp_path: Path) -> None:
    """Which all have one of their own, and none in common."""
    text = (
        "operations:\n  get: {same: {rest: name}, variants: {a: {request: GET /a}, b: {request: GET /b}}}\n"
        'variants:\n  a: {transport: rest, start: "a {port}"}\n  b: {transport: rest, start: "b {port}"}\n'
    )
    assert read(tmp_path, text).operations["get"].same
