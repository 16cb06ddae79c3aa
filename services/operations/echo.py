"""The operations that give back what they get."""

from __future__ import annotations

from typing import Any

from wirebench_proto import echo_pb2 as pb

from services.domain import echo
from services.operations.codec import bytes_of_json, json_of_bytes, only
from services.operations.operation import Operation


def _fill_payload(response: Any, payload: bytes) -> None:  # noqa: ANN401 - a generated message
    response.data.payload = payload


def _fill_text(response: Any, text: str) -> None:  # noqa: ANN401
    response.data.text = text


OPERATIONS = (
    Operation(
        name="echo.echo",
        message="Payload echoed successfully",
        request=pb.EchoRequest,
        response=pb.EchoResponse,
        call=lambda _, fields: echo.echo(fields.get("payload")),
        fields_of_json=lambda fields: {"payload": bytes_of_json("payload", only(fields, "payload").get("payload"))},
        fields_of_message=lambda message: {"payload": message.payload},
        json_of_value=lambda payload: {"payload": json_of_bytes(payload)},
        fill_message=_fill_payload,
    ),
    Operation(
        name="echo.upper",
        message="Text upper-cased successfully",
        request=pb.UpperRequest,
        response=pb.UpperResponse,
        call=lambda _, fields: echo.upper(fields.get("text")),
        fields_of_json=lambda fields: only(fields, "text"),
        fields_of_message=lambda message: {"text": message.text},
        json_of_value=lambda text: {"text": text},
        fill_message=_fill_text,
    ),
)
