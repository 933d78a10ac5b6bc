"""JSON schemas of type hints, and conversion of JSON values to hinted types."""

from __future__ import annotations

import dataclasses
import enum
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from .types import Json

PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
LISTS = (list, tuple, set, frozenset)


def schema_of(hint: Any) -> Json:
    """Returns the JSON schema of a type hint. Raises `TypeError` for a type without a JSON form."""
    if hint is Any:
        return {}
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choice([each.value for each in hint])
    if is_typeddict(hint) or dataclasses.is_dataclass(hint):
        return object_of(*_members(hint))
    origin, args = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        return _annotated(args)
    if origin is Literal:
        return _choice(list(args))
    if origin in (Union, types.UnionType):
        return _union([schema_of(each) for each in args])
    if origin in LISTS:
        return {"type": "array", **({"items": schema_of(args[0])} if args else {})}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(args[1]) if args else True}
    raise TypeError(f"the type {hint!r} has no JSON schema; use str, int, list, dict or a dataclass instead")


def object_of(hints: dict[str, Any], required: list[str], defaults: Json) -> Json:
    """Returns the schema of an object with these members."""
    properties: Json = {}
    for name, hint in hints.items():
        properties[name] = schema_of(hint)
        if name in defaults and _is_json(defaults[name]):
            properties[name]["default"] = defaults[name]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def value_of(hint: Any, value: Any) -> Any:
    """Converts a JSON value that matches the schema of a hint to the hinted type."""
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    if hint is float and isinstance(value, int):
        return float(value)
    if isinstance(value, dict) and (is_typeddict(hint) or dataclasses.is_dataclass(hint)):
        hints, _, _ = _members(hint)
        members = {name: value_of(hints.get(name, Any), each) for name, each in value.items()}
        return members if is_typeddict(hint) else hint(**members)
    origin, args = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        return value_of(args[0], value)
    if origin in (Union, types.UnionType):
        return _fitting(args, value)
    if origin in LISTS and isinstance(value, list):
        items = [value_of(args[0], each) if args else each for each in value]
        return items if origin is list else origin(items)
    if origin is dict and args and isinstance(value, dict):
        return {name: value_of(args[1], each) for name, each in value.items()}
    return value


def _fitting(hints: tuple[Any, ...], value: Any) -> Any:
    """Converts a value to the first of these hints that accepts it."""
    if value is None:
        return None
    exact = [each for each in hints if isinstance(each, type) and type(value) is each]
    for hint in exact or [each for each in hints if each is not type(None)]:
        try:
            return value_of(hint, value)
        except (TypeError, ValueError):
            continue
    return value


def _members(hint: Any) -> tuple[dict[str, Any], list[str], Json]:
    """Returns the hints of the members, the names of the required ones, and the defaults of the others."""
    hints = get_type_hints(hint, include_extras=True)
    if is_typeddict(hint):
        bare = {name: _bare(each) for name, each in hints.items()}
        return bare, [name for name in hints if name in hint.__required_keys__], {}
    missing = dataclasses.MISSING
    fields = [each for each in dataclasses.fields(hint) if each.init]
    required = [each.name for each in fields if each.default is missing and each.default_factory is missing]
    defaults = {each.name: each.default for each in fields if each.default is not missing}
    return {each.name: hints[each.name] for each in fields}, required, defaults


def _bare(hint: Any) -> Any:
    """Removes `Required` or `NotRequired` from a hint. Python 3.10's `typing` lacks both."""
    return get_args(hint)[0] if str(get_origin(hint)).endswith(("Required", "NotRequired")) else hint


def _annotated(args: tuple[Any, ...]) -> Json:
    """Returns the schema of `Annotated[int, "how many"]`: the text becomes the description."""
    words = [each for each in args[1:] if isinstance(each, str)]
    return {**schema_of(args[0]), **({"description": words[0]} if words else {})}


def _choice(values: list[Any]) -> Json:
    kinds = sorted({PLAIN[type(each)] for each in values if type(each) in PLAIN})
    return {**({"type": kinds[0]} if len(kinds) == 1 else {}), "enum": values}


def _union(schemas: list[Json]) -> Json:
    # Most providers handle `{"type": ["string", "null"]}` better than `anyOf`.
    if all(set(each) == {"type"} for each in schemas):
        return {"type": [each["type"] for each in schemas]}
    return {"anyOf": schemas}


def _is_json(value: Any) -> bool:
    return value is None or (isinstance(value, (str, int, float, bool)) and not isinstance(value, enum.Enum))
