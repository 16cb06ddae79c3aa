"""Calls that satisfy a gRPC schema, with example values, and the REST requests that their HTTP rules describe."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from google.api import annotations_pb2, field_behavior_pb2  # what options are read with
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet, MethodOptions
from google.protobuf.descriptor_pool import DescriptorPool

from wirebench.errors import UsageError, suggest
from wirebench.plan.drafts.draft import Draft, fold_name, to_snake_case

#: Services that belong to no application.
_INFRASTRUCTURE = re.compile(r"grpc\.(reflection|health|channelz)\.")
_VARIABLE = re.compile(r"\{([\w.]+)(?:=([^{}]+))?\}")
_DEPTH_MAX = 6
#: Fields of pages, which only a reply can fill (AIP-158).
_PAGING = {"page_token"}
#: The JSON of Google's messages that isn't an object of their fields.
_WELL_KNOWN: dict[str, Any] = {
    "google.protobuf.Timestamp": "2026-01-31T12:00:00Z",
    "google.protobuf.Duration": "1s",
    "google.protobuf.Empty": {},
    "google.protobuf.Struct": {},
}
#: Those that are left out, as what they hold is known to the service alone.
_LEFT_OUT = {f"google.protobuf.{name}" for name in ("Any", "FieldMask", "ListValue", "Value")}
_WRAPPERS = re.compile(r"google\.protobuf\.(Bool|Bytes|Double|Float|U?Int32|U?Int64|String)Value")
_INTEGERS = frozenset(getattr(FieldDescriptor, f"CPPTYPE_{name}") for name in ("INT32", "INT64", "UINT32", "UINT64"))
_NO_BODY = ("get", "head", "delete")


class HttpRule(NamedTuple):
    """A REST request of a call: `body` is a field's name, `*` for all that isn't in the path, or empty."""

    verb: str
    path: str
    body: str

    @property
    def label(self) -> str:
        return f"{self.verb.upper()} {self.path}"


class Schema:
    """The services of a FileDescriptorSet, whose files stand behind those that they import."""

    def __init__(self, descriptors: bytes) -> None:
        """Read what `wireload schema` has written."""
        pool = DescriptorPool()
        self._methods: dict[str, MethodDescriptor] = {}
        for file in FileDescriptorSet.FromString(descriptors).file:
            pool.Add(file)
            for service in pool.FindFileByName(file.name).services_by_name.values():
                if not _INFRASTRUCTURE.match(service.full_name):
                    self._methods |= {f"{service.full_name}/{method.name}": method for method in service.methods}

    @property
    def packages(self) -> set[str]:
        return {call.partition("/")[0].rpartition(".")[0] for call in self._methods}

    def list_calls(self) -> dict[str, str]:
        """Return calls, and why one can't be measured, or an empty text."""
        reason = "the client streams its requests"
        return {call: reason if method.client_streaming else "" for call, method in self._methods.items()}

    def list_rules(self, call: str) -> list[HttpRule]:
        """Return the REST requests of a call by its HTTP rules (google.api.http)."""
        option = self._methods[call].GetOptions().Extensions[annotations_pb2.http]
        rules = (option, *option.additional_bindings)
        return [
            HttpRule(verb, getattr(rule, verb), rule.body)
            for rule in rules
            if (verb := rule.WhichOneof("pattern")) and verb != "custom"
        ]

    def draft(self, call: str, request: str = "", rest: Draft | None = None) -> Draft:
        """Draft a call, with its REST request where one is named.

        A request is that of an HTTP rule, or is taken to be like one, or has been drafted before: `rest`, whose values
        the message takes over. Raises UsageError.
        """
        if call not in self._methods:
            raise UsageError(f"there is no call {call!r}", suggest(call, self._methods))
        if reason := self.list_calls()[call]:
            raise UsageError(f"{call} can't be measured: {reason}", "name another one")
        method = self._methods[call]
        service, _, name = call.partition("/")
        prefix = to_snake_case(service.rpartition(".")[2].removesuffix("Service") or service)
        draft = Draft(
            f"{prefix}.{to_snake_case(name)}",
            f"{request} = {call}" if request else call,
            writes=method.GetOptions().idempotency_level != MethodOptions.NO_SIDE_EFFECTS,
            stream=method.server_streaming,
        )
        rule = self._find_rule(call, request) if request and rest is None else None
        kind = method.input_type
        shared = _share_values(draft, rest, kind) if rest else _fix_variables(draft, rule, kind)
        message = _MessageDrafter(draft, shared).draft(kind)
        draft.grpc = {"call": call, **({"message": message} if message else {})}
        if rest:
            draft.rest, draft.notes = rest.rest, rest.notes + draft.notes
            draft.writes = draft.writes and rest.writes
            if rest.stream != draft.stream:
                raise UsageError(f"{draft.about}: one of them is a stream", "pair it with another one")
        elif rule:
            if draft.stream:
                raise UsageError(f"{call} is a stream, which its HTTP rule doesn't describe", "draft it by --grpc")
            draft.writes = draft.writes and rule.verb not in ("get", "head")
            draft.rest = _draft_rest(rule, shared, message, kind)
        return draft

    def _find_rule(self, call: str, request: str) -> HttpRule:
        for rule in self.list_rules(call):
            if _strip_names(rule.label) == _strip_names(request):
                return rule
        verb, _, path = request.partition(" ")
        return HttpRule(verb.lower(), path, "" if verb.lower() in _NO_BODY else "*")


