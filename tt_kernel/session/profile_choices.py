"""What a person can choose from while editing a profile: models, connections and tools."""

from collections import defaultdict

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.providers.names import default_model, known_models
from tt_kernel.session.core import Session
from tt_kernel.toolkit.catalog import Catalog, means
from tt_kernel.toolkit.naming import call_names
from tt_kernel.toolkit.tokens import estimated_tokens

_OFFERED = 400
"""Names of models."""


def model_choices(session: Session) -> JsonObject:
    """The notebook's default, the models that are known by name, and the user's connections with the models they are used for.

    A connection is told by its name, provider and models: neither its address nor where its key is.
    """
    used: dict[str | None, set[str]] = defaultdict(set)
    for profile, _ in session.profiles.list():
        if profile.model.model_id:
            used[profile.model.connection_ref].add(profile.model.model_id)
    connections = [
        {
            "name": one.name,
            "description": one.description,
            "provider": one.provider,
            "model": one.model,
            "models": sorted({*used[one.name], *([one.model] if one.model else [])}),
        }
        for one in session.connections.list()
    ]
    names = [name for name in known_models(session.base_dir) if not name.endswith(":")]
    return {
        "default": session.default_model or default_model(),
        "models": list(dict.fromkeys([*sorted(used[None]), *names]))[:_OFFERED],
        "connections": connections,
    }


def tool_choices(catalog: Catalog) -> list[JsonObject]:
    """Every tool by its id, with the name that a model would see and what it costs in each request."""
    names = call_names([spec.id for spec in catalog])
    return [
        {
            "id": str(spec.id),
            "name": names[spec.id],
            "group": spec.group,
            "source": _source(spec),
            "effect": spec.effect,
            "readOnly": spec.read_only,
            "description": spec.description,
            "properties": _properties(spec),
            "tokens": estimated_tokens(
                "\n".join([names[spec.id], spec.description, canonical_json(spec.input_schema)])
            ),
        }
        for spec in catalog
    ]


def tool_states(catalog: Catalog, document: JsonObject) -> JsonObject:
    """Which entries of the draft's lists mean each tool: `{id: {allow, deny, described}}`."""
    tools = document.get("tools", {})
    allow, deny, described = (_texts(tools.get(name)) for name in ("allow", "deny", "toolDescriptions"))
    return {
        str(spec.id): {
            "allow": [pattern for pattern in allow if means(pattern, spec.id)],
            "deny": [pattern for pattern in deny if means(pattern, spec.id)],
            "described": next((pattern for pattern in described if means(pattern, spec.id)), None),
        }
        for spec in catalog
    }


def _texts(value: Json) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, (list, dict)) else []


def _source(spec: ToolSpec) -> str:
    provider = spec.id.provider
    if provider == "builtin":
        return "built in"
    if provider == "extension/notebook":
        return "this notebook"
    return provider


def _properties(spec: ToolSpec) -> JsonObject:
    properties = spec.input_schema.get("properties", {})
    found = properties.items() if isinstance(properties, dict) else ()
    return {name: str(one.get("description", "")) if isinstance(one, dict) else "" for name, one in found}
