"""What a profile says about tools, held against the tools that there are: spec tauritavern §2.4, §11.2, §11.3."""

from collections.abc import Iterator, Mapping
from typing import Any

from tt_kernel.domain.errors import ProfileInvalid
from tt_kernel.domain.profiles import Breach, Profile, ToolDescription
from tt_kernel.domain.specs import Diagnostic, ToolSpec
from tt_kernel.toolkit.catalog import Catalog, is_glob, means

NOTEBOOK = "extension/notebook"
"""Provider of the functions that the user wrote in this notebook."""

Found = Iterator[tuple[str, str]]


def tool_breaches(profile: Profile, catalog: Catalog) -> list[Breach]:
    """What the profile names and the catalog does not have, and descriptions that do not fit their tool.

    Args:
        profile: Any profile.
        catalog: All known tools.
    """
    found = [Breach(d.code, d.message, blocks=False) for d in _absences(profile, catalog)]
    for pattern, texts in profile.tools.tool_descriptions.items():
        for spec in catalog.matching(pattern):
            found += [
                Breach(f"agent.profile_{code}", f"Profile {profile.id!r} {what}.")
                for code, what in override_breaches(spec, texts)
            ]
    return found


def newly_enabled(before: Profile, after: Profile, catalog: Catalog) -> list[Breach]:
    """What an edit adds to `tools.allow` and nobody has: it rejects the edit, unlike what was there already (§11.3)."""
    added = [pattern for pattern in after.tools.allow if pattern not in before.tools.allow]
    return [
        Breach("agent.profile_unknown_tool", f"There is no tool {pattern!r} to allow.{_hint(pattern, catalog)}")
        for pattern in added
        if not catalog.matching(pattern) and absence(pattern, after) is not None
    ]


def absence(pattern: str, profile: Profile) -> Diagnostic | None:
    """Why a pattern of the allow list means nothing; None where that is normal."""
    provider = pattern.partition(":")[0]
    if provider == NOTEBOOK and is_glob(pattern):
        return None  # a notebook without tool functions
    if provider.startswith(("extension/", "mcp/")):
        message = (
            f"{pattern!r} is allowed by profile {profile.id!r} but is not available now; the run goes on without it."
        )
        return Diagnostic(code="tool.unavailable", subject=pattern, message=message)
    message = f"Profile {profile.id!r} allows {pattern!r}, but there is no such tool."
    return Diagnostic(code="agent.profile_unknown_tool", subject=pattern, message=message)


def described(spec: ToolSpec, profile: Profile) -> ToolSpec:
    """The spec with the profile's own texts.

    Raises:
        ProfileInvalid: `tool_description_empty`, `unknown_tool_property`, `tool_properties_invalid`,
            `tool_property_description_empty`, `tool_property_schema_invalid`.
    """
    for pattern, texts in profile.tools.tool_descriptions.items():
        if means(pattern, spec.id):
            for code, what in override_breaches(spec, texts):
                raise ProfileInvalid(f"agent.profile_{code}", f"Profile {profile.id!r} {what}.")
            return _rewritten(spec, texts)
    return spec


def override_breaches(spec: ToolSpec, texts: ToolDescription) -> Found:
    """The codes of §11.2 for one tool's own texts, each with what the profile does wrong."""
    if texts.description is not None and not texts.description.strip():
        yield "tool_description_empty", f"describes {spec.id!r} with an empty text"
    properties = spec.input_schema.get("properties", {})
    if texts.properties and not isinstance(properties, Mapping):
        yield "tool_properties_invalid", f"describes parameters of {spec.id!r}, whose schema has no list of them"
        return
    for name, text in texts.properties.items():
        if name not in properties:
            known = ", ".join(properties) or "none"
            yield "unknown_tool_property", f"describes {name!r} of {spec.id!r}; its parameters: {known}"
        elif not text.strip():
            yield "tool_property_description_empty", f"describes {name!r} of {spec.id!r} with an empty text"
        elif not isinstance(properties[name], Mapping):
            yield "tool_property_schema_invalid", f"describes {name!r} of {spec.id!r}, whose schema has no room for it"


def _rewritten(spec: ToolSpec, texts: ToolDescription) -> ToolSpec:
    properties: dict[str, Any] = dict(spec.input_schema.get("properties", {}))
    for name, text in texts.properties.items():
        properties[name] = {**properties[name], "description": text}
    schema = {**spec.input_schema, "properties": properties} if texts.properties else spec.input_schema
    return spec.model_copy(update={"description": texts.description or spec.description, "input_schema": schema})


def _absences(profile: Profile, catalog: Catalog) -> Iterator[Diagnostic]:
    for pattern in profile.tools.allow:
        found = None if catalog.matching(pattern) else absence(pattern, profile)
        if found is not None:
            yield found.model_copy(update={"message": found.message + _hint(pattern, catalog)})
    for pattern in profile.tools.deny:
        if not catalog.matching(pattern) and not pattern.startswith(("extension/", "mcp/")):
            message = f"Profile {profile.id!r} denies {pattern!r}, but there is no such tool.{_hint(pattern, catalog)}"
            yield Diagnostic(code="agent.profile_unknown_tool", subject=pattern, message=message)


def _hint(pattern: str, catalog: Catalog) -> str:
    near = catalog.nearest(pattern)
    return f" Nearest: {', '.join(near)}." if near else ""
