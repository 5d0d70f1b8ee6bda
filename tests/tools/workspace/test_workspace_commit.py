"""spec tauritavern §5.11, §5.12, §2.7."""

import pytest

from tt_kernel.domain.calls import Commit, Finish
from tt_kernel.tools.workspace import WORKSPACE_TOOLS


async def test_commit_publishes_the_message_body_by_default(bench):
    bench.put("output/main.md", "Hello wide world\n")
    result = await bench.ok("commit")
    assert result.effects == (Commit(path="output/main.md", text="Hello wide world\n", mode="replace", reason=None),)
    assert result.content.splitlines() == [
        "Published output/main.md (17 chars / 3 words) as the answer.",
        "Go on with tools, or call workspace_finish to end. Do not answer in plain text.",
    ]


async def test_commit_with_everything(bench):
    bench.put("scratch/part.md", "\ufeffmore\r\n")
    result = await bench.ok("commit", path="./scratch//part.md", mode="append", reason="progress")
    assert result.effects == (Commit(path="scratch/part.md", text="\ufeffmore\r\n", mode="append", reason="progress"),)
    assert result.structured["reason"] == "progress"


async def test_without_finish_the_reminder_is_to_answer(make_bench):
    bench = make_bench(lambda _tool: None)
    bench.put("output/main.md", "x")
    assert (await bench.ok("commit")).content.splitlines()[-1] == "Go on with tools, or answer to end."


@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\u3000"])
async def test_an_empty_artifact_is_not_published(bench, text):
    bench.put("output/main.md", text)
    error = await bench.error("commit")
    assert error.error_code == "workspace.required_artifact_empty"
    assert error.effects == ()


async def test_what_cannot_be_committed(bench):
    assert (await bench.error("commit")).error_code == "workspace.file_not_found"
    bench.put("output/main.md", "x")
    assert (await bench.error("commit", mode="prepend")).error_code == "workspace.commit_mode_invalid"
    assert (await bench.error("commit", path="output")).error_code == "workspace.path_is_directory"
    assert (await bench.error("commit", path="persist/x")).error_code == "workspace.path_not_visible"
    assert (await bench.error("commit", path="../x")).error_code == "workspace.invalid_path"
    assert (await bench.error("commit", path="")).error_code == "workspace.invalid_path"
    assert (await bench.error("commit", reason=1)).error_code == "tool.invalid_arguments"
    bench.put("output/main.md", b"\xff")
    assert (await bench.error("commit")).error_code == "workspace.not_utf8"


async def test_finish(bench):
    assert (await bench.ok("finish")).effects == (Finish(reason=None),)
    assert (await bench.ok("finish", reason="done")).effects == (Finish(reason="done"),)


def test_the_family():
    """§5: ids, rights and contexts; closed schemas (§2.2)."""
    specs = {tool.spec.id.native.removeprefix("workspace."): tool.spec for tool in WORKSPACE_TOOLS}
    assert list(specs) == ["list_files", "search_files", "read_file", "write_file", "apply_patch", "commit", "finish"]
    assert {name for name, spec in specs.items() if spec.read_only} == {"list_files", "search_files", "read_file"}
    assert {name for name, spec in specs.items() if spec.contexts == ("cell",)} == {"commit", "finish"}
    for spec in specs.values():
        assert spec.effect == "workspace"
        assert spec.input_schema["additionalProperties"] is False
        assert all(p.get("description") for p in spec.input_schema["properties"].values())
    assert {name: spec.input_schema.get("required", []) for name, spec in specs.items()} == {
        "list_files": [],
        "search_files": ["query"],
        "read_file": ["path"],
        "write_file": ["path", "content"],
        "apply_patch": ["path", "old_string", "new_string"],
        "commit": [],
        "finish": [],
    }
    assert specs["write_file"].input_schema["properties"]["mode"]["enum"] == ["replace", "append"]
