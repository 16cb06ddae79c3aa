"""An application of a user, with a scenario."""

from __future__ import annotations

from pathlib import Path

from wirebench.model.scenario import Scenario
from wirebench.plan.load import read_scenario

APPLICATION = """\
application: shop
operations:
  item:
    inputs: {id: {range: [1, 9]}}
    rest: {request: "GET /items/{id}", headers: {Authorization: "Bearer ${SHOP_TOKEN}"}}
    grpc: {call: shop.Catalog/Get, message: {id: "{id}"}}
    same: {rest: name, grpc: name}
  note: {rest: {request: POST /notes, body: "a text"}}
  feed: {stream: true, grpc: {call: shop.Catalog/Feed}}
  line: {socket: {line: "GET {key}"}, inputs: {key: {value: a}}}
variants:
  rest-v1: {transport: rest, start: "shop --port {port} --workers {workers}", headers: {Accept: application/json}}
  rest-v2: {transport: rest, start: "shop2 --port {port}", address: "127.0.0.1:80", tls: {}}
  grpc: {transport: grpc, start: "shop --grpc {port}", address: "shop.example.com:443", schema: shop.proto}
  lines: {transport: socket, start: "shop --lines {port}"}
"""
SCENARIO = """\
question: Which?
application: shop.yaml
factors:
  variant: [rest-v1, rest-v2]
  operation: item
load: {window_s: 1}
"""


PROTO = """\
syntax = "proto3";
package shop;
service Catalog {
  rpc Get(Id) returns (Item);
  rpc Feed(Id) returns (stream Item);
}
message Id { int32 id = 1; }
message Item { string name = 1; }
"""


def read(folder: Path, text: str = SCENARIO, application: str = APPLICATION) -> Scenario:
    """Read a scenario of this text, with an application file beside it."""
    (folder / "shop.yaml").write_text(application, encoding="utf-8")
    (folder / "shop.proto").write_text(PROTO, encoding="utf-8")
    (folder / "scenario.yaml").write_text(text, encoding="utf-8")
    return read_scenario(folder / "scenario.yaml")