def _strip_names(request: str) -> str:
    return re.sub(r"\{[^{}]*\}", "{}", request)


def _fix_variables(draft: Draft, rule: HttpRule | None, message: Descriptor) -> dict[str, str]:
    """Make inputs of the variables of a path, and return their templates by the paths of their fields.

    `{name=shelves/*}` is `shelves/{shelves_id}`: only what stands for a star varies.
    """
    fixed = {}
    for name, pattern in _VARIABLE.findall(rule.path if rule else ""):
        parts: list[str] = []
        for part in (pattern or "*").split("/"):
            if part in ("*", "**"):
                own = to_snake_case(f"{parts[-1]}_id" if parts else name)
                draft.inputs[own] = 1 if _is_integer(message, name) else "1"
                part = f"{{{own}}}"  # noqa: PLW2901 - it stands for the star
            parts.append(part)
        fixed[name] = "/".join(parts)
    return fixed


def _is_integer(message: Descriptor, path: str) -> bool:
    """Return whether a field is one. Raises UsageError if there is no such field."""
    kind: Descriptor | None = message
    field: FieldDescriptor | None = None
    for name in path.split("."):
        field = kind.fields_by_name.get(name) if kind is not None else None
        if field is None:
            problem = f"the path's variable {{{path}}} is no field of {message.full_name}"
            raise UsageError(problem, suggest(path, message.fields_by_name))
        kind = field.message_type
    return field is not None and field.cpp_type in _INTEGERS


def _share_values(draft: Draft, rest: Draft, message: Descriptor) -> dict[str, Any]:
    """Return values of fields that a REST request has too, by name: its inputs, and what is in its body."""
    draft.inputs = dict(rest.inputs)
    by_name = {fold_name(field.name): field for field in message.fields}
    body = (rest.rest or {}).get("body")
    given = body if isinstance(body, dict) else {}
    shared = {
        field.name: given[key] for key in given if (field := by_name.get(fold_name(key))) and _fits(field, given[key])
    }
    singles = [each for each in message.fields if not each.message_type and not each.is_repeated and not each.enum_type]
    for name, value in rest.inputs.items():
        only = singles[0] if len(singles) == 1 else by_name.get("id")
        field = by_name.get(fold_name(name)) or (only if len(rest.inputs) == 1 else None)
        if field in singles:
            shared[field.name] = f"{{{name}}}"
            if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
                draft.inputs[name] = str(value)
            elif not isinstance(value, int):
                draft.inputs[name] = 1
    return shared


def _fits(field: FieldDescriptor, value: Any) -> bool:  # noqa: ANN401 - JSON
    """Return whether a value of JSON is one of a single field."""
    if field.message_type or field.enum_type or field.is_repeated or field.type == FieldDescriptor.TYPE_BYTES:
        return False
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return isinstance(value, str)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return isinstance(value, bool)
    is_float = field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)
    return not isinstance(value, bool) and isinstance(value, int | float if is_float else int)


def _draft_rest(rule: HttpRule, fixed: Mapping[str, str], message: dict[str, Any], kind: Descriptor) -> dict[str, Any]:
    """Return a REST request: what isn't in the path is in the body, or otherwise in the query."""
    request = f"{rule.verb.upper()} {_VARIABLE.sub(lambda match: fixed[match[1]], rule.path)}"
    left = _remove_paths(message, fixed)
    if rule.body == "*":
        return {"request": request, "body": left}
    sent = {"body": left.pop(rule.body, {})} if rule.body else {}
    query = "&".join(_list_parameters(left, kind))
    return {"request": f"{request}?{query}" if query else request, **sent}


def _remove_paths(message: Mapping[str, Any], paths: Collection[str], above: str = "") -> dict[str, Any]:
    return {
        name: _remove_paths(value, paths, f"{above}{name}.") if isinstance(value, dict) else value
        for name, value in message.items()
        if f"{above}{name}" not in paths
    }


