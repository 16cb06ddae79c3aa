"""Asks the REST service for one of the seeded users: HOST PORT [folder of the TLS certificate]."""

import http.client
import json
import ssl
import sys
from pathlib import Path

USER_ID = 1_000_001

host, port, *tls = sys.argv[1:]
if tls:
    authority, certificate = Path(tls[0], "ca.crt"), Path(tls[0], "tls.crt")
    trust = ssl.create_default_context(cafile=authority if authority.exists() else certificate)
    connection = http.client.HTTPSConnection(host, int(port), timeout=20, context=trust)
else:
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
connection.request("GET", f"/api/users/{USER_ID}")
response = connection.getresponse()
body = response.read()
print(f"{host}:{port} answered {response.status}: {body.decode()}")
sys.exit(0 if response.status == http.HTTPStatus.OK and json.loads(body)["data"]["id"] == USER_ID else 1)
