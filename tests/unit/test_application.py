"""The application file: mistakes are named with their line, and inputs and requests are made as it says."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.model.application import Application, builtin, read_application
from wirebench.model.inputs import Drawing

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
    return read(folder, text).draw("x", Drawing(random.Random(1), **known))  # type: ignore[arg-type]  # noqa: S311


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("{seeded: things}", "{seeded: others}", "3: operations: things.get: nothing is seeded as 'others'"),
        ("{seeded: things}", "{seedet: things}", "6: operations.things.get.inputs.id.seedet: is not known"),
        ("{seeded: things}", "{range: [1, 2], list: [3]}", "6: operations.things.get.inputs.id: needs exactly one of"),
        ("{seeded: things}", "{count: 3}", "6: operations.things.get.inputs.id: needs exactly one of"),
        ("{seeded: things}", "{list: [3, null]}", "6: operations.things.get.inputs.id: list: an item can't be null"),
        ("{seeded: things}", "{file: none.csv, column: id}", "6: operations.things.get.inputs.id: can't read"),
        ("{seeded: things}", '{text: "{size}"}', "inputs.id: there is no input 'size' before it"),
        ("/things/{id}", "/things/{ident}", "4: operations.things.get: rest: there is no input 'ident'"),
        ("/things/{id}", "/things/{id|sideways}", "4: operations.things.get: rest: there is no form 'sideways'"),
        ("GET /", "FETCH /", "8: operations.things.get.rest.request: must match"),
        ("things.get:", "things.get: 5\n  x:", "4: operations.things.get: must be a mapping"),
        ("operations:", "operation:", "3: operation: is not known"),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """What is wrong is said in one line each, with the key and where it stands."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    said = f"{error.value.message}\n{error.value.details}"
    assert expected in said


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


def test_random_texts_and_bytes_have_their_size(tmp_path: Path) -> None:
    """Bytes are base64, as in JSON."""
    drawn = draw(tmp_path, "a: {random_text: 20}, b: {random_bytes: 20}")
    assert 20 == len(str(drawn["a"])) == len(base64.b64decode(str(drawn["b"])))


def test_inputs_from_files(tmp_path: Path) -> None:
    """A column of a CSV file, or a JSON list, beside the application file."""
    (tmp_path / "ids.csv").write_text("id,name\n5,Ann\n")
    (tmp_path / "ids.json").write_text(json.dumps([6]))
    assert {"a": "Ann", "b": 6} == draw(tmp_path, "a: {file: ids.csv, column: name}, b: {file: ids.json}")


def test_numbers_are_payloads_up_to_a_limit() -> None:
    """A scenario may say how many users a list has, but not more than the service gives."""
    listing = builtin().operations["users.list"]
    assert [True, False] == [listing.takes(size) for size in (10_000, 10_001)]
    drawings = [Drawing(random.Random(1), payload=size) for size in (None, "list", 7)]  # noqa: S311
    assert [20, 500, 7] == [builtin().draw("users.list", each)["limit"] for each in drawings]


def test_creating_operations_take_ids() -> None:
    """As many as a request creates records."""
    operations = ("users.create", "users.create_batch", "users.get")
    assert [1, 500, 0] == [builtin().ids_each(each, None) for each in operations]
