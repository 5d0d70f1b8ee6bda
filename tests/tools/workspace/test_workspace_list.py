"""spec tauritavern §5.4, §7.2, §23 items 1 and 19."""

import json
import os
import sys
import time

import pytest

from tt_kernel.domain.arguments import ToolArguments


async def test_everything_visible_is_listed_folders_first_then_path_order(bench):
    bench.put("output/main.md", "x")
    bench.put("output/a/deep.txt", "x")
    bench.put("scratch/notes.md", "x")
    result = await bench.ok("list_files")
    assert result.content.splitlines() == [
        "output/", "output/a/", "plan/", "scratch/", "skills/", "tool-results/", "output/main.md", "scratch/notes.md",
    ]  # fmt: skip
    assert result.structured["truncated"] is False
    assert {"path": "output/a", "kind": "directory"} in result.structured["entries"]
    assert {"path": "output/main.md", "kind": "file"} in result.structured["entries"]


@pytest.mark.parametrize(
    "wire", [None, "", "null", "{}", {}, '"{}"', '{"path": null}', {"path": "."}, {"path": "./"}, {"path": ""}]
)
async def test_every_spelling_of_nothing_lists_the_root(bench, wire):
    """§23 item 1; null for an optional parameter is the same as leaving it out."""
    bench.put("output/main.md", "x")
    result = await bench.send("list_files", ToolArguments.decode(wire))
    assert not result.is_error
    assert "output/main.md" in result.content


async def test_hidden_roots_are_not_there(bench):
    bench.put("persist/secret.md", "x")
    assert "persist" not in (await bench.ok("list_files")).content
    error = await bench.error("list_files", path="persist")
    assert error.error_code == "workspace.path_not_visible"
    assert error.content.splitlines()[-1] == "Visible folders: output/, scratch/, plan/, tool-results/, skills/."


async def test_depth_is_2_by_default_and_4_at_most(bench):
    bench.put("output/1/2/3/4/5.txt", "x")
    assert (await bench.ok("list_files", path="output")).content.splitlines() == ["output/1/", "output/1/2/"]
    assert "output/1/2/3/4/" in (await bench.ok("list_files", path="output", depth=4)).content
    assert "5.txt" not in (await bench.ok("list_files", path="output", depth=4)).content
    assert (await bench.error("list_files", depth=5)).error_code == "workspace.list_depth_too_large"


@pytest.mark.parametrize("depth", [0, -1, "2", 1.5, True])
async def test_a_depth_that_is_no_positive_integer_is_an_invalid_argument(bench, depth):
    assert (await bench.error("list_files", depth=depth)).error_code == "tool.invalid_arguments"


async def test_200_entries_then_a_line_that_says_so(bench):
    for number in range(201):
        bench.put(f"output/{number:03}.txt", "")
    whole = await bench.ok("list_files", path="output")
    assert whole.structured["truncated"] is True
    assert len(whole.structured["entries"]) == 200
    lines = whole.content.splitlines()
    assert len(lines) == 201
    assert lines[-1].startswith("[truncated at 200")
    assert lines[199] == "output/199.txt"
    (bench.folder / "output/200.txt").unlink()
    exact = await bench.ok("list_files", path="output")
    assert exact.structured["truncated"] is False
    assert "truncated" not in exact.content


async def test_an_empty_folder_is_a_success_with_a_fixed_notice(bench):
    (bench.folder / "scratch").mkdir()
    assert (await bench.ok("list_files", path="scratch")).content == "There are no files here."
    assert (await bench.ok("list_files", path="plan")).content == "There are no files here.", (
        "a root need not exist yet"
    )


async def test_a_file_lists_itself(bench):
    bench.put("output/main.md", "x")
    result = await bench.ok("list_files", path="output/main.md")
    assert result.structured["entries"] == [{"path": "output/main.md", "kind": "file"}]


@pytest.mark.parametrize("path", ["../x", "output/../../etc", "C:\\x", "c:x", "/output", "\\output", "output\0"])
async def test_bad_paths_are_recoverable(bench, path):
    """§7.2, §23 item 19."""
    error = await bench.error("list_files", path=path)
    assert error.error_code == "workspace.invalid_path"
    assert error.content.splitlines()[-1].startswith("Visible folders: output/, ")


async def test_what_is_not_there(bench):
    assert (await bench.error("list_files", path="output/none")).error_code == "workspace.path_not_found"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
async def test_links_and_special_files_are_counted_not_followed(bench, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "secret.txt").write_text("x")
    bench.put("output/main.md", "x")
    (bench.folder / "output/out").symlink_to(elsewhere)
    (bench.folder / "output/loop").symlink_to(bench.folder / "output")
    os.mkfifo(bench.folder / "output/pipe")
    (bench.folder / "output/back\\slash").write_text("x")
    result = await bench.ok("list_files", path="output", depth=4)
    assert result.content.splitlines() == [
        "output/main.md",
        "[not shown: 2 symbolic links]",
        "[not shown: 2 special files or names that are no valid paths]",
    ]
    assert (await bench.error("list_files", path="output/out")).error_code == "workspace.invalid_path"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="such names do not exist there")
async def test_hostile_names_cannot_forge_entries_and_can_be_used(bench):
    names = [
        "two\nlines.md",
        "rtl\u202etxt.exe",
        'quote".md',
        '"lead.md',
        " space ",
        "tab\t",
        "n" * 255,
        "日本語.md",
        "é.md",
    ]
    for name in names:
        bench.put(f"output/{name}", "x")
    os.close(os.open(os.fsencode(bench.folder / "output") + b"/bad\xff", os.O_CREAT))
    result = await bench.ok("list_files", path="output")
    lines = [line for line in result.content.splitlines() if not line.startswith("[not shown: 1 special")]
    assert len(lines) == len(names)
    told = {json.loads(line) if line.startswith('"') else line for line in lines}
    assert told == {f"output/{name}" for name in names}
    assert all(line.isprintable() for line in lines)
    for path in told:
        assert not (await bench.call("read_file", path=path)).is_error


async def test_10_000_files_in_a_blink(bench):
    folder = bench.folder / "scratch"
    folder.mkdir()
    for number in range(10_000):
        os.close(os.open(folder / f"{number:05}", os.O_CREAT))
    started = time.perf_counter()
    result = await bench.ok("list_files", path="scratch")
    assert time.perf_counter() - started < 10, "15 ms on a quiet machine"
    assert [e["path"] for e in result.structured["entries"]] == [f"scratch/{n:05}" for n in range(200)]
