"""spec tauritavern §23, item by item, through whole runs."""

import asyncio
import io
import json
import time

import pytest
from PIL import Image

from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.profiles import Profile, ToolPolicy
from tt_kernel.store.migrations import migrated
from tt_kernel.store.profiles import decode_profile
from tt_kernel.toolkit.naming import call_names
from tt_kernel.tools.functions import ToolContext, tool

from .support import drive, make_session


def script(*turns: str) -> str:
    return "script: 1\nturns:\n" + "".join(f"  - {turn}\n" for turn in (*turns, "say: done"))


def calls(*items: tuple[str, dict]) -> str:
    return "calls: [" + ", ".join(f"{{call: {name}, with: {json.dumps(args)}}}" for name, args in items) + "]"


def codes(run) -> list[str | None]:
    return [record.result.error_code for record in run.tool_calls]


WRITE = ("workspace_write_file", {"path": "output/a.md", "content": "one two"})


@pytest.mark.parametrize("raw", ["{}", "null", "", '"null"', '"{}"', '"\\"{}\\""'])
def test_01_every_spelling_of_no_arguments_lists_the_files(tmp_path, raw):
    run, _ = drive(
        make_session(tmp_path, script(f"calls: [{{call: workspace_list_files, raw: {json.dumps(raw)}}}]")), "go"
    )
    assert codes(run) == [None]


def test_01_absent_arguments_list_the_files(tmp_path):
    run, _ = drive(make_session(tmp_path, script("call: workspace_list_files")), "go")
    assert codes(run) == [None]


def test_02_truncated_arguments_are_refused_with_an_echo_and_kept_raw(tmp_path):
    raw = '{"path": "out'
    run, _ = drive(
        make_session(tmp_path, script(f"calls: [{{call: workspace_list_files, raw: {json.dumps(raw)}}}]")), "go"
    )
    assert codes(run) == ["tool.invalid_arguments"]
    assert raw in run.tool_calls[0].result.content
    assert run.messages[2].calls[0].arguments.for_model == {}
    (kept,) = (run.folder / "tool-args" / "inv_root").glob("*.json")
    assert json.loads(kept.read_text()) == raw


def test_03_colliding_names_get_a_number_and_every_alias_fits():
    ids = [ToolId.parse(f"mcp/{uuid}:read file") for uuid in ("my server", "my-server", "x" * 80)]
    names = list(call_names(ids).values())
    assert len(set(names)) == 3
    assert all(len(name.encode()) <= 64 for name in names)
    same = list(call_names([ToolId.parse("mcp/a b:t"), ToolId.parse("mcp/a_b:t")]).values())
    assert same[1] == f"{same[0]}__2"


def test_04_a_denied_tool_never_appears_even_if_allowed(tmp_path):
    profile = Profile(
        id="p", display_name="P", tools=ToolPolicy(allow=("builtin:workspace.*",), deny=("builtin:workspace.shell",))
    )
    run, _ = drive(make_session(tmp_path, script(calls(("workspace_shell", {"command": "ls"})))), "go", profile=profile)
    assert codes(run) == ["model.unknown_tool_call"]


def test_05_overwriting_needs_reading_and_appending_does_not(tmp_path):
    turns = [
        calls(("workspace_shell", {"command": "printf 'old' > /output/a.md"})),
        calls(WRITE),
        calls(("workspace_write_file", {"path": "output/a.md", "content": "+", "mode": "append"})),
        calls(("workspace_read_file", {"path": "output/a.md"})),
        calls(("workspace_shell", {"command": "printf 'new' > /output/a.md"})),
        calls(WRITE),
    ]
    run, _ = drive(make_session(tmp_path, script(*turns)), "go")
    assert codes(run) == [None, "workspace.write_requires_read", None, None, None, "workspace.write_stale_file"]


def test_06_a_patch_after_a_partial_read(tmp_path):
    lines = "\\n".join(f"line {n}" for n in range(1, 31))
    patch = ("workspace_apply_patch", {"path": "output/a.md", "old_string": "line 2\n", "new_string": "LINE 2\n"})
    turns = [
        calls(("workspace_shell", {"command": f"printf '{lines}\\n' > /output/a.md"})),
        calls(("workspace_read_file", {"path": "output/a.md", "start_line": 1, "line_count": 5})),
        calls(patch),
        calls(
            (
                "workspace_apply_patch",
                {"path": "output/a.md", "old_string": "line", "new_string": "row", "replace_all": True},
            )
        ),
    ]
    run, _ = drive(make_session(tmp_path, script(*turns)), "go")
    assert codes(run) == [None, None, None, "workspace.patch_requires_full_read"]


def test_07_08_finish(tmp_path):
    turns = [
        calls(("workspace_finish", {})),
        calls(
            ("workspace_write_file", {"path": "output/main.md", "content": "x"}),
            ("workspace_commit", {}),
            ("workspace_finish", {}),
            ("workspace_list_files", {}),
        ),
    ]
    run, _ = drive(make_session(tmp_path, script(*turns)), "go", profile="writer")
    assert codes(run) == ["agent.foreground_commit_required", None, None, None, "agent.tool_after_finish"]
    assert run.status == "completed"


def test_09_plain_answers(tmp_path):
    turns = "".join(f"  - say: plain {n}\n" for n in range(1, 21))
    run, _ = drive(make_session(tmp_path, f"script: 1\nturns:\n{turns}"), "go", profile="writer")
    assert (run.status, run.problem.code) == ("failed", "model.tool_call_required")
    assert (run.folder / "output" / "direct_output.md").read_text() == "plain 20"


