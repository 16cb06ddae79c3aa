"""First versions of gRPC operations, and of their REST requests where methods have HTTP rules (google.api.http)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.api import annotations_pb2, field_behavior_pb2  # what options are read with
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions

from wirebench.plan.drafts.draft import Draft, to_snake_case
from wirebench.plan.drafts.schema import INFRASTRUCTURE, ONE_VALUE, Schema, find_map_entry

#: Names of methods that change nothing, where their options don't declare it.
_READING = re.compile(
    r"(BatchGet|Check|Count|Describe|Echo|Exists|Fetch|Find|Get|Has|Is|List|Lookup|Ping|Query|Read|Retrieve|Search|Show"
    r"|Stat|Status|Stream|Subscribe|Validate|Verify|Watch)(?![a-z])"
)
#: Fields of pages, which only a reply can fill (AIP-158).
_PAGING = {"page_token"}
_DEPTH_MAX = 6
_VARIABLE = re.compile(r"\{([\w.]+)(?:=([^{}]+))?\}")
#: The JSON of Google's messages that isn't an object of their fields; None is left out.
_KNOWN: dict[str, Any] = {
    "google.protobuf.Timestamp": "2026-01-31T12:00:00Z",
    "google.protobuf.Duration": "1s",
    "google.protobuf.Struct": {},
    **dict.fromkeys(f"google.protobuf.{name}" for name in ("Any", "FieldMask", "ListValue", "Value")),
}
_NUMBERS = {FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE}


def draft_methods(schema: Schema) -> Iterator[tuple[str, Draft]]:
    for service in schema.services.values():
        if INFRASTRUCTURE.match(service.full_name):
            continue
        prefix = to_snake_case(service.name.removesuffix("Service") or service.name)
        for method in service.methods:
            if not method.client_streaming and not _is_value(method.input_type):
                yield f"{prefix}.{to_snake_case(method.name)}", _draft_method(method)


def _draft_method(method: MethodDescriptor) -> Draft:
    call = f"{method.containing_service.full_name}/{method.name}"
    rule = method.GetOptions().Extensions[annotations_pb2.http]
    verb = rule.WhichOneof("pattern")
    draft = Draft(call, writes=_is_write(method, verb), stream=method.server_streaming)
    target = getattr(rule, verb) if verb and verb != "custom" else ""
    in_path = _fix_patterns(draft, target)
    message = _MessageDrafter(draft, in_path).draft(method.input_type)
    draft.grpc = {"call": call, **({"message": message} if message else {})}
    if target and not draft.stream:
        path = _VARIABLE.sub(lambda match: _find_value(message, match[1]), target)
        left = _remove_paths(message, in_path)
        draft.rest = _draft_rest(f"{verb.upper()} {path}", rule.body, left, method.input_type)
    return draft


def _draft_rest(request: str, body: str, left: dict[str, Any], message: Descriptor) -> dict[str, Any]:
    """Return a REST request: what isn't in the path is in the body, or otherwise in the query."""
    if body == "*":
        return {"request": request, "body": left}
    sent = {"body": left.pop(body, {})} if body else {}
    query = "&".join(_build_query(left, message))
    return {"request": f"{request}?{query}" if query else request, **sent}


def _is_write(method: MethodDescriptor, verb: str | None) -> bool:
    """Return whether a method may change what the service keeps: by its options, or else its name."""
    if method.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS:
        return False
    return verb in ("put", "patch", "delete") or not (verb == "get" or _READING.match(method.name))


def _fix_patterns(draft: Draft, target: str) -> dict[str, str | None]:
    """Return the fields in the path of an HTTP rule, with templates of those that have a pattern.

    `{name=shelves/*}` is `shelves/{shelves_id}`: only what stands for a star varies.
    """
    fields: dict[str, str | None] = {}
    for name, pattern in _VARIABLE.findall(target):
        parts: list[str] = []
        for part in pattern.split("/"):
            owner = (parts[-1], "id") if parts else tuple(name.split("."))
            parts.append(draft.add_input(owner, {"random_text": 10}) if part in ("*", "**") else part)
        fields[name] = "/".join(parts) if pattern else None
    return fields


def _find_value(message: Mapping[str, Any], path: str) -> str:
    """Return the template of a field as it stands in a path; lists have one item."""
    value: Any = message
    for name in path.split("."):
        value = value[name]
    return str(value[0] if isinstance(value, list) else value)


