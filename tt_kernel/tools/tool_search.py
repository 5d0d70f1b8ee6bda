"""Finding tools that are not shown: spec liveagent §11.5. What makes them shown is in `toolkit/deferral.py`."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.specs import Binding, Snapshot
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.deferral import DEFAULT_RESULTS, MAX_RESULTS, deferred_bindings, found_tools
from tt_kernel.toolkit.tool import Outcome, Tool


@builtin_tool("ToolSearch", group="system", effect="none", read_only=True)
def tool_search(
    waiting: Sequence[Binding], query: str, max_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = DEFAULT_RESULTS
) -> Outcome:
    """Find tools of servers and extensions that are not shown to you yet. What is found can be called from your next message on.

    Args:
        query: Words that stand in the name, the server's name or the description of the tool, for example "github issue".
        max_results: How many tools at most.
    """
    if not query.strip():
        raise ToolError("tool_search.query_empty", "query is empty. Give words of the tool's name or description.")
    found = found_tools(waiting, query, max_results)
    if not found:
        servers = sorted({binding.spec.id.provider.partition("/")[2] for binding in waiting})
        raise ToolError(
            "tool_search.nothing_found",
            f"No tool has any of the words {query!r}. There are tools of: {', '.join(servers)}. Search for one of these names.",
        )
    texts = [f"{b.name}: {b.spec.description}\nArguments: {canonical_json(b.spec.input_schema)}" for b in found]
    head = f"{len(found)} {'tool' if len(found) == 1 else 'tools'} found; they can be called now."
    return Outcome("\n\n".join([head, *texts]), structured={"tools": [binding.name for binding in found]})


def tool_search_tools(snapshot: Snapshot) -> list[Tool]:
    """The tool for one invocation."""
    return [tool_search.bind(deferred_bindings(snapshot))]
