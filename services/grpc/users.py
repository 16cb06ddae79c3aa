"""The RPCs of UserService."""

from __future__ import annotations

from services.grpc.rpcs import RpcService

SERVICE = RpcService(
    "wirebench.v1.UserService",
    {
        "CreateUser": "users.create",
        "GetUser": "users.get",
        "UpdateUser": "users.update",
        "DeleteUser": "users.delete",
        "ListUsers": "users.list",
        "CreateUserBatch": "users.create_batch",
    },
)
