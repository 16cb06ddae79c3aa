"""Asks the socket service for one of the seeded users: HOST PORT [folder of the TLS certificate]."""

import json
import socket
import ssl
import struct
import sys
from pathlib import Path

USER_ID = 1_000_001
METHOD = b"users.get"
#: The frames of proto/socket.md, from their length to where their variable parts begin.
REQUEST, REPLY = struct.Struct(">IIB"), struct.Struct(">IIBBH")
LENGTH_BYTES = 4

host, port, *tls = sys.argv[1:]
connection = socket.create_connection((host, int(port)), timeout=20)
if tls:
    authority, certificate = Path(tls[0], "ca.crt"), Path(tls[0], "tls.crt")
    trust = ssl.create_default_context(cafile=authority if authority.exists() else certificate)
    connection = trust.wrap_socket(connection, server_hostname=host)

asked = json.dumps({"id": USER_ID}).encode()
length = REQUEST.size - LENGTH_BYTES + len(METHOD) + len(asked)
connection.sendall(b"WB1J" + REQUEST.pack(length, 1, len(METHOD)) + METHOD + asked)
with connection, connection.makefile("rb") as replies:
    length, _, status, _, message_length = REPLY.unpack(replies.read(REPLY.size))
    rest = replies.read(length - (REPLY.size - LENGTH_BYTES))
message, body = rest[:message_length].decode(), rest[message_length:]
print(f"{host}:{port} answered with status {status}, {message!r}: {body.decode()}")
sys.exit(0 if status == 0 and json.loads(body)["id"] == USER_ID else 1)
