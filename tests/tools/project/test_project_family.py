"""The family as a whole: ids, schemas, effects (spec liveagent §2.5, §5), and that its words hold elsewhere."""

import re
import sys

import pytest

from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import builtin
from tt_kernel.tools.project import PROJECT_TOOLS, judged_arguments, project_tools

SPECS = {declaration.spec.id.native: declaration.spec for declaration in PROJECT_TOOLS}


def test_names_and_order():
    assert list(SPECS) == ["Read", "List", "Glob", "Grep", "Write", "Edit", "Delete", "Image"]
    assert all(spec.id == f"builtin:{name}" for name, spec in SPECS.items())


def test_what_they_may_change():
    assert {spec.effect for spec in SPECS.values()} == {"project"}
    assert {name for name, spec in SPECS.items() if not spec.read_only} == {"Write", "Edit", "Delete"}
    assert {spec.contexts for spec in SPECS.values()} == {("cell", "session")}


PARAMETERS = {
    "Read": {"path": ..., "start_line": 1, "limit": 200, "page_start": 1, "page_limit": 5, "cell_start": 1, "cell_limit": 20},
    "List": {"path": ".", "depth": 2, "offset": 0, "max_results": 200},
    "Glob": {"pattern": ..., "path": ".", "offset": 0, "max_results": 200, "sort_by": "path"},
    "Grep": {
        "pattern": ..., "path": ".", "file_pattern": None, "ignore_case": False, "output_mode": "content", "head_limit": 200,
        "offset": 0, "context": 0, "multiline": False,
    },
    "Write": {"path": ..., "content": ...},
    "Edit": {"path": ..., "old_string": ..., "new_string": "", "expected_replacements": None, "replace_all": False},
    "Delete": {"path": ...},
    "Image": dict.fromkeys(
        ["path", "paths", "url", "urls", "base64", "base64s", "mimeType", "source", "sources"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECS)
def test_5_parameters_with_their_defaults_in_order(name):
    """The path comes before the content, so that a preview of a call that is being written has it early."""
    schema = SPECS[name].input_schema
    assert list(schema["properties"]) == list(PARAMETERS[name])
    assert set(schema.get("required", [])) == {key for key, value in PARAMETERS[name].items() if value is ...}
    for key, default in PARAMETERS[name].items():
        if default not in (..., None):
            assert schema["properties"][key]["default"] == default


@pytest.mark.parametrize("name", SPECS)
def test_2_5_schemas_are_closed_and_every_parameter_is_explained(name):
    schema = SPECS[name].input_schema
    assert schema["additionalProperties"] is False
    assert all(parameter.get("description") for parameter in schema["properties"].values())


@pytest.mark.parametrize("name", SPECS)
def test_descriptions_name_no_tool_that_may_not_be_there(name):
    words = set(re.findall(r"\b[A-Z][a-z]+\b(?!\s+syntax)", SPECS[name].description))
    assert not words & (set(SPECS) - {name} - {"Image", "List", "Delete", "Write", "Edit", "Read"})


async def test_2_5_unknown_arguments_are_refused_by_name(bench):
    for name in SPECS:
        assert "'colour'" in await bench.error(name, "tool.invalid_arguments", colour="red")


async def test_arguments_can_be_checked_without_a_call(bench):
    tools = {tool.spec.id.native: tool for tool in project_tools(bench.desk)}
    with pytest.raises(ToolError):
        tools["Edit"].check(bench.request("Edit", {"path": "a", "old_string": 3}))


CALLS = [
    ("List", {}), ("Glob", {"pattern": "*"}), ("Grep", {"pattern": "needle"}), ("Read", {"path": "f1.txt"}),
    ("Edit", {"path": "f1.txt", "old_string": "needle", "new_string": "pin"}), ("Delete", {"path": "f2.txt"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_results_are_the_same_each_time(make_bench, name, arguments):
    """No time, inode or disk path is in a result: it can be compared and recorded."""
    results = []
    for _ in range(2):
        bench = make_bench()
        for number in range(3):
            bench.put(f"f{number}.txt", "needle\n")
        results.append(await bench.ok(name, **arguments))
    assert results[0] == results[1]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_rule_about_a_path_holds_for_each_spelling_of_it(bench):
    bench.put("secrets/key", "x")
    (bench.folder / "link").symlink_to("secrets")
    (bench.folder / "key").symlink_to("secrets/key")
    for spelled in (
        "secrets/key", "./secrets/key", "secrets\\key", "workspace:secrets/key", f"{bench.folder}/secrets/key", "link/key", "key",
        f"file://{bench.folder}/link/key",
    ):  # fmt: skip
        judged = judged_arguments(bench.desk, builtin("Write"), {"path": spelled, "content": "x"})
        assert judged == {"path": "secrets/key", "content": "x"}
    assert judged_arguments(bench.desk, builtin("Delete"), {"path": "./key"}) == {"path": "key"}
    assert judged_arguments(bench.desk, builtin("Delete"), {"path": "link/key"}) == {"path": "secrets/key"}
    for arguments in ({"path": "../x"}, {"path": 3}, {}):
        assert judged_arguments(bench.desk, builtin("Write"), arguments) == arguments
    assert judged_arguments(bench.desk, builtin("Bash"), {"path": "./x"}) == {"path": "./x"}
