"""The messages of a gRPC service: from proto files, or from the service itself."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wirebench.drivers.wireload import carry_out
from wirebench.errors import UsageError
from wirebench.system.processes import ProcessError
from wirebench.system.tls import ClientTls, split_address


def compile_schema(protos: Sequence[Path], imports: Sequence[Path]) -> bytes:
    """Return the FileDescriptorSet of proto files or compiled sets, with all that they import.

    Raises UsageError, with the line of a proto.
    """
    return _read_schema({"protos": protos, "imports": imports}, "correct the proto files, or `imports`")


def reflect(
    address: str,
    tls: ClientTls | None = None,
    calls: Sequence[str] = (),
    headers: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Return the FileDescriptorSet of these calls (`package.Service/Method`), or of all services, by server reflection.

    `headers` are sent as metadata, with the values of environment variables. Raises UsageError.
    """
    bare, chosen = split_address(address, tls)
    hint = "see whether the service runs and serves reflection, or give proto files: `schema: shop.proto`"
    return _read_schema({"reflection": bare, "tls": chosen, "calls": calls, "metadata": dict(headers)}, hint)


def _read_schema(job: dict[str, Any], hint: str) -> bytes:
    try:
        return base64.b64decode(carry_out("schema", job)[0])
    except ProcessError as error:
        first, *others = error.details.removeprefix("wireload: ").splitlines() or [error.message]
        raise UsageError(first, hint, "\n".join(others)) from None
