"""Long external results: spec tauritavern §8.4, §23.12."""

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import StoredFile, ToolCall, ToolResult
from tt_kernel.domain.ids import ToolId
from tt_kernel.toolkit.long_results import INLINE_CHARS, LINE_CHARS, PREVIEW_CHARS, bounded, wrapped_lines

CALL = ToolCall(
    id="c1", tool_id=ToolId.parse("mcp/x:y"), name="mcp_x_y", arguments=ToolArguments(value={}),
    invocation_id="inv_root", turn=1, index=0,
)  # fmt: skip


class Folder:
    def __init__(self):
        self.files: dict[str, bytes] = {}

    def save(self, call, index, data, mime_type, suffix):
        path = f"tool-results/{call.invocation_id}/{index}{suffix}"
        assert path not in self.files
        self.files[path] = data
        return StoredFile(path=path, mime_type=mime_type, sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def names(**known):
    return lambda tool: known.get(tool.native.partition(".")[2])


async def run(text, call_name=names(), **how):  # noqa: B008
    folder = Folder()

    async def inner(call):
        return ToolResult(call_id=call.id, tool_id=call.tool_id, content=text, structured={"raw": 1})

    return folder, await bounded(folder.save, call_name, **how)(inner)(CALL)


async def test_50_000_characters_stay_inline():
    folder, result = await run("x" * INLINE_CHARS)
    assert result.content == "x" * INLINE_CHARS
    assert folder.files == {}


async def test_50_001_characters_become_a_file_and_a_preview():
    text = "a line\n" * 7143
    text = text[:INLINE_CHARS] + "!"
    folder, result = await run(text, names(read_file="workspace_read_file"))
    readable, audit = folder.files
    assert folder.files[readable].decode() == text
    head, _, preview = result.content.partition("\n\n")
    assert preview == text[:PREVIEW_CHARS]
    assert "50,001 characters, more than the 50,000" in head
    assert "This is incomplete" in head
    assert readable in head
    assert result.structured == {
        "externalized": True, "path": readable, "auditPath": audit, "charCount": 50_001, "charLimit": 50_000,
    }  # fmt: skip
    assert result.resource_refs == (readable, audit)
    assert [f.path for f in result.files] == [readable, audit]
    whole = json.loads(folder.files[audit])
    assert (whole["content"], whole["structured"]) == (text, {"raw": 1})


async def test_hints_name_only_the_tools_that_are_bound():
    long = "x" * 101
    _, result = await run(long, names(read_file="workspace_read_file"), limit=100)
    assert "workspace_read_file" in result.content
    assert "search" not in result.content
    assert "shell" not in result.content
    _, result = await run(long, names(search_files="s_f", shell="w_s"), limit=100)
    assert "Search it with s_f" in result.content
    assert "Process it with w_s; there it is /tool-results/inv_root/0.txt" in result.content
    _, result = await run(long, limit=100)
    assert "No tool of this run can read that file." in result.content


async def test_calls_that_it_is_not_for_are_left_alone():
    folder, result = await run("x" * 200, limit=100, applies=lambda _: False)
    assert len(result.content) == 200
    assert folder.files == {}


async def test_very_long_lines_are_wrapped_and_lone_surrogates_stored():
    folder, _ = await run("y" * 7000 + "\ud800", limit=100)
    lines = next(iter(folder.files.values())).decode().split("\n")
    assert [len(line) for line in lines] == [3000, 3000, 1000 + len("\\ud800")]


@given(st.text(alphabet="ab\n", max_size=60), st.integers(1, 9))
def test_wrapping_loses_nothing(text, width):
    wrapped = wrapped_lines(text, width)
    assert wrapped.replace("\n", "") == text.replace("\n", "")
    assert all(len(line) <= width for line in wrapped.split("\n"))
    if all(len(line) <= width for line in text.split("\n")):
        assert wrapped == text


def test_numbers_of_the_specification():
    assert (INLINE_CHARS, PREVIEW_CHARS, LINE_CHARS) == (50_000, 3_000, 3_000)
