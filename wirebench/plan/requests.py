"""An application and a scenario from requests on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from wirebench.errors import UsageError
from wirebench.model.address import parse_address
from wirebench.model.source import dump_yaml
from wirebench.model.variant import REFLECTION, Limit, is_loopback
from wirebench.plan.drafts.files import make_address_keys
from wirebench.system.tls import ClientTls, split_address

#: The file of the application, and its only operation.
APPLICATION_NAME = "requests-application.yaml"
_OPERATION = "request"
_REST = re.compile(r"(?:(GET|POST|PUT|PATCH|DELETE) +)?(https?://\S+)(?: +(.+))?", re.DOTALL)
_GRPC = re.compile(r"(\S+) +([\w.]+/\w+)(?: +(.+))?", re.DOTALL)
_SOCKET = re.compile(r"(\S+) +([^\r\n]+)")
_PORTS = {"http": 80, "https": 443}


def compare_requests(  # noqa: PLR0913 - requests by transport, and what all have
    rest: Sequence[str],
    grpc: Sequence[str],
    socket: Sequence[str],
    *,
    status: int | None = None,
    headers: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    tls: ClientTls | None = None,
    limit: Limit | None = None,
    ignore_bodies: bool = False,
) -> tuple[str, str]:
    """Return the texts of an application file and of a scenario that compares these requests.

    `status` is the expected status of REST replies, and `headers` are by transport. `limit` limits the load on services
    on other machines, which need one. Raises UsageError.
    """
    operation: dict[str, Any] = {}
    variants: dict[str, dict[str, Any]] = {}
    parsers = {"rest": (_parse_rest, rest), "grpc": (_parse_grpc, grpc), "socket": (_parse_socket, socket)}
    for transport, parse, text in ((name, parse, text) for name, (parse, texts) in parsers.items() for text in texts):
        address, request = parse(text)
        _check_address(f"--{transport}", address)
        if status and transport == "rest":
            request["expect"] = {"status": status}
        others = sum(variant["transport"] == transport for variant in variants.values())
        name = f"{transport}-{others + 1}" if others else transport
        if operation.setdefault(transport, request) != request:
            operation.setdefault("variants", {})[name] = request
        schema = {"schema": REFLECTION} if transport == "grpc" else {}
        variants[name] = {"transport": transport, **make_address_keys(address, tls), **schema}
        if transport in headers:
            variants[name]["headers"] = dict(headers[transport])
        if is_loopback(split_address(address)[0]):
            continue
        if limit is None:
            hint = "add --rate N and --concurrency N, which limit the load on these services"
            raise UsageError(f"{address}: not a loopback address, so a limit is required", hint)
        variants[name]["limit"] = limit.model_dump()
    if len(variants) > 1 and not ignore_bodies:
        operation["same"] = dict.fromkeys((each["transport"] for each in variants.values()), "")
    question = f"Which answers faster: {' or '.join(variants)}?" if len(variants) > 1 else "How fast is it?"
    scenario = {
        "question": question,
        "application": APPLICATION_NAME,
        "factors": {"variant": list(variants), "operation": _OPERATION, "concurrency": 8},
        "load": {"model": "closed", "warmup_s": 1.0, "window_s": 5.0},
        "blocks": 5,
        **({"compare": "variant"} if len(variants) > 1 else {}),
    }
    application = {"application": "requests", "operations": {_OPERATION: operation}, "variants": variants}
    return dump_yaml(application), dump_yaml(scenario)


def _parse_rest(text: str) -> tuple[str, dict[str, Any]]:
    """Return the address and the request of an option. Raises UsageError."""
    match = _REST.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--rest {text!r}: not a request", "write --rest 'GET http://127.0.0.1:8080/items/1'")
    method, url, body = match.groups()
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except ValueError as error:
        raise UsageError(f"--rest {text!r}: {error}", "correct the URL") from None
    if not parts.hostname or parts.username is not None:
        raise UsageError(f"--rest {text!r}: not a URL of a host alone", "write http://HOST:PORT/PATH")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    request: dict[str, Any] = {"request": f"{method or ('POST' if body else 'GET')} {target}"}
    if body:
        value = _read_json(body)
        request["body"] = value if isinstance(value, dict | list) else body
    return f"{parts.scheme}://{host}:{port}", request


def _parse_grpc(text: str) -> tuple[str, dict[str, Any]]:
    match = _GRPC.fullmatch(text.strip())
    message = _read_json(match[3]) if match and match[3] else {}
    if match is None or not isinstance(message, dict):
        hint = """write --grpc '127.0.0.1:50051 shop.Catalog/GetItem {"id": 1}'"""
        raise UsageError(f"--grpc {text!r}: not a call with a message in JSON", hint)
    return match[1], {"call": match[2], **({"message": message} if message else {})}


def _parse_socket(text: str) -> tuple[str, dict[str, Any]]:
    match = _SOCKET.fullmatch(text)
    if match is None:
        raise UsageError(f"--socket {text!r}: not an address and a line", "write --socket '127.0.0.1:9000 get 1'")
    return match[1], {"line": match[2]}


def _check_address(flag: str, address: str) -> None:
    """Raise UsageError for what isn't an address."""
    try:
        parse_address(split_address(address)[0])
    except UsageError as error:
        raise UsageError(f"{flag}: {error.message}", error.hint) from None


def _read_json(text: str) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(text)
    except ValueError:
        return None
