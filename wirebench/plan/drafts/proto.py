"""Calls that satisfy a gRPC schema, with example values, and the REST requests that their HTTP rules describe."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from google.api import annotations_pb2, field_behavior_pb2  # what options are read with
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet, MethodOptions
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from wirebench.errors import UsageError
from wirebench.plan.drafts.files import Draft, check_named, fold_name, to_snake_case

#: Services that belong to no application.
_INFRASTRUCTURE = re.compile(r"grpc\.(reflection|health|channelz)\.")
_VARIABLE = re.compile(r"\{([\w.]+)(?:=([^{}]+))?\}")
_BRACES = re.compile(r"\{[^{}]*\}")
_DEPTH_MAX = 6
#: Fields that only a reply can fill (pages: AIP-158), or that a whole second doesn't need.
_SKIPPED = {"page_token", "nanos"}
#: Messages whose contents are known to the service alone.
_LEFT_OUT = {f"google.protobuf.{name}" for name in ("Any", "FieldMask", "ListValue", "Struct", "Value")}
_VERBS = ("get", "put", "post", "delete", "patch")


class Schema:
    """The services of a FileDescriptorSet, whose files stand behind those that they import."""

    def __init__(self, descriptors: bytes) -> None:
        """Read what `wireload schema` has written."""
        pool = DescriptorPool()
        #: Calls, and why one can't be measured, or an empty text.
        self.calls: dict[str, str] = {}
        self._methods: dict[str, MethodDescriptor] = {}
        for file in FileDescriptorSet.FromString(descriptors).file:
            pool.Add(file)
            for service in pool.FindFileByName(file.name).services_by_name.values():
                for method in () if _INFRASTRUCTURE.match(service.full_name) else service.methods:
                    call = f"{service.full_name}/{method.name}"
                    self._methods[call] = method
                    self.calls[call] = "the client streams its requests" if method.client_streaming else ""

    def list_rules(self, call: str) -> dict[str, str]:
        """Return the REST requests of a call by its HTTP rules (google.api.http).

        Each has the field that is its body, `*` for all that isn't in the path, or an empty text.
        """
        option = self._methods[call].GetOptions().Extensions[annotations_pb2.http]
        rules = ((rule.WhichOneof("pattern"), rule) for rule in (option, *option.additional_bindings))
        return {f"{verb.upper()} {getattr(rule, verb)}": rule.body for verb, rule in rules if verb in _VERBS}

    def draft(self, call: str, request: str = "", rest: Draft | None = None) -> Draft:
        """Draft a call, with its REST request where one is named.

        A request is that of an HTTP rule, or is taken to be like one, or has been drafted before: `rest`, whose values
        the message takes over. Raises UsageError.
        """
        check_named(call, self.calls, "call")
        method = self._methods[call]
        service, _, name = call.partition("/")
        prefix = to_snake_case(service.rpartition(".")[2].removesuffix("Service") or service)
        draft = Draft(
            f"{prefix}.{to_snake_case(name)}",
            f"{request} = {call}" if request else call,
            writes=method.GetOptions().idempotency_level != MethodOptions.NO_SIDE_EFFECTS,
            stream=method.server_streaming,
        )
        message = GetMessageClass(method.input_type)()
        _fill(message, draft.notes)
        templates: dict[str, str] = {}
        if rest:
            templates = _share_values(draft, rest, message)
            draft.rest, draft.notes = rest.rest, rest.notes + draft.notes
            draft.writes = draft.writes and rest.writes
        elif request:
            rule, body = self._find_rule(call, request)
            templates = _insert_variables(draft, rule, message)
            draft.rest = _draft_rest(rule, body, templates, message)
            draft.writes = draft.writes and not rule.startswith(("GET ", "HEAD "))
        if request and draft.stream != bool(rest and rest.stream):
            raise UsageError(f"{draft.about}: one of them is a stream", "pair it with another one, or name it alone")
        values: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
        for path, template in templates.items():
            *above, name = path.split(".")
            functools.reduce(operator.getitem, above, values)[name] = template
        draft.grpc = {"call": call, **({"message": values} if values else {})}
        return draft

    def _find_rule(self, call: str, request: str) -> tuple[str, str]:
        for rule, body in self.list_rules(call).items():
            if _BRACES.sub("{}", rule) == _BRACES.sub("{}", request):
                return rule, body
        return request, "" if request.startswith(("GET ", "HEAD ", "DELETE ")) else "*"


def _fill(message: Message, notes: list[str], path: str = "", above: tuple[str, ...] = ()) -> None:
    """Set all fields that have to be there, and of each `oneof` the first that can be."""
    above = (*above, message.DESCRIPTOR.full_name)
    for field in cast("Sequence[FieldDescriptor]", message.DESCRIPTOR.fields):
        kind, oneof, place = field.message_type, field.containing_oneof, f"{path}{field.name}"
        if _is_optional(field) or (oneof and message.WhichOneof(oneof.name)):
            continue
        if kind and (kind.full_name in _LEFT_OUT or kind.GetOptions().map_entry):
            notes.append(f"Left out: {place}, a {kind.full_name}.")
        elif kind and kind.full_name not in above and len(above) < _DEPTH_MAX:
            inner = getattr(message, field.name).add() if field.is_repeated else getattr(message, field.name)
            inner.SetInParent()
            _fill(inner, notes, f"{place}.", above)
        elif not kind and field.is_repeated:
            getattr(message, field.name).append(_choose_scalar(field))
        elif not kind:
            setattr(message, field.name, _choose_scalar(field))


def _is_optional(field: FieldDescriptor) -> bool:
    """Return whether a field may be left out, or is only for replies, by its options or its label."""
    behaviors = set(field.GetOptions().Extensions[field_behavior_pb2.field_behavior])
    # protoc puts each field with the label `optional` of proto3 into a `oneof` of its own.
    is_labelled = field.containing_oneof is not None and field.containing_oneof.name == f"_{field.name}"
    without = {field_behavior_pb2.OPTIONAL, field_behavior_pb2.OUTPUT_ONLY} & behaviors
    return field_behavior_pb2.REQUIRED not in behaviors and bool(is_labelled or without or field.name in _SKIPPED)


def _choose_scalar(field: FieldDescriptor) -> Any:  # noqa: ANN401 - a single value of any type
    if field.enum_type:
        values = field.enum_type.values
        return values[min(1, len(values) - 1)].number  # the first means that nothing was chosen
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b"\1\2\3"
    if field.type == FieldDescriptor.TYPE_STRING:
        return "1" if fold_name(field.name).endswith("id") else field.name
    return 1


def _set(message: Message, path: str, value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Set the field of a path to a value of JSON, and return whether it takes it."""
    for name in reversed(path.split(".")):
        value = {name: value}
    try:
        ParseDict(value, message)
    except ParseError:
        return False
    return True


