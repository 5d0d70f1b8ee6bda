"""ToolSearch: spec liveagent §11.5. What makes a found tool shown is tested in tests/toolkit/test_deferral.py."""

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.specs import Binding, Snapshot, ToolSpec
from tt_kernel.tools.tool_search import tool_search_tools


def binding(tool, name, description):
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    spec = ToolSpec(id=ToolId.parse(tool), description=description, input_schema=schema, group="mcp", effect="external")
    return Binding(name=name, spec=spec)


BINDINGS = (
    *(binding(f"mcp/github:t{n}", f"mcp_github_t{n}", f"Do {n}") for n in range(12)),
    binding("mcp/files:find", "mcp_files_find", "Find text"),
    binding("builtin:Read", "Read", "Read a file"),
)
SNAPSHOT = Snapshot(
    completion="reply",
    bindings=BINDINGS,
    deferred=tuple(b.spec.id for b in BINDINGS if b.spec.id.provider != "builtin"),
)


async def search(**arguments):
    (tool,) = tool_search_tools(SNAPSHOT)
    return await tool.call(
        ToolCall(
            id="c", tool_id=builtin("ToolSearch"), name="ToolSearch", arguments=ToolArguments(value=arguments),
            invocation_id="inv_root", turn=1, index=0,
        )
    )  # fmt: skip


async def test_the_result_has_names_descriptions_and_whole_schemas():
    result = await search(query="find")
    assert result.content == (
        "1 tool found; they can be called now.\n\nmcp_files_find: Find text\n"
        'Arguments: {"properties":{"title":{"type":"string"}},"type":"object"}'
    )
    assert result.structured == {"tools": ["mcp_files_find"]}


@pytest.mark.parametrize(("arguments", "count"), [({}, 5), ({"max_results": 1}, 1), ({"max_results": 10}, 10)])
async def test_how_many(arguments, count):
    """§11.5: max_results 1-10, 5 when left out."""
    assert len((await search(query="github", **arguments)).structured["tools"]) == count


@pytest.mark.parametrize("most", [0, 11, "3"])
async def test_out_of_range(most):
    assert (await search(query="github", max_results=most)).error_code == "tool.invalid_arguments"


async def test_shown_tools_are_not_searched():
    result = await search(query="Read")
    assert result.error_code == "tool_search.nothing_found"
    assert (
        result.content
        == "No tool has any of the words 'Read'. There are tools of: files, github. Search for one of these names."
    )


async def test_nothing_to_look_for():
    assert (await search(query="  ")).error_code == "tool_search.query_empty"
