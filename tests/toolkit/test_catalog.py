"""All known tools, and what a list of ids and globs means: spec tauritavern §2.1, §2.4."""

import pytest

from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.catalog import Catalog


def spec(tool, **more):
    fields = {"description": f"About {tool}.", "input_schema": {"type": "object"}, "group": "test", "effect": "none"}
    return ToolSpec(id=ToolId.parse(tool), **(fields | more))


READ, WRITE, DICE = "builtin:workspace.read_file", "builtin:workspace.write_file", "builtin:dice.roll"
PLOT, LOAD, MCP = "extension/notebook:plot", "extension/notebook:load", "mcp/files:read"
CATALOG = Catalog(map(spec, [WRITE, READ, PLOT, DICE, LOAD, MCP]))


def ids(selection):
    return [str(s.id) for s in selection.specs]


def test_sorted_by_id():
    assert [s.id for s in CATALOG] == sorted([READ, WRITE, DICE, PLOT, LOAD, MCP])
    assert len(CATALOG) == 6
    assert DICE in CATALOG
    assert CATALOG.get("builtin:none") is None


def test_a_duplicate_is_refused_naming_both():
    with pytest.raises(UsageProblem) as caught:
        Catalog([spec(PLOT, description="The one."), spec(PLOT, description="The other.")])
    assert caught.value.code == "tool.catalog_duplicate_id"
    assert "The one." in caught.value.message
    assert "The other." in caught.value.message
    assert PLOT in caught.value.message


def test_order_is_that_of_the_allow_list():
    assert ids(CATALOG.select([PLOT, "builtin:workspace.*", PLOT, DICE])) == [PLOT, READ, WRITE, DICE]


def test_deny_wins():
    assert ids(CATALOG.select(["builtin:*"], ["builtin:workspace.write*"])) == [DICE, READ]
    assert ids(CATALOG.select([READ], [READ])) == []


def test_names_without_a_provider_are_understood():
    assert ids(CATALOG.select(["dice.roll", "workspace_read_file", "plot"])) == [DICE, READ, PLOT]
    assert ids(CATALOG.select(["mcp_files_*"])) == [MCP]


def test_absent_patterns_are_reported():
    selection = CATALOG.select([DICE, "mcp/gone:x", "extension/none:*"])
    assert ids(selection) == [DICE]
    assert selection.absent == ("mcp/gone:x", "extension/none:*")


def test_extra_comes_after_and_must_exist():
    assert ids(CATALOG.select([DICE], (), ["plot", DICE])) == [DICE, PLOT]
    with pytest.raises(NotFound, match=r"No tool is called 'plto'\. Nearest: extension/notebook:plot") as caught:
        CATALOG.select([], (), ["plto"])
    assert caught.value.code == "tool.not_found"


def test_extra_that_is_denied_says_by_what():
    with pytest.raises(UsageProblem, match="denied by 'builtin:\\*'"):
        CATALOG.select([], ["builtin:*"], [DICE])
    assert ids(CATALOG.select([], [WRITE], ["builtin:workspace.*"])) == [READ]
