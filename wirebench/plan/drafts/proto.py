"""Calls that satisfy a gRPC schema, with example values, and the REST requests that their HTTP rules describe."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote

from google.api import annotations_pb2, field_behavior_pb2  # what options are read with
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet, MethodOptions
from google.protobuf.descriptor_pool import DescriptorPool

from wirebench.errors import UsageError
from wirebench.plan.drafts.files import Draft, check_named, fold_name, to_snake_case

#: Services that belong to no application.
_INFRASTRUCTURE = re.compile(r"grpc\.(reflection|health|channelz)\.")
_VARIABLE = re.compile(r"\{([\w.]+)(?:=([^{}]+))?\}")
_BRACES = re.compile(r"\{[^{}]*\}")
#: How many fields are filled, unless more are required, and how deep a message has what a REST request has at its top.
_FIELDS_MAX, _DEPTH_MAX = 100, 2
#: A field that only a reply can fill (pages: AIP-158).
_SKIPPED = "page_token"
#: Messages with a form of their own in JSON. What others of this package hold is known to the service alone.
_WELL_KNOWN = {
    "Timestamp": "2024-01-01T00:00:00Z",
    "Duration": "1s",
    "Empty": {},
    "StringValue": "text",
    "BytesValue": "AQID",
    **dict.fromkeys(("DoubleValue", "FloatValue", "Int32Value", "Int64Value", "UInt32Value", "UInt64Value"), 1),
    "BoolValue": True,
}
_GOOGLE = "google.protobuf"
#: What a path has by name.
_NAMED = (FieldDescriptor.TYPE_ENUM, FieldDescriptor.TYPE_BOOL)
_VERBS = ("get", "put", "post", "delete", "patch")


class Schema:
    """The services of a FileDescriptorSet, whose files stand behind those that they import."""

    def __init__(self, descriptors: bytes) -> None:
        """Read what `wireload schema` has written. Raises UsageError."""
        pool = DescriptorPool()
        #: Calls, and why one can't be measured, or an empty text.
        self.calls: dict[str, str] = {}
        self.methods: dict[str, MethodDescriptor] = {}
        for file in FileDescriptorSet.FromString(descriptors).file:
            try:
                pool.Add(file)
            except TypeError as error:
                raise UsageError(f"{file.name}: {' '.join(str(error).split())}", "correct the proto file") from None
            for service in pool.FindFileByName(file.name).services_by_name.values():
                for method in () if _INFRASTRUCTURE.match(service.full_name) else service.methods:
                    call = f"{service.full_name}/{method.name}"
                    self.methods[call] = method
                    self.calls[call] = "the client streams its requests" if method.client_streaming else ""

    def list_rules(self, call: str) -> dict[str, str]:
        """Return the REST requests of a call by its HTTP rules (google.api.http), each with the field of its body."""
        option = self.methods[call].GetOptions().Extensions[annotations_pb2.http]
        rules = ((rule.WhichOneof("pattern"), rule) for rule in (option, *option.additional_bindings))
        return {f"{verb.upper()} {getattr(rule, verb)}": rule.body for verb, rule in rules if verb in _VERBS}

    def draft(self, call: str, request: str = "", rest: Draft | None = None) -> Draft:
        """Draft a call, with its REST request where one is named. Raises UsageError.

        A request has been drafted before, as `rest`, whose values are the message's, too; or it is that of a rule.
        """
        check_named(call, self.calls, "call")
        method, rules = self.methods[call], self.list_rules(call)
        service, _, name = call.partition("/")
        prefix = to_snake_case(service.rpartition(".")[2].removesuffix("Service") or service)
        is_read = method.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS
        draft = Draft(
            f"{prefix}.{to_snake_case(name)}",
            f"{request} = {call}" if request else call,
            writes=not (is_read or any(each.startswith("GET ") for each in (request, *rules))),
            stream=method.server_streaming,
        )
        if request and draft.stream != bool(rest and rest.stream):
            raise UsageError(f"{draft.about}: one of them is a stream", "pair it with another one, or name it alone")
        same = (each for each in rules if _BRACES.sub("{}", each) == _BRACES.sub("{}", request))
        rule = next(same, request)  # whatever its variables are called, or as if it were one
        body = rules.get(rule, "" if rule.startswith("GET ") else "*")
        given: dict[str, Any] = _insert_variables(draft, rule)
        if rest:
            draft.rest, draft.notes, draft.inputs = rest.rest, [*rest.notes], dict(rest.inputs)
            given = dict(_list_values(draft, method.input_type))
        message = _Message(draft, dict(given), body, only_given=rest is not None)
        values = message.fill(method.input_type)
        if message.given:
            hint = f"fields of {method.input_type.full_name}: {', '.join(method.input_type.fields_by_name)}"
            raise UsageError(f"{draft.about}: the message has no single field {next(iter(message.given))}", hint)
        if rest and (unset := [each.name for each in method.input_type.fields if each.name not in (values or {})]):
            draft.notes.append(f"The request has nothing for {', '.join(unset)}.")
        if request and not rest:
            draft.rest = _draft_rest(rule, body, given, values)
        draft.grpc = {"call": call, **({"message": values} if values else {})}
        return draft


@dataclass(slots=True)
class _Message:
    """Example values of a message, as JSON."""

    draft: Draft
    #: Values by the paths of their fields.
    given: dict[str, Any]
    #: The field that is a REST request's body, or `*`. Others are in its query, which has no lists of messages.
    body: str
    only_given: bool
    fields_left: int = _FIELDS_MAX

    def fill(self, kind: Descriptor, path: str = "", above: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - JSON
        """Return the values that are given, have to be there or are useful: of each `oneof` one."""
        if kind.file.package == _GOOGLE:
            return _WELL_KNOWN.get(kind.name)
        values: dict[str, Any] = {}
        oneofs = set()
        places = {f"{path}{field.name}": field for field in kind.fields}
        given = [place for place in places if any(f"{each}.".startswith(f"{place}.") for each in self.given)]
        for place in dict.fromkeys((*given, *places)):
            field = places[place]
            oneof = field.containing_oneof and field.containing_oneof.name
            if oneof in oneofs or not (place in given or self._wants(field)):
                continue
            if place in self.given:
                value = _adapt(field, self.given.pop(place))
                if field.type in _NAMED and not self.only_given:
                    self.draft.inputs[value.strip("{}")] = _choose_scalar(field)
            else:
                value = self._make(field, place, (*above, kind.full_name))
            if value is not None:
                is_list = field.is_repeated and not (field.message_type and field.message_type.GetOptions().map_entry)
                values[field.name] = [value] if is_list and not isinstance(value, list) else value
                oneofs |= {oneof} - {None}
        return values

    def _wants(self, field: FieldDescriptor) -> bool:
        """Return whether a field is required, by its label or its options, or is useful and isn't for replies."""
        behaviors = {*field.GetOptions().Extensions[field_behavior_pb2.field_behavior]}
        if field.is_required or field_behavior_pb2.REQUIRED in behaviors:
            return True
        # protoc puts each field with the label `optional` of proto3 into a `oneof` of its own.
        is_labelled = field.containing_oneof and field.containing_oneof.name == f"_{field.name}"
        without = {field_behavior_pb2.OPTIONAL, field_behavior_pb2.OUTPUT_ONLY} & behaviors
        is_usual = field.type != FieldDescriptor.TYPE_BOOL and field.name != _SKIPPED  # A flag is for what is unusual.
        return is_usual and not (self.only_given or is_labelled or without) and self.fields_left > 0

    def _make(self, field: FieldDescriptor, place: str, above: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
        """Return an example of what a field holds; None if it is left out."""
        kind = field.message_type
        self.fields_left -= 1
        if kind is None:
            if f"_{to_snake_case(field.name)}".endswith("_id"):
                self.draft.notes.append(f"Choose a value that exists: {place}.")
            return _choose_scalar(field)
        in_query = self.body not in ("*", place.partition(".")[0])
        is_opaque = kind.GetOptions().map_entry or (kind.file.package == _GOOGLE and kind.name not in _WELL_KNOWN)
        if is_opaque or (in_query and field.is_repeated):
            self.draft.notes.append(f"Left out: {place}, a {kind.full_name}.")
        elif kind.full_name not in above:
            return self.fill(kind, f"{place}.", above)
        elif field.is_required:
            raise UsageError(f"{self.draft.about}: requires {place} without end", "name another one")
        return None


def _adapt(field: FieldDescriptor, value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value of a REST request in the form that a field of a message takes."""
    if isinstance(value, str) and value.startswith("{"):  # an input, which may be a number
        return value.replace("}", "|text}") if field.type == FieldDescriptor.TYPE_STRING else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, list):
        return [_adapt(field, each) for each in value]
    if field.enum_type and isinstance(value, str):
        names = (each.name for each in field.enum_type.values)
        return next((each for each in names if fold_name(each).endswith(fold_name(value))), value)
    if field.type == FieldDescriptor.TYPE_BOOL and isinstance(value, str):
        return value == "true"
    return str(value) if is_number and field.type == FieldDescriptor.TYPE_STRING else value


def _choose_scalar(field: FieldDescriptor) -> Any:  # noqa: ANN401 - a single value of any type
    if field.enum_type:
        return field.enum_type.values[min(1, len(field.enum_type.values) - 1)].name  # the first: nothing was chosen
    text = "1" if f"_{to_snake_case(field.name)}".endswith("_id") else field.name
    values = {FieldDescriptor.TYPE_STRING: text, FieldDescriptor.TYPE_BYTES: "AQID", FieldDescriptor.TYPE_BOOL: True}
    return values.get(field.type, 1)


def _list_values(draft: Draft, kind: Descriptor) -> Iterator[tuple[str, Any]]:
    """Yield what a drafted REST request sends under names of the message's fields, by their paths."""
    sent = draft.rest or {}
    query, body = sent["request"].partition("?")[2], sent.get("body")
    texts = parse_qs(f"{query}&{body}" if isinstance(body, str) else query, keep_blank_values=True)
    values: dict[str, Any] = {name: each if len(each) > 1 else each[0] for name, each in texts.items()}
    paths: dict[str, str] = {}
    for path in sorted(_list_paths(kind), key=lambda each: each.count(".")):
        for name in (path, path.rpartition(".")[2]):
            paths.setdefault(fold_name(name), path)
    inputs = {name: f"{{{name}}}" for name in draft.inputs}
    if len(inputs) == 1 and not any(fold_name(each) in paths for each in inputs):
        inputs = {next(iter(paths)) if len(paths) == 1 else "id": each for each in inputs.values()}
    return _match_fields({**values, **(body if isinstance(body, dict) else {}), **inputs}, paths, draft.notes)


def _match_fields(
    values: Mapping[str, Any], paths: Mapping[str, str], notes: list[str], above: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield values that fields of a message have the names of, by the fields' paths."""
    for name, value in values.items():
        path = paths.get(fold_name(above + name), "")
        if isinstance(value, dict) and any(each.startswith(f"{path}.".lstrip(".")) for each in paths.values()):
            yield from _match_fields(value, paths, notes, f"{path or above + name}.")
        elif path:
            yield path, value
        else:
            notes.append(f"The message has no field for {above}{name}: do both ask for the same?")


def _list_paths(kind: Descriptor, above: str = "", depth: int = 0) -> Iterator[str]:
    for field in kind.fields:
        yield above + field.name
        inner = field.message_type
        if inner and inner.file.package != _GOOGLE and not field.is_repeated and depth < _DEPTH_MAX:
            yield from _list_paths(inner, f"{above}{field.name}.", depth + 1)


def _insert_variables(draft: Draft, rule: str) -> dict[str, Any]:
    """Make inputs of the variables of a path, and return their templates by the paths of their fields.

    `{name=shelves/*}` is `shelves/{shelves_id}`: only what stands for a star varies.
    """
    templates: dict[str, Any] = {}
    for name, pattern in _VARIABLE.findall(rule):
        parts: list[str] = []
        for part in (pattern or "*").split("/"):
            if part in ("*", "**"):
                own = to_snake_case(f"{parts[-1]}_id" if parts else name)
                draft.inputs[own] = "1"
                part = f"{{{own}}}"  # noqa: PLW2901 - it stands for the star
            parts.append(part)
        templates[name] = "/".join(parts)
    return templates


def _draft_rest(rule: str, body: str, templates: Mapping[str, str], values: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a REST request: what isn't in the path is in the body, or otherwise in the query."""
    request = _VARIABLE.sub(lambda match: templates[match[1]], rule)
    left = _leave_out(values, templates)
    sent = {"body": left}
    if body != "*":
        left = left if isinstance(left, dict) else {"value": left}
        sent = {"body": left.pop(body, {})} if body else {}
        query = "&".join(_list_parameters(left.items()))
        request = f"{request}?{query}" if query else request
    if not isinstance(sent.get("body", {}), dict | list):
        sent = {"headers": {"Content-Type": "application/json"}, "body": json.dumps(sent["body"])}
    return {"request": request, **sent}


def _leave_out(values: Any, paths: Collection[str], above: str = "") -> Any:  # noqa: ANN401 - JSON
    """Return JSON without what the fields of these paths hold."""
    if not isinstance(values, dict):
        return values
    kept = ((name, inner, f"{above}{name}") for name, inner in values.items() if f"{above}{name}" not in paths)
    return {name: _leave_out(inner, paths, f"{path}.") for name, inner, path in kept}


def _list_parameters(values: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Yield the parameters of fields, as grpc-gateway reads them."""
    for name, value in values:
        if isinstance(value, dict):
            yield from _list_parameters((f"{name}.{key}", inner) for key, inner in value.items())
        elif isinstance(value, list):
            yield from _list_parameters((name, inner) for inner in value)
        else:
            yield f"{name}={str(value).lower() if isinstance(value, bool) else quote(str(value))}"
