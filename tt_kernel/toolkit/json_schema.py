"""Pydantic's JSON schema in the form that models and every provider read best.

Titles repeat names and go. References are written out, because some providers drop `$defs` (spec tauritavern §17.6); only
recursive types keep theirs. `null` is no branch of a parameter whose default is null: leaving it out says the same.
"""

from typing import Any

from tt_kernel.domain.canonical import Json, JsonObject

_NULL = {"type": "null"}
_DROPPED = frozenset({"title", "discriminator"})
"""`discriminator` would point into the definitions that were written out; the constants of the branches say the same."""
_MAPS = ("properties", "$defs", "patternProperties")


def tidy_schema(schema: JsonObject) -> JsonObject:
    """A tidy copy of a schema with root type object; keys in the order type, properties, required, rest."""
    defs = schema.get("$defs", {})
    recursive = {name for name in defs if _reaches(name, name, defs, set())}
    body = {key: value for key, value in schema.items() if key != "$defs"}
    tidy = _tidy(body, defs, recursive)
    if recursive:
        tidy["$defs"] = {name: _tidy(defs[name], defs, recursive) for name in sorted(recursive)}
    return _ordered(tidy)


def without_null(schema: JsonObject) -> JsonObject:
    """`anyOf [X, null]` -> X; other schemas as they are."""
    branches = schema.get("anyOf")
    if not isinstance(branches, list) or _NULL not in branches:
        return schema
    rest = [branch for branch in branches if branch != _NULL]
    outer = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**rest[0], **outer} if len(rest) == 1 else {"anyOf": rest, **outer}


def _tidy(node: Json, defs: JsonObject, recursive: set[str]) -> Any:
    if isinstance(node, list):
        return [_tidy(item, defs, recursive) for item in node]
    if not isinstance(node, dict):
        return node
    target = _target(node)
    if target is not None and target not in recursive:
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return _tidy({**defs[target], **siblings}, defs, recursive)
    tidy = {key: _inside(key, value, defs, recursive) for key, value in node.items() if key not in _DROPPED}
    return without_null(tidy) if "default" in tidy and tidy["default"] is None else tidy


def _inside(key: str, value: Json, defs: JsonObject, recursive: set[str]) -> Json:
    if key in _MAPS and isinstance(value, dict):  # here keys are names, not words of the schema language
        return {name: _tidy(item, defs, recursive) for name, item in value.items()}
    if key in ("default", "const", "enum", "examples"):
        return value
    return _tidy(value, defs, recursive)


def _target(node: JsonObject) -> str | None:
    reference = node.get("$ref")
    return reference.removeprefix("#/$defs/") if isinstance(reference, str) else None


def _reaches(start: str, goal: str, defs: JsonObject, seen: set[str]) -> bool:
    for name in _references(defs[start]):
        if name == goal:
            return True
        if name not in seen and _reaches(name, goal, defs, seen | {name}):
            return True
    return False


def _references(node: Json) -> list[str]:
    if isinstance(node, list):
        return [name for item in node for name in _references(item)]
    if not isinstance(node, dict):
        return []
    target = _target(node)
    below = [name for value in node.values() for name in _references(value)]
    return [*([target] if target is not None else []), *below]


def _ordered(schema: JsonObject) -> JsonObject:
    first = {"type": "object", "properties": schema.get("properties", {})}
    return {**first, **{key: value for key, value in schema.items() if key not in first}}
