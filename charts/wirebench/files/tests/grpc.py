"""Asks the gRPC service for one of the seeded users: HOST PORT [folder of the TLS certificate]."""

import sys
from pathlib import Path

import grpc
from wirebench_proto.users_pb2 import GetUserRequest
from wirebench_proto.users_pb2_grpc import UserServiceStub

USER_ID = 1_000_001

host, port, *tls = sys.argv[1:]
if tls:
    authority, certificate = Path(tls[0], "ca.crt"), Path(tls[0], "tls.crt")
    trust = grpc.ssl_channel_credentials((authority if authority.exists() else certificate).read_bytes())
    channel = grpc.secure_channel(f"{host}:{port}", trust)
else:
    channel = grpc.insecure_channel(f"{host}:{port}")
with channel:
    reply = UserServiceStub(channel).GetUser(GetUserRequest(id=USER_ID), timeout=20)
print(f"{host}:{port} answered: {reply}")
sys.exit(0 if reply.success and reply.data.id == USER_ID else 1)
