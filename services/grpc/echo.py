"""The RPCs of EchoService."""

from __future__ import annotations

from services.grpc.rpcs import RpcService

SERVICE = RpcService(
    "wirebench.v1.EchoService",
    {
        "Echo": "echo.echo",
        "Upper": "echo.upper",
    },
)
