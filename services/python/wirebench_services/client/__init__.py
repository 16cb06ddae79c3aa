"""Clients of the contract: one file a transport, and the same words for all of them.

`with CLIENTS["rest"](("127.0.0.1", 5000)) as client: client.call("users.get", {"id": 1_000_001})`
"""

from wirebench_services.client.client import Client, ClientError, Fields, Reply
from wirebench_services.client.grpc import GrpcClient
from wirebench_services.client.rest import RestClient
from wirebench_services.client.socket import SocketClient
from wirebench_services.contract import OPERATIONS

CLIENTS: dict[str, type[Client]] = {each.transport: each for each in (RestClient, GrpcClient, SocketClient)}

__all__ = ["CLIENTS", "OPERATIONS", "Client", "ClientError", "Fields", "Reply", "RestClient", "SocketClient"]
