"""The charts say the same as the services, and as themselves. What they render, `make test-charts` tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from wirebench_services.settings import SETTINGS, Settings

from tests.support.waiting import run_program
from wirebench.system.paths import CHARTS, TOOLS

HELM = TOOLS / "helm"
TRANSPORTS = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
NAMES = [pytest.param(folder.parent.name) for folder in CHARTS.glob("*/Chart.yaml")]

Schema = dict[str, Any]


def read_values(chart: str) -> dict[str, Any]:
    """Return a chart's default values."""
    values: dict[str, Any] = yaml.safe_load((CHARTS / chart / "values.yaml").read_text(encoding="utf-8"))
    return values


def read_schema(chart: str) -> Schema:
    """Return the schema that a chart's values are checked against."""
    schema: Schema = json.loads((CHARTS / chart / "values.schema.json").read_text(encoding="utf-8"))
    return schema


def objects_in(schema: object) -> Iterator[Schema]:
    """Yield the parts of a schema that describe an object by its properties."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for part in schema.values():
            yield from objects_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects_in(part)


def default_of(settings: type[Settings], name: str) -> object:
    """Return a setting's default."""
    return settings.model_fields[name].default


@TRANSPORTS
def test_runtimes(settings: type[Settings]) -> None:
    """The chart knows the runtimes of each service, and has the same default."""
    runtime = read_schema("wirebench")["properties"][settings.transport]["properties"]["runtime"]
    assert list(get_args(settings.model_fields["runtime"].annotation)) == runtime["enum"]
    assert default_of(settings, "runtime") == read_values("wirebench")[settings.transport]["runtime"]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("workers", "workers"),
        ("store", "store"),
        ("seedUsers", "seed_users"),
        ("drainTimeoutSeconds", "drain_timeout_s"),
    ],
)
@TRANSPORTS
def test_common_defaults(settings: type[Settings], value: str, name: str) -> None:
    """A value that all services share has the default of their setting."""
    assert default_of(settings, name) == read_values("wirebench")["common"][value]


def test_environment() -> None:
    """Every environment variable of a service's container is a setting of a service."""
    template = (CHARTS / "wirebench" / "templates" / "_services.tpl").read_text(encoding="utf-8")
    start = template.index('define "wirebench.environment"')
    variables = set(re.findall(r'"([A-Z][A-Z_]+)" ', template[start : template.index("range $name", start)]))
    assert {"SEED_USERS", "STORE_URL_FILE"} <= variables
    assert set() == variables - {name.upper() for settings in SETTINGS.values() for name in settings.model_fields}


@TRANSPORTS
def test_ports(settings: type[Settings]) -> None:
    """The ports of the templates are those of the contract."""
    template = (CHARTS / "wirebench" / "templates" / "_services.tpl").read_text(encoding="utf-8")
    assert f'"{settings.transport}" {default_of(settings, "port")}' in template


@pytest.mark.parametrize("chart", NAMES)
def test_schema_is_closed(chart: str) -> None:
    """An object of values has no properties but those that are listed, so that a mistyped name is rejected."""
    # A part that refers to a closed definition is closed by that, and images are by the names that they may have.
    parts = [each for each in objects_in(read_schema(chart)) if not each.keys() & {"allOf", "propertyNames"}]
    assert [] == [each for each in parts if each.get("additionalProperties") is not False]


def test_common_values_have_defaults() -> None:
    """Every value that services have in common is in the documented values."""
    schema = read_schema("wirebench")
    own = {name for name, part in schema["properties"]["common"]["properties"].items() if part is False}
    assert schema["definitions"]["service"]["properties"].keys() - own == read_values("wirebench")["common"].keys()


@pytest.mark.parametrize("name", ["rules.yaml", "dashboards", "grafana"])
def test_observability_has_the_projects_own(name: str) -> None:
    """Rules, settings and dashboards are not copied: what the chart packs is what grafana/ holds."""
    assert (CHARTS.parent / "grafana") in (CHARTS / "observability" / "files" / name).resolve().parents


#: What has names, and what holds names by any key.
BY_NAME = {"labels", "matchLabels", "annotations", "selector"}
NAMING = BY_NAME | {"name", "namespace", "namespaces", "secretName", "subdomain", "value", "args", "command"}


def names_in(part: object, key: str = "") -> Iterator[object]:
    """Yield what an object says as names: of it and others, as labels, as arguments and as variables."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from names_in(value, key if key in BY_NAME else name)
    elif isinstance(part, list):
        for value in part:
            yield from names_in(value, key)
    elif key in NAMING:
        yield part


@pytest.mark.skipif(not HELM.exists(), reason="helm is not built: make test-charts")
@pytest.mark.parametrize(
    "values", sorted(CHARTS.glob("*/ci/*-values.yaml")), ids=lambda path: f"{path.parents[1].name}-{path.stem}"
)
def test_names_are_text(values: Path) -> None:
    """Also those of a release and a namespace that YAML takes for something else where they aren't quoted."""
    chart = values.parents[1]
    command: list[str | Path] = [HELM, "template", "no", chart, "--namespace", "2024", "--values", values]
    objects = list(yaml.safe_load_all(run_program(command, check=True).stdout))
    assert len(objects) > 1
    assert [] == [each for each in names_in(objects) if not isinstance(each, str)]
