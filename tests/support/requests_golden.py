"""Requests of the Python model, for the Go tests of wireload: `python -m tests.support.requests_golden` writes them."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

from google.protobuf import descriptor_pool, json_format, message_factory
from wirebench_proto import echo_pb2, ledger_pb2, users_pb2  # noqa: F401 - registers the messages

from wirebench.model.application import Application, Operation, load_builtin, read_application
from wirebench.model.inputs import InputContext
from wirebench.model.template import Values, render
from wirebench.system.paths import ROOT

_TESTDATA = ROOT / "wireload/request/testdata"
GOLDEN = _TESTDATA / "golden.json"
_STREAMS: tuple[dict[str, int | None], ...] = (
    {"items": 12, "rate_limit_per_s": None},
    {"items": 12, "rate_limit_per_s": 500},
)
_FRESH, _CREATED, _NUMBER = 10_000_007, 10_000_003, 4
#: Payloads whose requests are small enough to keep.
_PAYLOADS: tuple[str | int | None, ...] = (None, "profile", "list", "long", 2)
_DRAWS = 4


def make_golden() -> dict[str, Any]:
    """Return the requests of the built-in application, and of one that has every kind of input."""
    inputs = read_application(_TESTDATA / "inputs.yaml")
    return {
        "application": inputs.model_dump(mode="json", exclude_unset=True, by_alias=True),
        "requests": [*_requests("users", load_builtin()), *_requests("inputs", inputs)],
    }


def _requests(source: str, application: Application) -> list[dict[str, Any]]:
    pick = random.Random(1)  # noqa: S311 - test data
    return [
        {
            "application": source,
            "operation": name,
            "payload": "" if payload is None else str(payload),
            "stream": stream,
            **_request(operation, application.draw(name, _drawing(pick, payload, stream))),
        }
        for name, operation in application.operations.items()
        for payload in _PAYLOADS
        if _is_small(application, name, payload)
        for stream in (_STREAMS if operation.stream else _STREAMS[:1])
        for _ in range(_DRAWS if source == "inputs" else 1)
    ]


def _is_small(application: Application, name: str, payload: str | int | None) -> bool:
    operation = application.operations[name]
    of_default_size = payload is None or operation.takes(payload)
    return of_default_size and (name != "users.create_batch" or isinstance(payload, int))


def _drawing(pick: random.Random, payload: str | int | None, stream: dict[str, int | None]) -> InputContext:
    return InputContext(pick, payload=payload, fresh=_FRESH, created=_CREATED, stream=stream, number=_NUMBER)


def _request(operation: Operation, values: Values) -> dict[str, Any]:
    assert operation.grpc
    assert operation.socket
    rest = operation.request_rest(values)
    body = render(operation.socket.body, values)
    return {
        "values": values,
        "rest": {**rest._asdict(), "body": rest.body and json.loads(rest.body)},
        "grpc": {"call": operation.grpc.call, "message": _message(operation.grpc.call, operation.request_grpc(values))},
        "socket": {"method": operation.socket.method, "body": body, "message": _message(operation.grpc.call, body)},
    }


def _message(call: str, fields: dict[str, Any]) -> str:
    service, _, method = call.partition("/")
    described = descriptor_pool.Default().FindServiceByName(service).methods_by_name[method].input_type
    message = json_format.ParseDict(fields, message_factory.GetMessageClass(described)())
    return base64.b64encode(message.SerializeToString(deterministic=True)).decode()


def dump_golden() -> str:
    """Return the golden file's text, with a line for each request."""
    golden = make_golden()
    application = json.dumps(golden["application"], ensure_ascii=False)
    requests = ",\n".join(json.dumps(request, ensure_ascii=False) for request in golden["requests"])
    return f'{{"application": {application},\n"requests": [\n{requests}\n]}}\n'


if __name__ == "__main__":
    GOLDEN.write_text(dump_golden(), encoding="utf-8")