def _remove_paths(message: Mapping[str, Any], paths: Collection[str], above: str = "") -> dict[str, Any]:
    return {
        name: _remove_paths(value, paths, f"{above}{name}.") if isinstance(value, dict) else value
        for name, value in message.items()
        if f"{above}{name}" not in paths
    }


def _build_query(message: Mapping[str, Any], descriptor: Descriptor, above: str = "") -> Iterator[str]:
    """Yield the parameters of fields, as grpc-gateway reads them; lists and maps of messages can't be in a query."""
    for name, value in message.items():
        field = descriptor.fields_by_name[name]
        if find_map_entry(field):
            yield from (f"{above}{name}%5B{key}%5D={each}" for key, each in value.items() if not isinstance(each, dict))
        elif isinstance(value, list):
            yield from (f"{above}{name}={each}" for each in value if not isinstance(each, dict))
        elif isinstance(value, dict) and field.message_type:
            yield from _build_query(value, field.message_type, f"{above}{name}.")
        else:
            yield f"{above}{name}={value}"


@dataclass(frozen=True, slots=True)
class _MessageDrafter:
    """Drafts messages; `fixed` are the paths of fields that must be there, some with their templates."""

    operation: Draft
    fixed: Mapping[str, str | None]

    def draft(self, message: Descriptor, path: tuple[str, ...] = (), above: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return a message with all fields that have to be there, and of each `oneof` the first."""
        drafted: dict[str, Any] = {}
        chosen = set()
        for field in message.fields:
            oneof = field.containing_oneof and field.containing_oneof.name
            inner = (*path, field.name)
            own = ".".join(inner)
            is_fixed = any(each == own or each.startswith(f"{own}.") for each in self.fixed)
            if not is_fixed and (oneof in chosen or _is_optional(field)):
                continue
            value = self._draft_value(field, inner, (*above, message.full_name))
            if value is not None:
                drafted[field.name] = value
                chosen |= {oneof} - {None}
        return drafted

    def _draft_value(self, field: FieldDescriptor, path: tuple[str, ...], above: tuple[str, ...]) -> Any:  # noqa: ANN401
        fixed = self.fixed.get(".".join(path))
        if fixed:
            return fixed
        if entry := find_map_entry(field):
            inner = self._draft_single(entry.fields_by_name["value"], path, above)
            return None if inner is None else {_draft_map_key(entry.fields_by_name["key"]): inner}
        value = self._draft_single(field, path, above)
        return [value] if field.is_repeated and value is not None else value

    def _draft_single(self, field: FieldDescriptor, path: tuple[str, ...], above: tuple[str, ...]) -> Any:  # noqa: ANN401
        message = field.message_type
        if message is None:
            return self.operation.add_input(path, _draft_input(field))
        if message.full_name in _KNOWN:
            return _KNOWN[message.full_name]
        if _is_value(message):
            return self.operation.add_input(path, _draft_input(message.fields_by_name["value"]))
        if message.full_name in above or len(above) >= _DEPTH_MAX:
            return None
        return self.draft(message, path, above)


def _is_value(message: Descriptor) -> bool:
    return message.full_name in ONE_VALUE


def _is_optional(field: FieldDescriptor) -> bool:
    """Return whether a field may be left out, or is only for replies, by its options or its label."""
    behaviors = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
    if field_behavior_pb2.REQUIRED in behaviors:
        return False
    # protoc puts each field with the label `optional` of proto3 into a `oneof` of its own.
    is_labelled = field.containing_oneof is not None and field.containing_oneof.name == f"_{field.name}"
    without = {field_behavior_pb2.OPTIONAL, field_behavior_pb2.OUTPUT_ONLY} & set(behaviors)
    return bool(is_labelled or without or field.name in _PAGING)


def _draft_map_key(key: FieldDescriptor) -> str:
    if key.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return "key"
    return "true" if key.cpp_type == FieldDescriptor.CPPTYPE_BOOL else "1"


def _draft_input(field: FieldDescriptor) -> dict[str, Any]:
    if field.enum_type:
        names = [each.name for each in field.enum_type.values]
        # The first means that nothing was chosen.
        return {"list": names[1:] or names}
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return {"list": [True, False]}
    if field.cpp_type in _NUMBERS:
        return {"list": [0.5, 1.5, 2.5]}
    if field.type == FieldDescriptor.TYPE_BYTES:
        return {"bytes": 16}
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return {"random_text": 10}
    return {"range": [1, 1000]}
