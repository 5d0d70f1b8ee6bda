"""The form of a profile, made from its schema: which fields there are, what each may hold, and how a person enters it."""

import re
from collections.abc import Iterator
from functools import cache

from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.domain.profiles import Profile
from tt_kernel.session.profile_words import EMPTY, GROUPS, HELP, LABELS, Part

FIXED = frozenset({"id", "schemaVersion"})
"""Fields that a form shows and does not change."""
_LONG = frozenset({"instructions.agentSystemPrompt", "delegation.descriptionForAgents", "description"})
_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


def form() -> list[JsonObject]:
    """The groups of fields, in order: `{id, title, parts: [{title, folded, fields: [...]}]}`.

    A field is `{name, path, label, help, kind, nullable, default, empty, fixed}` and, by kind: `options` (choice, choices), `minimum`
    and the like (integer, number), `items` (rows: the fields of one). Kinds: text, long, integer, number, boolean, choice,
    choices, list (of texts), map (of texts), rows, json. `empty` is what an empty field means. The path of an item's field begins
    in the item.
    """
    placed = [(prefix, part) for group in GROUPS for part in group.parts for prefix in part.fields]
    taken: dict[Part, list[JsonObject]] = {part: [] for _, part in placed}
    for field in fields():
        taken[_place(str(field["name"]), placed)].append(field)
    return [
        {
            "id": group.id,
            "title": group.title,
            "parts": [{"title": part.title, "folded": part.folded, "fields": taken[part]} for part in group.parts],
        }
        for group in GROUPS
    ]


@cache
def fields() -> tuple[JsonObject, ...]:
    """Every field of a profile that holds a value, in the order of the schema."""
    schema = Profile.model_json_schema()
    return tuple(_fields(schema, schema["$defs"], ()))


def _place(name: str, placed: list[tuple[str, Part]]) -> Part:
    fitting = [(len(prefix), part) for prefix, part in placed if name == prefix or name.startswith(f"{prefix}.")]
    return max(fitting, key=lambda found: found[0])[1]


def _fields(schema: JsonObject, defs: JsonObject, path: tuple[str, ...], within: str = "") -> Iterator[JsonObject]:
    """`within`: the field whose rows these are."""
    for name, raw in schema["properties"].items():
        inner = _resolved(raw, defs)
        if "properties" in inner:
            yield from _fields(inner, defs, (*path, name), within)
        else:
            yield _field(raw, defs, (*path, name), within)


def _field(raw: JsonObject, defs: JsonObject, path: tuple[str, ...], within: str) -> JsonObject:
    name = ".".join([*([within] if within else []), *path])
    kinds = [_resolved(one, defs) for one in raw.get("anyOf", [raw])]
    plain = next(one for one in kinds if one.get("type") != "null")
    return {
        "name": name,
        "path": list(path),
        "label": LABELS.get(name) or _label(path[-1]),
        "help": HELP.get(name, ""),
        "nullable": len(kinds) > 1,
        "default": raw.get("default"),
        "empty": next((text for prefix, text in EMPTY.items() if name.startswith(prefix)), ""),
        "fixed": name in FIXED,
        **_kind(name, plain, defs),
        **{limit: plain[limit] for limit in _LIMITS if limit in plain},
    }


def _kind(name: str, schema: JsonObject, defs: JsonObject) -> JsonObject:
    if "enum" in schema:
        return {"kind": "choice", "options": schema["enum"]}
    match schema.get("type"):
        case "array":
            return _list(name, _resolved(schema["items"], defs), defs)
        case "object":
            texts = _resolved(schema.get("additionalProperties", {}) or {}, defs).get("type") == "string"
            return {"kind": "map" if texts else "json"}
        case "string":
            return {"kind": "long" if name in _LONG else "text"}
        case "integer" | "number" | "boolean" as plain:
            return {"kind": plain}
    return {"kind": "json"}


def _list(name: str, item: JsonObject, defs: JsonObject) -> JsonObject:
    if "properties" in item:
        return {"kind": "rows", "items": list(_fields(item, defs, (), name))}
    if "enum" in item:
        return {"kind": "choices", "options": item["enum"]}
    return {"kind": "list"}


def _resolved(schema: Json, defs: JsonObject) -> JsonObject:
    found: JsonObject = schema if isinstance(schema, dict) else {}
    return defs[found["$ref"].rpartition("/")[2]] if "$ref" in found else found


def _label(name: str) -> str:
    words = [word.lower() for word in _WORD.findall(name)]
    return " ".join(words).capitalize()
