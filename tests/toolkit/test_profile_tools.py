"""A profile against the tools there are: spec tauritavern §11.2 (tools), §11.3."""

import pytest

from tt_kernel.domain.errors import ProfileInvalid
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.profiles import Profile, ToolDescription
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.catalog import Catalog
from tt_kernel.toolkit.profile_tools import described, newly_enabled, override_breaches, tool_breaches


def spec(tool, schema=None):
    properties = {"path": {"type": "string", "description": "Where."}, "any": True}
    schema = {"type": "object", "properties": properties} if schema is None else schema
    return ToolSpec(id=ToolId.parse(tool), description="About.", input_schema=schema, group="test", effect="none")


READ = spec("builtin:workspace.read_file")
CATALOG = Catalog([READ, spec("builtin:dice.roll"), spec("extension/notebook:plot"), spec("mcp/files:read")])


def profile(*allow, **tools):
    return Profile(id="p", display_name="P", tools={"allow": allow, **tools})


def told(chosen):
    return [(breach.code.removeprefix("agent.profile_"), breach.blocks) for breach in tool_breaches(chosen, CATALOG)]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (profile("builtin:dice.roll", "dice_roll", "builtin:*", "extension/notebook:*"), []),
        (profile("extension/notebook:nothing*"), []),
        (profile("builtin:workspace.raed_file"), [("unknown_tool", False)]),
        (profile("workspace.nothing"), [("unknown_tool", False)]),
        (profile(deny=["builtin:nothing"]), [("unknown_tool", False)]),
        (profile(deny=["mcp/gone:x"]), []),
        (profile("mcp/gone:x", "extension/notebook:away"), [("tool.unavailable", False)] * 2),
    ],
)
def test_what_is_named_and_not_there(chosen, expected):
    assert told(chosen) == expected


def test_a_near_tool_is_named():
    (breach,) = tool_breaches(profile("builtin:workspace.raed_file"), CATALOG)
    assert "Nearest: builtin:workspace.read_file." in breach.message


OVERRIDES = [
    ({"description": " "}, None, "tool_description_empty"),
    ({"properties": {"nope": "x"}}, None, "unknown_tool_property"),
    ({"properties": {"path": " "}}, None, "tool_property_description_empty"),
    ({"properties": {"any": "x"}}, None, "tool_property_schema_invalid"),
    ({"properties": {"path": "x"}}, {"type": "object", "properties": ["path"]}, "tool_properties_invalid"),
    ({"properties": {"path": "x"}}, {"type": "object"}, "unknown_tool_property"),
]


@pytest.mark.parametrize(("texts", "schema", "code"), OVERRIDES)
def test_a_description_that_does_not_fit_its_tool(texts, schema, code):
    tool = spec("builtin:workspace.read_file", schema)
    assert [found for found, _ in override_breaches(tool, ToolDescription.model_validate(texts))] == [code]
    chosen = profile("builtin:*", toolDescriptions={"builtin:workspace.read_file": texts})
    assert (f"agent.profile_{code}", True) in [(b.code, b.blocks) for b in tool_breaches(chosen, Catalog([tool]))]
    with pytest.raises(ProfileInvalid) as caught:
        described(tool, chosen)
    assert caught.value.code == f"agent.profile_{code}"


def test_a_fitting_description_rewrites_only_its_texts():
    texts = {"builtin:workspace.read_file": {"description": "Look.", "properties": {"path": "At."}}}
    new = described(READ, profile("builtin:*", toolDescriptions=texts))
    assert new.description == "Look."
    assert new.input_schema["properties"] == {"path": {"type": "string", "description": "At."}, "any": True}
    assert READ.input_schema["properties"]["path"]["description"] == "Where."
    assert described(READ, profile("builtin:*")) is READ


@pytest.mark.parametrize(
    ("tool", "refused"),
    [
        ("builtin:nothing", True),
        ("extension/notebook:away", True),
        ("mcp/gone:x", True),
        ("builtin:dice.roll", False),
        ("extension/notebook:*", False),
        ("mcp/files:read", False),
    ],
)
def test_newly_allowing_what_nobody_has_rejects_the_edit(tool, refused):
    """§11.3: what is selected already may be absent."""
    before = profile("mcp/old:x", "builtin:old")
    after = profile("mcp/old:x", "builtin:old", tool)
    found = newly_enabled(before, after, CATALOG)
    assert [b.code for b in found] == ["agent.profile_unknown_tool"] * refused
    assert newly_enabled(after, after, CATALOG) == []