def _insert_variables(draft: Draft, rule: str, message: Message) -> dict[str, str]:
    """Make inputs of the variables of a path, and return their templates by the paths of their fields.

    `{name=shelves/*}` is `shelves/{shelves_id}`: only what stands for a star varies. Raises UsageError.
    """
    templates = {}
    for name, pattern in _VARIABLE.findall(rule):
        parts: list[str] = []
        for part in (pattern or "*").split("/"):
            if part in ("*", "**"):
                own = to_snake_case(f"{parts[-1]}_id" if parts else name)
                draft.inputs[own] = "1"
                part = f"{{{own}}}"  # noqa: PLW2901 - it stands for the star
            parts.append(part)
        templates[name] = "/".join(parts)
        if not _set(message, name, _BRACES.sub("1", templates[name])):
            problem = f"the path's variable {{{name}}} is no single field of {message.DESCRIPTOR.full_name}"
            raise UsageError(problem, f"its fields are {', '.join(message.DESCRIPTOR.fields_by_name)}")
    return templates


def _share_values(draft: Draft, rest: Draft, message: Message) -> dict[str, str]:
    """Take over what a REST request has for fields of the message by name; return the templates of its inputs."""
    fields = message.DESCRIPTOR.fields
    names = {fold_name(field.name): field.name for field in fields}
    body = (rest.rest or {}).get("body")
    for key, value in body.items() if isinstance(body, dict) else ():
        if name := names.get(fold_name(key)):
            _set(message, name, value)
    draft.inputs, templates = dict(rest.inputs), {}
    singles = {each.name: each for each in fields if not (each.message_type or each.is_repeated)}
    only = next(iter(singles)) if len(singles) == 1 else names.get("id")
    for key, value in rest.inputs.items():
        name = names.get(fold_name(key)) or (only if len(rest.inputs) == 1 else None)
        if name in singles and _set(message, name, str(value)):
            templates[name] = f"{{{key}}}"
            draft.inputs[key] = str(value) if singles[name].type == FieldDescriptor.TYPE_STRING else value
    return templates


def _draft_rest(rule: str, body: str, templates: Mapping[str, str], message: Message) -> dict[str, Any]:
    """Return a REST request: what isn't in the path is in the body, or otherwise in the query."""
    request = _VARIABLE.sub(lambda match: templates[match[1]], rule)
    left: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    for path in templates:
        *above, name = path.split(".")
        del functools.reduce(operator.getitem, above, left)[name]
    if body == "*":
        return {"request": request, "body": left}
    sent = {"body": left.pop(body, {})} if body else {}
    query = "&".join(_list_parameters(left.items()))
    return {"request": f"{request}?{query}" if query else request, **sent}


def _list_parameters(values: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Yield the parameters of fields, as grpc-gateway reads them; lists of messages can't be in a query."""
    for name, value in values:
        if isinstance(value, dict):
            yield from _list_parameters((f"{name}.{key}", inner) for key, inner in value.items())
        elif isinstance(value, list):
            yield from _list_parameters((name, inner) for inner in value if not isinstance(inner, dict))
        else:
            yield f"{name}={str(value).lower() if isinstance(value, bool) else quote(str(value))}"
