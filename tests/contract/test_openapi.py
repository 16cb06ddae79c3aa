"""REST is what `openapi.yaml` says: requests made from it, valid and invalid, get the replies that it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.services import REST_KINDS, Service, started
from wirebench.system.paths import ROOT

# The description can't say what a message looks like: any bytes are sent as one.
schemathesis.openapi.media_type("application/x-protobuf", st.binary(max_size=100))
schema = schemathesis.openapi.from_path(ROOT / "proto" / "openapi.yaml")


@pytest.fixture(scope="module", params=REST_KINDS, ids=str)
def own_service(request: pytest.FixtureRequest, logs: Path) -> Iterator[Service]:
    """Return a service that no other test has: made-up requests delete and create anything."""
    with started(request.param, logs) as running:
        yield running


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_requests_made_from_the_description(case: schemathesis.Case[Any], own_service: Service) -> None:
    """No request breaks the service, and status, headers and body of its reply are described."""
    if case.path == "/transactions/stream" and str((case.query or {}).get("limit", 1)).isdecimal():
        case.query = {"limit": 1, **(case.query or {})}
        case.query["limit"] = min(1, int(case.query["limit"]))  # else one at a time may take a day
    case.call_and_validate(
        base_url=f"http://{own_service.address}",
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
            negative_data_rejection,
        ],
    )
