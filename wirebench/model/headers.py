"""Validation of REST headers and gRPC metadata. wireload/request/headers.go has the same rules."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated

from pydantic import AfterValidator

from wirebench.model.template import find_placeholders
from wirebench.model.variables import find_variables

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_KEY = re.compile(r"[0-9A-Za-z_.-]+")
#: Headers of the connection and the framing, which drivers set.
_RESERVED = (
    "connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade",
)  # fmt: skip
#: Set by gRPC clients.
_RESERVED_METADATA = ("content-type", "host", "user-agent")


def check_headers(headers: dict[str, str]) -> dict[str, str]:
    """Return headers that can be sent. Raises ValueError."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} can't be the name of a header")
        if name.lower() in _RESERVED:
            raise ValueError(f"{name}: drivers send it by themselves")
        if any((ord(each) < ord(" ") and each != "\t") or each == "\x7f" for each in value):
            raise ValueError(f"{name}: its value has a line break or another control character")
    return headers


def check_metadata(metadata: dict[str, str]) -> dict[str, str]:
    """Return metadata that can be sent. Raises ValueError."""
    for key, value in check_headers(metadata).items():
        name = key.lower()
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} can't be a key of metadata")
        if name in _RESERVED_METADATA or name.startswith("grpc-"):
            raise ValueError(f"{key}: drivers send it by themselves")
        if not value.isascii():
            raise ValueError(f"{key}: its value isn't ASCII; a key that ends in -bin takes any bytes, in base64")
        if name.endswith("-bin") and not _may_be_base64(value):
            raise ValueError(f"{key}: its value isn't base64")
    return metadata


def _may_be_base64(text: str) -> bool:
    if any(find_placeholders(text)) or any(find_variables(text)):
        return True
    try:
        base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return False
    return True


Headers = Annotated[dict[str, str], AfterValidator(check_headers)]
Metadata = Annotated[dict[str, str], AfterValidator(check_metadata)]
