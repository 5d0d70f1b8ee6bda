"""Profiles of older schemas as documents of schema 5: spec tauritavern §11.4.

A step changes the document's own fields only: it grants nothing and leaves the instructions as they are. What a step does not
understand it leaves for the decoder, which is strict: retired fields go here and nowhere else, so in a document that calls
itself schema 5 they are unknown fields.
"""

import copy
from collections.abc import Callable

from tt_kernel.domain.canonical import Json, JsonObject

CURRENT = 5
SPECIFIED_KIND = "tauritavern.agentProfile"
"""Kind of the specification's own documents, whose defaults differ from ours in two fields."""

FINISH = "builtin:workspace.finish"


def migrated(document: Json) -> Json:
    """The document as schema 5; unchanged when its version is none of 1 to 5, or it is no JSON object.

    A document without a version is one of schema 5 that somebody wrote by hand.
    """
    if not isinstance(document, dict):
        return document
    version = document.get("schemaVersion", CURRENT)
    if type(version) is not int or not 1 <= version <= CURRENT:
        return document
    document = copy.deepcopy(document)
    for step in (step for start, step in _STEPS if start >= version):
        step(document)
    _rename_limit(document)
    if document.get("kind") == SPECIFIED_KIND:
        _spell_out_defaults(document)
    document["schemaVersion"] = CURRENT
    return document


def _stable_ids(document: JsonObject) -> None:
    """Schemas 1 and 2 had built-in tools only, by their bare names."""
    tools = _part(document, "tools")
    for name in ("allow", "deny"):
        if isinstance(tools.get(name), list):
            tools[name] = _unique([_stable(tool) for tool in tools[name]])
    for name in ("toolDescriptions", "maxCallsPerTool"):
        if isinstance(tools.get(name), dict):
            tools[name] = {_stable(tool): value for tool, value in tools[name].items()}


def _drop_retired_tools(document: JsonObject) -> None:
    """Skills are files since schema 4, and the agents that can be called stand in the system prompt."""
    tools = _part(document, "tools")
    for name in ("allow", "deny"):
        if isinstance(tools.get(name), list):
            tools[name] = [tool for tool in tools[name] if not _is_retired(tool)]
    for name in ("toolDescriptions", "maxCallsPerTool"):
        if isinstance(tools.get(name), dict):
            tools[name] = {tool: value for tool, value in tools[name].items() if not _is_retired(tool)}


def _drop_read_budgets(document: JsonObject) -> None:
    _drop(_part(document, "skills"), "maxReadCharsPerCall", "maxReadCharsPerRun")


def _drop_counters(document: JsonObject) -> None:
    _drop(_part(document, "tools"), "maxRounds", "maxCallsPerRun", "maxCallsPerTool")


_STEPS: tuple[tuple[int, Callable[[JsonObject], None]], ...] = (
    (2, _stable_ids),
    (3, _drop_retired_tools),
    (3, _drop_read_budgets),
    (4, _drop_counters),
)
"""The newest schema that a step is for, and the step, in order. Nothing is known to differ between schemas 1 and 2."""


def _rename_limit(document: JsonObject) -> None:
    """The legacy name is read in every schema and goes when the profile is saved (spec tauritavern §11.1)."""
    tools = _part(document, "tools")
    if "mcpResultInlineCharLimit" in tools:
        limit = tools.pop("mcpResultInlineCharLimit")
        tools.setdefault("externalResultInlineCharLimit", limit)


def _spell_out_defaults(document: JsonObject) -> None:
    """A chat agent of the specification ends by its finish tool, and has the whole chat, unless it says otherwise."""
    tools = _part(document, "tools")
    allowed, denied = (tools[name] if isinstance(tools.get(name), list) else [] for name in ("allow", "deny"))
    if FINISH in allowed and FINISH not in denied:
        _default(document, "run", "completion", "finish")
    _default(document, "context", "initialChatHistoryMessages", -1)


def _default(document: JsonObject, part: str, name: str, value: Json) -> None:
    fields = document.setdefault(part, {})
    if isinstance(fields, dict):
        fields.setdefault(name, value)


def _part(document: JsonObject, name: str) -> JsonObject:
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _drop(fields: JsonObject, *names: str) -> None:
    for name in names:
        fields.pop(name, None)


def _stable(tool: Json) -> Json:
    return f"builtin:{tool}" if isinstance(tool, str) and ":" not in tool else tool


def _unique(values: list[Json]) -> list[Json]:
    """In order; a document may have named a tool both ways."""
    return [value for at, value in enumerate(values) if value not in values[:at]]


def _is_retired(tool: Json) -> bool:
    return isinstance(tool, str) and (tool.startswith("builtin:skill.") or tool == "builtin:agent.list")