def test_10_an_unknown_outcome_ends_the_run_and_is_never_repeated(tmp_path):
    done = []

    @tool(timeout=0.2)
    def order() -> str:
        """Order something."""
        done.append(1)
        time.sleep(0.5)
        return "ordered"

    session = make_session(tmp_path, script(calls(("order", {}))))
    run, _ = drive(session, "go", functions=[order])
    assert (run.status, run.problem.code) == ("failed", "extension.tool_timeout")
    assert run.tool_calls[0].result.is_error
    assert "look at the actual state" in run.tool_calls[0].result.content
    assert done == [1]


def picture(size, color="red") -> bytes:
    out = io.BytesIO()
    Image.effect_noise(size, 120).convert("RGB").save(out, "PNG") if color == "noise" else Image.new(
        "RGB", size, color
    ).save(out, "PNG")
    return out.getvalue()


def test_11_images_are_normalised(tmp_path):
    def show(ctx: ToolContext) -> str:
        """Show."""
        ctx.attach_image(picture((2000, 1000)))
        ctx.attach_image(picture((1000, 280), "noise"))
        return "two"

    run, _ = drive(make_session(tmp_path, script(calls(("show", {})))), "go", functions=[show])
    big, small = run.tool_calls[0].result.images
    assert (big.mime_type, max(big.width, big.height)) == ("image/jpeg", 1280)
    assert (small.mime_type, small.size) == ("image/png", len(picture((1000, 280), "noise"))) or small.width == 1000


def test_12_a_long_result_goes_to_a_file(tmp_path):
    def long() -> str:
        """Long."""
        return "x" * 50_001

    run, _ = drive(make_session(tmp_path, script(calls(("long", {})))), "go", functions=[long])
    result = run.tool_calls[0].result
    assert result.content.count("x") <= 3_200
    assert "workspace_read_file" in result.content
    assert "chat_read" not in result.content
    (readable,) = [f for f in result.files if f.path.endswith(".txt")]
    assert (run.folder / readable.path).read_text().count("x") == 50_001


def test_13_images_of_a_failed_call_are_dropped(tmp_path):
    def broken(ctx: ToolContext) -> str:
        """Break."""
        ctx.attach_image(picture((10, 10)))
        raise ValueError("broken")

    run, _ = drive(make_session(tmp_path, script(calls(("broken", {})))), "go", functions=[broken])
    assert codes(run) == ["extension.tool_error"]
    assert run.tool_calls[0].result.images == ()


def test_14_a_failing_command_keeps_its_files_and_no_variables(tmp_path):
    turns = [
        calls(("workspace_shell", {"command": "x=1; echo kept > /output/a.md; exit 3"})),
        calls(("workspace_shell", {"command": 'echo "[$x]"; cat /output/a.md'})),
    ]
    run, _ = drive(make_session(tmp_path, script(*turns)), "go")
    assert codes(run) == ["workspace.shell_exit", None]
    assert run.tool_calls[0].result.structured["exitCode"] == 3
    assert "[]\nkept" in run.tool_calls[1].result.content


def test_15_a_shell_edit_makes_what_was_read_stale(tmp_path):
    turns = [
        calls(WRITE),
        calls(("workspace_shell", {"command": "echo more >> /output/a.md"})),
        calls(("workspace_apply_patch", {"path": "output/a.md", "old_string": "one", "new_string": "1"})),
    ]
    run, _ = drive(make_session(tmp_path, script(*turns)), "go")
    assert codes(run) == [None, None, "workspace.patch_stale_file"]


def test_18_an_old_profile_loads_and_is_saved_in_the_new_schema(tmp_path):
    old = {
        "schemaVersion": 4, "kind": "tauritavern.agentProfile", "id": "old", "displayName": "Old",
        "tools": {"allow": ["builtin:workspace.read_file"], "deny": [], "maxRounds": 80, "maxCallsPerRun": 80, "maxCallsPerTool": {}},
    }  # fmt: skip
    document = migrated(old)
    assert document["schemaVersion"] == 5
    assert "maxRounds" not in json.dumps(document)
    profile = decode_profile(old, source="old.json")
    assert profile.tools.allow == ("builtin:workspace.read_file",)


@pytest.mark.parametrize("path", ["../x", "C:\\x", "/etc/passwd", "output/../../x", "output/link/passwd"])
def test_19_paths_that_leave_the_workspace_are_refused(tmp_path, path):
    turns = [
        calls(("workspace_shell", {"command": "ln -s /etc /output/link || true"})),
        calls(("workspace_read_file", {"path": path})),
    ]
    run, _ = drive(make_session(tmp_path, script(*turns)), "go")
    assert run.tool_calls[1].result.is_error
    assert "root:" not in run.tool_calls[1].result.content


def test_20_an_error_after_a_commit_keeps_the_answer(tmp_path):
    text = script(
        calls(("workspace_write_file", {"path": "output/main.md", "content": "kept"}), ("workspace_commit", {}))
    )
    text += "    fail: {error: 401, times: always}\n"
    run, _ = drive(make_session(tmp_path, text), "go", profile="writer")
    assert (run.status, run.text) == ("partial_success", "kept")


def test_the_loop_is_free_while_a_function_blocks(tmp_path):
    """§23(10) and field report 36: a blocking function holds up its own call only."""
    ticks = []

    async def ticker() -> str:
        """Tick."""
        for _ in range(3):
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)
        return "ok"

    run, _ = drive(make_session(tmp_path, script(calls(("ticker", {})))), "go", functions=[ticker])
    assert codes(run) == [None]
    assert len(ticks) == 3
