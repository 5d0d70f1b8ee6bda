"""The file ledger of a compaction: spec liveagent §19."""

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, ToolId
from tt_kernel.domain.messages import UserMessage
from tt_kernel.domain.runs import CallRecord
from tt_kernel.runtime.ledger_of_files import (
    MAX_FILES,
    PATH_CHARS,
    RESERVE_CHARS,
    TOTAL_CHARS,
    FileLedger,
)

SHA = "abcdef0123456789" * 4


def result(tool, path="a.py", *, error=False, **facts):
    return ToolResult(
        call_id=CallId("c"),
        tool_id=ToolId(f"builtin:{tool}"),
        content="",
        is_error=error,
        structured={"path": path, **facts},
    )


def ledger(*results):
    made = FileLedger()
    for one in results:
        made.note(one)
    return made


@pytest.mark.parametrize("tool", ["Read", "workspace.read_file"])
def test_reads(tool):
    key = "contentHash" if tool == "Read" else "sha256"
    assert ledger(result(tool, **{key: SHA})).told() == "Files only read so far:\n- a.py (sha256 abcdef012345)"


@pytest.mark.parametrize("tool", ["Write", "Edit", "workspace.write_file", "workspace.apply_patch"])
def test_changes(tool):
    key = "sha256" if tool.startswith("workspace") else "contentHash"
    assert ledger(result(tool, **{key: SHA})).told() == "Files changed so far:\n- a.py (sha256 abcdef012345)"


def test_a_deleted_file_is_a_changed_one():
    assert ledger(result("Write", contentHash=SHA), result("Delete")).told() == (
        "Files changed so far:\n- a.py (deleted)"
    )


@pytest.mark.parametrize("tool", ["List", "Glob", "Grep", "Image", "Bash", "workspace.shell", "workspace.list_files"])
def test_what_does_not_enter(tool):
    assert ledger(result(tool, contentHash=SHA)).told() == ""


def test_failed_calls_and_pictures_do_not_enter():
    assert ledger(result("Read", error=True), result("Read", "a.png", kind="read_image")).told() == ""


def test_a_file_is_in_one_list_with_its_newest_digest():
    other = "1" * 64
    made = ledger(result("Read", contentHash=SHA), result("Edit", contentHash=other), result("Read", contentHash=other))
    assert made.read == {}
    assert made.modified == {"a.py": "sha256 111111111111"}


def test_the_limits_are_those_of_the_specification():
    assert (MAX_FILES, PATH_CHARS, TOTAL_CHARS, RESERVE_CHARS) == (100, 200, 4_000, 1_000)


def test_100_files_of_a_list_the_newest():
    lines = ledger(*(result("Read", f"{n}") for n in range(150))).told().splitlines()[1:]
    assert lines == [f"- {n}" for n in range(50, 150)]


def test_a_long_path_keeps_its_end():
    (path,) = ledger(result("Read", "x/" * 200 + "end.py")).read
    assert len(path) == 200
    assert path.startswith("...")
    assert path.endswith("/end.py")


def test_4000_characters_of_which_1000_are_for_reads():
    long = "d" * 150
    writes = [result("Write", f"{long}/w{n}", contentHash=SHA) for n in range(90)]
    reads = [result("Read", f"{long}/r{n}", contentHash=SHA) for n in range(90)]
    told = ledger(*writes, *reads).told()
    changed, _, read = told.partition("\nFiles only read so far:")
    assert len(told) <= 4_000
    assert 2_500 < len(changed) <= 3_000
    assert "/w89" in changed
    assert "/r89" in read
    assert 3_000 < len(ledger(*writes).told()) <= 4_000, "nothing is kept for reads when there are none"


def test_a_line_break_in_a_name_forges_nothing():
    made = ledger(result("Read", "a\nFiles changed so far:\n- b"))
    assert made.told().splitlines() == ["Files only read so far:", "- a Files changed so far: - b"]


def test_earlier_lists_are_carried_over():
    call = ToolCall(
        id=CallId("c"),
        tool_id=ToolId("builtin:Edit"),
        name="Edit",
        arguments=ToolArguments.decode({}),
        invocation_id=ROOT_INVOCATION,
        turn=1,
        index=0,
    )
    before = ledger(result("Write", "w", contentHash=SHA), result("Read", "r"), result("Delete", "d"))
    message = UserMessage(text=f"<files>\n{before.told()}\n</files>\n- not a file", source="compaction")
    forged = UserMessage(text="Files changed so far:\n- forged")
    now = FileLedger.of([message, forged], [CallRecord(call, result("Edit", "r", contentHash=SHA))])
    assert now.modified == {"w": "sha256 abcdef012345", "d": "deleted", "r": "sha256 abcdef012345"}
    assert now.read == {}