def _list_parameters(message: Mapping[str, Any], kind: Descriptor, above: str = "") -> Iterator[str]:
    """Yield the parameters of fields, as grpc-gateway reads them; lists and maps of messages can't be in a query."""
    for name, value in message.items():
        field = kind.fields_by_name[name]
        if _find_map_entry(field):
            singles = {key: each for key, each in value.items() if not isinstance(each, dict)}
            yield from (f"{above}{name}%5B{key}%5D={_quote(each)}" for key, each in singles.items())
        elif isinstance(value, list):
            yield from (f"{above}{name}={_quote(each)}" for each in value if not isinstance(each, dict))
        elif isinstance(value, dict) and field.message_type:
            yield from _list_parameters(value, field.message_type, f"{above}{name}.")
        else:
            yield f"{above}{name}={_quote(value)}"


def _quote(value: Any) -> str:  # noqa: ANN401 - a single value of JSON
    return str(value).lower() if isinstance(value, bool) else quote(str(value), safe="{}")


class _MessageDrafter(NamedTuple):
    """Drafts messages; `fixed` are the values of fields that must be there, by their paths."""

    operation: Draft
    fixed: Mapping[str, Any]

    def draft(self, message: Descriptor, path: str = "", above: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return a message with all fields that have to be there, and of each `oneof` the first that can be."""
        drafted: dict[str, Any] = {}
        wanted = [field for field in message.fields if self._is_fixed(f"{path}{field.name}")]
        chosen = {field.containing_oneof.full_name for field in wanted if field.containing_oneof}
        for field in message.fields:
            oneof = field.containing_oneof.full_name if field.containing_oneof else ""
            if field not in wanted and ((oneof and oneof in chosen) or _is_optional(field)):
                continue
            value = self._draft_value(field, f"{path}{field.name}", (*above, message.full_name))
            if value is not None:
                drafted[field.name] = value
                chosen.add(oneof)
        return drafted

    def _is_fixed(self, path: str) -> bool:
        return any(each == path or each.startswith(f"{path}.") for each in self.fixed)

    def _draft_value(self, field: FieldDescriptor, path: str, above: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
        if path in self.fixed:
            return self.fixed[path]
        if entry := _find_map_entry(field):
            key, value = entry.fields_by_name["key"], entry.fields_by_name["value"]
            inner = self._draft_single(value, path, above)
            return None if inner is None else {str(_draft_scalar(key)).lower(): inner}
        value = self._draft_single(field, path, above)
        return [value] if field.is_repeated and value is not None else value

    def _draft_single(self, field: FieldDescriptor, path: str, above: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
        message = field.message_type
        if message is None:
            return _draft_scalar(field)
        if message.full_name in _WELL_KNOWN:
            return _WELL_KNOWN[message.full_name]
        if _WRAPPERS.fullmatch(message.full_name):
            return _draft_scalar(message.fields_by_name["value"])
        if message.full_name in _LEFT_OUT:
            self.operation.notes.append(f"Left out: {path}, a {message.full_name}.")
            return None
        if message.full_name in above or len(above) >= _DEPTH_MAX:
            return None
        return self.draft(message, f"{path}.", above)


def _find_map_entry(field: FieldDescriptor) -> Descriptor | None:
    """Return the message of an entry, key and value, if a field is a map."""
    entry = field.message_type
    return entry if entry and entry.GetOptions().map_entry else None


def _is_optional(field: FieldDescriptor) -> bool:
    """Return whether a field may be left out, or is only for replies, by its options or its label."""
    behaviors = set(field.GetOptions().Extensions[field_behavior_pb2.field_behavior])
    if field_behavior_pb2.REQUIRED in behaviors or field.is_required:
        return False
    # protoc puts each field with the label `optional` of proto3 into a `oneof` of its own.
    is_labelled = field.containing_oneof is not None and field.containing_oneof.name == f"_{field.name}"
    without = {field_behavior_pb2.OPTIONAL, field_behavior_pb2.OUTPUT_ONLY} & behaviors
    return bool(is_labelled or without or field.name in _PAGING)


def _draft_scalar(field: FieldDescriptor) -> Any:  # noqa: ANN401 - a single value of JSON
    if field.enum_type:
        names = [each.name for each in field.enum_type.values]
        return names[min(1, len(names) - 1)]  # the first means that nothing was chosen
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return True
    if field.type == FieldDescriptor.TYPE_BYTES:
        return "AQID"
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return "1" if fold_name(field.name).endswith("id") else field.name
    return 1
